"""Chat models behind an OpenAI-compatible server, as a plain function from chats to replies.

`ChatClient` is a judge and a generator: it asks concurrently, retries, keeps every reply in a
`quadrag.chat.ledger.Ledger`, stays within a budget and never lets a key out. It streams nothing, calls no tools
and runs no model itself. Importing this file loads no network code.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quadrag.chat.batch import Batch
from quadrag.chat.calling import Calling
from quadrag.chat.job import Limits
from quadrag.chat.ledger import Ledger, call_key
from quadrag.chat.ledger.saved import Saved
from quadrag.chat.ledger.shelf import Shelf
from quadrag.chat.prices import BudgetReached, Prices
from quadrag.chat.refusals import tell_refused
from quadrag.chat.reply import NOT_ASKED, Failure, Reply, as_verdict
from quadrag.chat.service import Known, name_service, only_model
from quadrag.chat.spec import parse_spec
from quadrag.chat.transport import Transport
from quadrag.errors import QuadragError
from quadrag.progress import say

if TYPE_CHECKING:
    from quadrag.chat.network.engine import Engine

__all__ = ["BudgetReached", "ChatClient", "Failure", "Ledger", "Prices", "Reply"]

Messages = list[dict[str, str]]


class ChatClient:
    """A chat model; see the module."""

    def __init__(
        self,
        spec: str,
        calling: Calling | None = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        transport: Transport | None = None,
        **options: Any,
    ) -> None:
        """Describe the client; nothing is opened before the first call.

        Args:
            spec: ``http://host:port/v1#model`` (base URLs may be several, comma-separated) or
                ``provider:MODEL``; without ``#model`` the server's only model is taken.
            calling: how it is called.
            parameters: further fields of the request (temperature, max_tokens, seed, ...); None values are
                dropped. A sample number above 0 is added to the seed.
            on_progress: called now and then with the number of calls done and of all calls in the batch.
            transport: what is sent and how replies are read; chat completions when None.
            options: fields of `Calling`, where they are to be other than in `calling`.

        Raises:
            QuadragError: an argument cannot be used.
        """
        self.spec = parse_spec(spec)
        self.calling = calling = replace(calling or Calling(), **options)
        self.parameters = {name: value for name, value in (parameters or {}).items() if value is not None}
        calling.check(self.parameters)
        self.on_progress = on_progress
        counters = ["calls", "equal", "cached", "earlier", "retries", "timed_out", "failed"]
        counters += ["prompt_tokens", "completion_tokens"]
        self.spent: dict[str, Any] = {**dict.fromkeys(counters, 0), "cost": None if calling.prices is None else 0.0}
        self.spent["oldest"] = None  # Unix time of the oldest reply that was taken from the ledger
        self.spent["refused"] = {}  # fields that replies, kept ones too, were asked for without, or by another name
        self._told: set[str] = set()  # those of them that the user was told of
        self._lost = 0  # calls that got no reply in time, in batches that were finished
        self._saved = Saved(self.spent, calling.prices)
        self._budget = calling.open_budget()
        self._model = self.spec.model
        self._transport = transport or Transport()
        self.service = calling.alias.service or name_service(self.spec, self._transport.find_keys)
        self._known = Known(self.service, calling.alias, calling.ledger)
        self.shelf: Shelf | None = None
        if calling.ledger is not None:
            self.shelf = Shelf(calling.ledger, self.service, calling.reuse, self._transport.kind_of)
        self._engine: Engine | None = None
        self._turn = threading.Lock()
        if self._model is not None:
            calling.rate(self._model)

    @property
    def model(self) -> str:
        """The model's name as requested: it stands in signatures and in the ledger's keys.

        Raises:
            QuadragError: as `find_model` does.
        """
        return self.find_model()

    def find_model(self) -> str:
        """Return the model that the spec names, else the only one that the server, or a replay's ledger, has.

        Raises:
            QuadragError: the spec names none, and there is not one to take; `DeadServer` where nothing is there.
        """
        if self._model is None:
            if self.calling.replay and self.calling.ledger is not None:
                name = only_model(self.calling.ledger.models(), f"the ledger {self.calling.ledger.path}")
            else:
                listed = self._open().list_models()
                if not isinstance(listed, list):
                    from quadrag.chat.faults import DeadServer

                    why = f"the models cannot be listed: {listed.detail}"
                    advice = f"{why}; start the server, or append #MODEL to its address"
                    raise QuadragError(advice) if listed.connected else DeadServer(advice)
                name = only_model(listed, self.spec.shown)
            self.calling.rate(name)
            self._model = name
        return self._model

    def check_served(self) -> None:
        """Hold the model's name against the server's list, before anything is asked of the model.

        A list that is not given says nothing.

        Raises:
            QuadragError: as `Known.check_listed` does.
        """
        listed = self._open().list_models()
        if isinstance(listed, list):
            self._known.check_listed(listed, self.model, self.spec.shown)
        elif not listed.connected:
            self._known.note_unreached(listed.detail)

    def complete(self, batch: Sequence[Messages], *, samples: Sequence[int] | None = None) -> list[Reply | Failure]:
        """Ask for a batch of replies.

        Args:
            batch: n lists of chat messages, each ``{"role": ..., "content": ...}``.
            samples: n sample numbers, from 0; equal messages with different numbers are different calls. All 0
                when None. Equal calls are made once.

        Returns:
            n replies or failures, in order. A reply cut by length is a reply, unless it was cut before the
            answer began.

        Raises:
            QuadragError: the server is dead or refuses the client, a replay finds no reply at all, or the ledger
                is damaged.
            BudgetReached: the budget does not allow the next call; its ``results`` hold what there is.
        """
        numbers = [0] * len(batch) if samples is None else list(samples)
        if len(numbers) != len(batch):
            raise ValueError(f"{len(numbers)} samples for {len(batch)} chats; expected as many")
        if not batch:
            return []
        with self._turn:
            return self._complete([self._transport.compose(messages) for messages in batch], numbers)

    def find_made(self, messages: Messages) -> float | None:
        """Return the Unix time of a reply that was taken from the ledger; None where none was, or it is not known."""
        key = call_key(self.model, self._transport.compose(messages), self.parameters)
        return self.shelf.taken.get(key) if self.shelf is not None else None

    def __call__(self, batch: Sequence[Messages]) -> list[str | Failure]:
        """Ask for a batch of texts: the contract of a judge.

        Args:
            batch: n lists of chat messages.

        Returns:
            n texts, in order; a `Failure` where there is none or where it was cut by length ("truncated").

        Raises:
            QuadragError: as `complete` does.
            BudgetReached: as `complete` does; its ``results`` are texts and failures.
        """
        try:
            return [as_verdict(result) for result in self.complete(batch)]
        except BudgetReached as stop:
            stop.results = [as_verdict(result) for result in stop.results]
            raise

    def close(self) -> None:
        """Close the connections; the ledger stays open. A later call opens them again."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
            if lost := self._lost:
                way = f"{self._transport.timeout_option} SECONDS waits longer, --concurrency N asks less at once"
                say(f"{self.spec.shown}: {lost} calls got no reply in time and were asked again or failed; {way}")

    def __enter__(self) -> ChatClient:
        """Return the client itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()

    def _complete(self, chats: list[Messages], numbers: list[int]) -> list[Reply | Failure]:
        taken, earlier = self._find_taken()
        batch = Batch(self.model, chats, self.parameters, numbers, self.shelf)
        self.spent["equal"] += batch.count(batch.missing) - len(batch.missing)
        self.spent["cached"] += batch.count(batch.stored)
        if self.shelf is not None:  # what is asked for again after all is not used
            still, before = self._find_taken()
            self.spent["cached"] -= batch.count(taken - still)
            self.spent["earlier"] += batch.count(batch.stored & before) - batch.count(earlier - before)
        self.spent["oldest"] = self.shelf.oldest if self.shelf is not None else None
        for key in batch.stored:
            self.spent["refused"].update(batch.outcomes[key].get("refused", ()))  # type: ignore[union-attr]  # a row
        if not batch.missing:
            self._known.tell_unreached()
        undone = f"{NOT_ASKED}: the ledger has no reply to replay"
        stop: BudgetReached | None = None
        if self.calling.replay:
            self._look_closer(batch)
        elif batch.missing:
            try:
                self._ask(batch)
            except BudgetReached as reached:
                stop, undone = reached, f"{NOT_ASKED}: {reached}"
        self._lost = self.spent["timed_out"]
        rate = self.calling.rate(self.model)
        self._saved.note(batch, rate)
        results = [
            self._transport.read_outcome(batch.outcomes.get(key, undone), key in batch.stored, rate)
            for key in batch.keys
        ]
        if stop is not None:
            raise BudgetReached(str(stop), results) from None
        return results

    def _find_taken(self) -> tuple[set[bytes], set[bytes]]:
        """Return the keys of the replies that were taken from the ledger, and of those from before the command."""
        return (set(self.shelf.taken), self.shelf.find_earlier()) if self.shelf is not None else (set(), set())

    def _tell_refused(self) -> None:
        """Say once of each field that the server refuses it."""
        new = {name: other for name, other in self.spent["refused"].items() if name not in self._told}
        if new:
            self._told.update(new)
            say(f"{self.model}: {tell_refused(new)}, since {self.spec.shown} refuses it")

    def _look_closer(self, batch: Batch) -> None:
        """Refuse a replay of nothing; of replies that are damaged say so."""
        if batch.missing and not batch.stored:
            raise self._known.nothing_to_replay(self.model, batch)
        for key in self.calling.ledger.damaged if self.calling.ledger is not None else ():
            batch.outcomes.setdefault(key, f"{NOT_ASKED}: the reply in the ledger is damaged")

    def _ask(self, batch: Batch) -> None:
        """Make the calls that are missing."""
        tell = self.on_progress
        done = len(batch.keys) - batch.count(batch.missing)

        def progress(finished: Collection[bytes]) -> None:
            nonlocal done
            done += batch.count(finished)
            self._tell_refused()
            if tell is not None:
                tell(done, len(batch.keys))

        proven = len(batch.missing) < len(batch.times) or self.spent["cached"] > 0

        self._known.warn_of_others(batch.missing)
        jobs = list(batch.jobs(sized=self._budget is not None))
        concurrency, rate = min(self.calling.concurrency, len(jobs)), self.calling.rate(self.model)
        limits = Limits(concurrency, self.calling.retries, rate, self._budget, proven, self.spent["refused"])
        self._open().run(self.model, self.parameters, jobs, limits, batch.outcomes, None if tell is None else progress)
        self._tell_refused()

    def _open(self) -> Engine:
        if self._engine is None:
            from quadrag.chat.network.engine import Engine
            from quadrag.chat.network.wire import Wire

            bounds = self.calling.bound(self._transport.timeout)
            self._engine = Engine(Wire(self.spec, bounds, self._transport), self.shelf, self.spent)
        return self._engine
