"""Chat models behind an OpenAI-compatible server, as a plain function from chats to replies.

`ChatClient` is a judge and a generator: it asks concurrently, retries, keeps every reply in a
`quadrag.chat.ledger.Ledger`, stays within a budget and never lets a key out. It streams nothing, calls no tools
and runs no model itself. Importing this file loads no network code.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quadrag.chat.batch import Batch
from quadrag.chat.ledger import Ledger, canonical
from quadrag.chat.ledger_file import Value
from quadrag.chat.prices import Budget, BudgetReached, Prices
from quadrag.chat.reply import NOT_ASKED, Failure, Reply, as_verdict
from quadrag.chat.server import MOST_REPLY_BYTES, Bounds
from quadrag.chat.service import check_listed, list_names, name_others, name_service
from quadrag.chat.shelf import CUT, EMPTY, Reuse, Shelf
from quadrag.chat.spec import parse_spec
from quadrag.chat.transport import Transport
from quadrag.errors import QuadragError
from quadrag.progress import say

if TYPE_CHECKING:
    from quadrag.chat.engine import Engine

__all__ = ["BudgetReached", "ChatClient", "Failure", "Ledger", "Prices", "Reply"]

Messages = list[dict[str, str]]
# Fields of the request that this client sets itself, or whose replies it could not read.
_RESERVED = ("messages", "model", "n", "stream", "stream_options")


class ChatClient:
    """A chat model; see the module."""

    def __init__(
        self,
        spec: str,
        *,
        ledger: Ledger | None = None,
        concurrency: int = 16,
        timeout: float | None = None,
        retries: int = 5,
        prices: Prices | None = None,
        budget: float | Budget | None = None,
        replay: bool = False,
        parameters: Mapping[str, Any] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        transport: Transport | None = None,
        max_reply_bytes: int = MOST_REPLY_BYTES,
        allow_redirect: Sequence[str] = (),
        service: str | None = None,
        reuse: Reuse | None = None,
        role: str = "",
    ) -> None:
        """Describe the client; nothing is opened before the first call.

        Args:
            spec: ``http://host:port/v1#model`` (base URLs may be several, comma-separated) or
                ``provider:MODEL``; without ``#model`` the server's only model is taken.
            ledger: where replies are kept and looked up; none are when None.
            concurrency: calls in flight at once, over all URLs.
            timeout: seconds one attempt may take, and in which a server must have answered anything at all; 120
                and 60 when None.
            retries: new attempts after one that failed in a way that may pass.
            prices: what tokens cost.
            budget: hard limit on this client's cost, or a `Budget` that several clients share; needs prices and
                ``max_tokens``.
            replay: answer from the ledger alone, with no network.
            parameters: further fields of the request (temperature, max_tokens, seed, ...); None values are
                dropped. A sample number above 0 is added to the seed.
            on_progress: called now and then with the number of calls done and of all calls in the batch.
            transport: what is sent and how replies are read; chat completions when None.
            max_reply_bytes: the longest reply that is read, as it is when it is unpacked.
            allow_redirect: hosts that a server may send the client on to, besides its own.
            service: what the ledger calls the servers; their base URLs when None, sorted, less what is secret. Replies
                of another service do not count.
            reuse: which of the service's kept replies count; all when None.
            role: what the options begin with that name service and served model, as ``judge-``.

        Raises:
            QuadragError: an argument cannot be used.
        """
        self.spec = parse_spec(spec)
        self.parameters = {name: value for name, value in (parameters or {}).items() if value is not None}
        for name in _RESERVED:
            if name in self.parameters:
                raise QuadragError(f"parameter {name!r} is the client's own; leave it out")
        try:
            canonical(self.parameters)
        except (TypeError, ValueError) as error:
            raise QuadragError(f"the parameters are no JSON: {error}") from None
        if concurrency < 1 or retries < 0 or not (timeout is None or timeout > 0) or max_reply_bytes < 1:
            raise QuadragError(
                f"concurrency {concurrency}, retries {retries}, timeout {timeout}, max_reply_bytes {max_reply_bytes}: "
                "expected at least 1, at least 0, above 0 and at least 1"
            )
        for host in allow_redirect:
            if not host or any(sign in host for sign in "/@?#") or host != host.strip():
                raise QuadragError(f"{host!r} is no host to allow a redirect to; expected one as api.example.com")
        if replay and ledger is None:
            raise QuadragError("a replay needs a ledger; name the one that the run wrote")
        if budget is not None and prices is None:
            raise QuadragError("a budget needs prices; name a price file with --prices")
        longest = self.parameters.get("max_tokens", self.parameters.get("max_completion_tokens"))
        if budget is not None and not (isinstance(longest, int) and longest > 0):
            raise QuadragError("a budget needs max_tokens (--max-tokens): without it a call's cost has no bound")
        self.ledger = ledger
        self.concurrency = concurrency
        self.retries = retries
        self.prices = prices
        self.replay = replay
        self.on_progress = on_progress
        counters = ("calls", "cached", "retries", "failed", "prompt_tokens", "completion_tokens")
        self.spent: dict[str, Any] = {**dict.fromkeys(counters, 0), "cost": None if prices is None else 0.0}
        self.spent["oldest"] = None  # Unix time of the oldest reply that was taken from the ledger
        self._budget = budget if isinstance(budget, Budget) else None
        if isinstance(budget, (int, float)) and prices is not None:
            self._budget = Budget(budget, prices.currency)
        self._model = self.spec.model
        self._transport = one = transport or Transport()
        within = (one.timeout, one.first) if timeout is None else (timeout, timeout)
        self._bounds = Bounds(*within, max_reply_bytes, frozenset(host.lower() for host in allow_redirect))
        self.service = service or name_service(self.spec, one.find_keys)
        self.shelf = None if ledger is None else Shelf(ledger, self.service, reuse, replay, self._kind_of)
        self._role = role
        self._warned = False  # whether it was looked for replies of other services
        self._unreached: str | None = None  # why the server could not be reached, until that is told
        self._engine: Engine | None = None
        self._turn = threading.Lock()
        if prices is not None and self._model is not None:
            prices.rate(self._model)

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
            QuadragError: the spec names none, and there is not exactly one to take.
        """
        if self._model is None:
            if self.replay and self.ledger is not None:
                names, place = self.ledger.models(), f"the ledger {self.ledger.path}"
            else:
                listed, place = self._open().list_models(), self.spec.shown
                if not isinstance(listed, list):
                    raise QuadragError(
                        f"the models cannot be listed: {listed.detail}; start the server, or append #model to the spec"
                    )
                names = listed
            if len(names) != 1:
                raise QuadragError(
                    f"{place} holds {len(names)} models ({list_names(names)}); append #model to the spec"
                )
            if self.prices is not None:
                self.prices.rate(names[0])
            self._model = names[0]
        return self._model

    def check_served(self, served_as: str | None) -> None:
        """Hold the model's name against the server's list, before anything is asked of the model.

        A list that is not given says nothing. That a server cannot be reached is said once every reply is known to be
        kept.

        Args:
            served_as: the model that answers to the name, as the user says.

        Raises:
            QuadragError: as `check_listed` does.
        """
        listed = self._open().list_models()
        if isinstance(listed, list):
            check_listed(listed, self.model, served_as, self.spec.shown, f"--{self._role}served-as")
        elif not listed.connected:
            self._unreached = listed.detail

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

    def is_kept(self, messages: Messages, parameters: Mapping[str, Any]) -> bool:
        """Whether a call with these parameters would be answered from the ledger."""
        return bool(Batch(self.model, [self._transport.compose(messages)], parameters, [0], self.shelf).stored)

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

    def __enter__(self) -> ChatClient:
        """Return the client itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()

    def _complete(self, chats: list[Messages], numbers: list[int]) -> list[Reply | Failure]:
        batch = Batch(self.model, chats, self.parameters, numbers, self.shelf)
        self.spent["cached"] += batch.count(batch.stored)
        self.spent["oldest"] = self.shelf.oldest if self.shelf is not None else None
        if batch.missing and self.replay and not batch.stored:
            raise self._nothing_to_replay(batch)
        if self._unreached and not batch.missing:
            say(f"{self._unreached}; all replies are kept ones")
            self._unreached = None
        stop: BudgetReached | None = None
        if batch.missing and not self.replay:
            try:
                self._ask(batch)
            except BudgetReached as reached:
                stop = reached
        undone = f"{NOT_ASKED}: {stop}" if stop else f"{NOT_ASKED}: the ledger has no reply to replay"
        if self.replay and self.ledger is not None:
            for key in self.ledger.damaged:
                batch.outcomes.setdefault(key, f"{NOT_ASKED}: the reply in the ledger is damaged")
        rate = None if self.prices is None else self.prices.rate(self.model)
        results = [
            self._transport.read_outcome(batch.outcomes.get(key, undone), key in batch.stored, rate)
            for key in batch.keys
        ]
        if stop is not None:
            raise BudgetReached(str(stop), results) from None
        return results

    def _ask(self, batch: Batch) -> None:
        """Make the calls that are missing."""
        from quadrag.chat.dispatch import Limits

        tell = self.on_progress
        done = len(batch.keys) - batch.count(batch.missing)

        def progress(finished: Collection[bytes]) -> None:
            nonlocal done
            done += batch.count(finished)
            if tell is not None:
                tell(done, len(batch.keys))

        rate = None if self.prices is None else self.prices.rate(self.model)
        proven = len(batch.missing) < len(batch.times)

        def make(mine: Collection[bytes]) -> None:
            jobs = list(batch.jobs(mine, sized=self._budget is not None))
            limits = Limits(min(self.concurrency, len(jobs)), self.retries, rate, self._budget, proven)
            told = None if tell is None else progress
            self._open().run(self.model, self.parameters, jobs, limits, batch.outcomes, told)

        self._warn_of_others(batch)
        self.spent["cached"] += batch.ask(self.shelf, make, progress)

    def _warn_of_others(self, batch: Batch) -> None:
        """Say once that the ledger has replies to these calls from elsewhere."""
        told, self._warned = self._warned, True
        if not told and (others := name_others(self.ledger, batch.missing, self.service, self._role)):
            say(f"{self.service} is asked; the ledger also has replies of {others}")

    def _nothing_to_replay(self, batch: Batch) -> QuadragError:
        path = self.ledger.path if self.ledger is not None else "of no file"
        others = name_others(self.ledger, batch.missing, self.service, self._role)
        way = f"it has those of {others}" if others else "run without replay, or as the first run was"
        lacking = f"{len(batch.missing)} of {len(batch.times)} replies of {self.model!r} at {self.service}"
        return QuadragError(f"the ledger {path} lacks {lacking}; {way}")

    def _kind_of(self, row: Value) -> str | None:
        """Tell whether a reply was cut, or is empty."""
        result = self._transport.read_outcome(row, True, None)
        if isinstance(result, Failure) or result.finish_reason == "length":
            return CUT
        return None if result.text.strip() else EMPTY

    def _open(self) -> Engine:
        if self._engine is None:
            from quadrag.chat.engine import Engine
            from quadrag.chat.wire import Wire

            wire = Wire(self.spec, self._bounds, self._transport)
            self._engine = Engine(wire, self.shelf, self.spent)
        return self._engine
