"""Chat models behind an OpenAI-compatible server, as a plain function from chats to replies.

`ChatClient` is a judge and a generator: it asks concurrently, retries, keeps every reply in a ledger, stays within a
budget and never lets a key out. It streams nothing and calls no tools. Importing this file loads no network code.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quadrag.chat.calling import Calling
from quadrag.chat.faults import DeadServer, tell_refused
from quadrag.chat.http import Transport
from quadrag.chat.ledger import Batch, Ledger, Shelf
from quadrag.chat.prices import BudgetReached, Prices
from quadrag.chat.reply import NOT_ASKED, Failure, Reply, as_verdict
from quadrag.chat.spec import parse_spec, without_user
from quadrag.errors import QuadragError
from quadrag.progress import say

if TYPE_CHECKING:
    from quadrag.chat.calls import Engine

__all__ = ["BudgetReached", "ChatClient", "Failure", "Ledger", "Prices", "Reply"]

Messages = list[dict[str, str]]

_LISTED = 20  # names of models in a message
_COUNTERS = (
    *("calls", "equal", "cached", "earlier", "retries", "timed_out", "failed"),
    *("prompt_tokens", "completion_tokens", "saved_prompt_tokens", "saved_completion_tokens"),
)


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
            spec: ``http://host:port/v1#model`` or ``provider:MODEL``; without ``#model`` the server's only model.
            calling: how it is called.
            parameters: further fields of the request; None values are dropped. A sample number is added to the seed.
            on_progress: called now and then with the number of calls done and of all calls in the batch.
            transport: what is sent and how replies are read; chat completions when None.
            options: fields of `Calling`, where they are to be other than in `calling`.
        """
        self.spec = parse_spec(spec)
        self.calling = calling = replace(calling or Calling(), **options)
        self.parameters = {name: value for name, value in (parameters or {}).items() if value is not None}
        calling.check(self.parameters)
        self.on_progress = on_progress
        prices = calling.prices
        self.spent: dict[str, Any] = {**dict.fromkeys(_COUNTERS, 0), "cost": None if prices is None else 0.0}
        if prices is not None:
            self.spent |= {"saved_cost": 0.0, "currency": prices.currency}
        self.spent["oldest"] = None  # Unix time of the oldest reply that was taken from the ledger
        self.spent["refused"] = {}  # fields that replies, kept ones too, were asked for without, or by another name
        self._told: set[str] = set()  # those of them that the user was told of
        # Of each kept reply that was taken: how often, its Unix time, its tokens.
        self._taken: dict[bytes, tuple[int, float, int, int]] = {}
        self._model = self.spec.model
        self._transport = transport or Transport()
        url = self.spec.url
        place = self._transport.find_keys(self.spec).hide(without_user(url)) if url else self.spec.shown
        self.service = calling.alias.service or calling.alias.name or place
        kind_of = self._transport.kind_of
        self.shelf = None if calling.ledger is None else Shelf(calling.ledger, calling.reuse, kind_of)
        self._budget = calling.open_budget()
        self._engine: Engine | None = None
        self._turn = threading.Lock()
        if self._model is not None:
            calling.rate(self._model)

    @property
    def model(self) -> str:
        """The model's name as requested: it stands in signatures."""
        return self.find_model()

    @property
    def known_as(self) -> str:
        """What the ledger calls the model: by the user's name for it, else as it is requested."""
        return self.calling.alias.name or self.model

    def find_model(self) -> str:
        """Return the model that the spec names, else the only one that the server, or a replay's ledger, has."""
        if self._model is None:
            ledger = self.calling.ledger
            if self.calling.replay and ledger is not None:
                place, names = f"the ledger {ledger.path}", ledger.models()
            else:
                listed = self._open().list_models()
                if not isinstance(listed, list):
                    way = "start the server, or append #MODEL to its address"
                    advice = f"the models cannot be listed: {listed.detail}; {way}"
                    raise QuadragError(advice) if listed.connected else DeadServer(advice)
                place, names = self.spec.shown, listed
            if len(names) != 1:
                raise QuadragError(f"{place} holds {len(names)} models ({_list(names)}); append #MODEL to the address")
            self.calling.rate(names[0])
            self._model = names[0]
        return self._model

    def check_served(self) -> None:
        """Hold the model's name against the server's list, where it has one and the user gives the model no name.

        Raises:
            QuadragError: the list does not have it.
        """
        listed = [] if self.calling.alias.name else self._open().list_models()
        if isinstance(listed, list) and listed and self.model not in listed:
            place, option = self.spec.shown, f"--{self.calling.alias.role}-name"
            more = f"or another of them; {option} NAME says what to call it"
            raise QuadragError(f"{place} serves {_list(listed)}, not {self.model}; type {place}#{listed[0]}, {more}")

    def complete(self, batch: Sequence[Messages], *, samples: Sequence[int] | None = None) -> list[Reply | Failure]:
        """Ask for a batch of replies, and return as many replies or failures in order.

        Args:
            batch: lists of chat messages, each ``{"role": ..., "content": ...}``.
            samples: as many numbers; equal messages with different ones are different calls. All 0 when None.

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

    def __call__(self, batch: Sequence[Messages]) -> list[str | Failure]:
        """Ask for a batch of texts, as a judge: a `Failure` where there is none or where it was cut by length."""
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
            if late := self.spent["timed_out"]:
                way = f"{self._transport.timeout_option} SECONDS waits longer, --concurrency N asks less at once"
                say(f"{self.spec.shown}: {late} calls got no reply in time and were asked again or failed; {way}")

    def __enter__(self) -> ChatClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _complete(self, chats: list[Messages], numbers: list[int]) -> list[Reply | Failure]:
        batch = Batch(self.known_as, chats, self.parameters, numbers, self.shelf, self.service)
        self._count_kept(batch)
        rate = self.calling.rate(self.model)
        undone = f"{NOT_ASKED}: the ledger has no reply to replay"
        stop: BudgetReached | None = None
        if batch.missing and not self.calling.replay:
            try:
                self._ask(batch)
            except BudgetReached as reached:
                stop, undone = reached, f"{NOT_ASKED}: {reached}"
        elif batch.missing and not batch.stored and self.calling.ledger is not None:
            lacking = f"{len(batch.missing)} of {len(batch.times)} replies of {self.model!r} at {self.service}"
            way = f"run without replay, or as the first run was (--{self.calling.alias.role}-name)"
            raise QuadragError(f"the ledger {self.calling.ledger.path} lacks {lacking}; {way}")
        results = [
            self._transport.read_outcome(batch.outcomes.get(key, undone), key in batch.stored, rate)
            for key in batch.keys
        ]
        if stop is not None:
            raise BudgetReached(str(stop), results) from None
        return results

    def _count_kept(self, batch: Batch) -> None:
        """Count what was taken from the ledger, and what it would have cost; what is asked for after all is not."""
        self.spent["equal"] += batch.count(batch.missing) - len(batch.missing)
        for key in batch.missing:
            self._taken.pop(key, None)
        for key in batch.stored:
            row = batch.outcomes[key]
            self.spent["refused"].update(row.get("refused", ()))
            times = batch.times[key] + self._taken.get(key, (0,))[0]
            tokens = ((row["usage"] or {}).get(name, 0) for name in ("prompt_tokens", "completion_tokens"))
            self._taken[key] = (times, row.get("created", 0.0), *tokens)
        taken = list(self._taken.values())
        began = self.shelf.reuse.began if self.shelf is not None else 0.0
        earlier = [reply for reply in taken if reply[1] < began]
        saved = sum(reply[2] for reply in earlier), sum(reply[3] for reply in earlier)
        self.spent |= {
            "cached": sum(reply[0] for reply in taken),
            "earlier": sum(reply[0] for reply in earlier),
            "oldest": min((reply[1] for reply in taken if reply[1]), default=None),
            "saved_prompt_tokens": saved[0],
            "saved_completion_tokens": saved[1],
        }
        if (rate := self.calling.rate(self.model)) is not None:
            self.spent["saved_cost"] = float(rate.cost(*saved))

    def _ask(self, batch: Batch) -> None:
        counted, done = 0, len(batch.keys) - batch.count(batch.missing)
        engine = self._open()

        def tell() -> None:
            nonlocal counted, done
            settled = engine.done[counted:]
            counted, done = counted + len(settled), done + batch.count(settled)
            new = {name: other for name, other in self.spent["refused"].items() if name not in self._told}
            if new:
                self._told.update(new)
                say(f"{self.model}: {tell_refused(new)}, since {self.spec.shown} refuses it")
            if settled and self.on_progress is not None:
                self.on_progress(done, len(batch.keys))

        proven = len(batch.missing) < len(batch.times) or self.spent["cached"] > 0
        engine.run(self.model, batch, self.calling.rate(self.model), proven, tell)

    def _open(self) -> Engine:
        if self._engine is None:
            from quadrag.chat.calls import Engine
            from quadrag.chat.http import Server

            server = Server(self.spec, self.calling.bound(self._transport.timeout), self._transport)
            self._engine = Engine(server, self.calling, self._budget, self.shelf, self.spent)
        return self._engine


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more or "none"
