"""Chat models behind an OpenAI-compatible server, as a plain function from chats to replies.

`ChatClient` is a judge and a generator: it asks concurrently, retries, keeps every reply in a ledger, stays within a
budget and never lets a key out. It streams nothing and calls no tools. Importing this file loads no network code.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quadrag.errors import QuadragError, one_line
from quadrag.progress import say

from .faults import DeadServer
from .http import Messages, Transport
from .keys import find_keys
from .ledger import Ledger, look_up
from .policy import CallPolicy
from .prices import Budget, BudgetReached, Prices, Rate, longest_reply
from .reply import NOT_ASKED, Failure, Outcome, Reply, Row, as_verdict
from .spec import parse_spec, without_user

if TYPE_CHECKING:
    from .calls import Engine

__all__ = ["BudgetReached", "ChatClient", "Failure", "Ledger", "Prices", "Reply"]

_COUNTERS = ("calls", "cached", "retries", "prompt_tokens", "completion_tokens")


class ChatClient:
    """A chat model; see the module."""

    def __init__(
        self,
        spec: str,
        policy: CallPolicy | None = None,
        *,
        name: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        transport: Transport | None = None,
        **options: Any,
    ) -> None:
        """Describe the client; nothing is opened before the first call.

        Args:
            spec: ``http://host:port/v1#model`` or ``provider:MODEL``; without ``#model`` the server's only model.
            policy: how it is called.
            name: what the ledger calls the model, wherever it is served; by its own name and its server when None.
            parameters: further fields of the request; None values are dropped. A sample number is added to the seed.
            on_progress: called now and then with the number of distinct calls done and of all in the batch.
            transport: what is sent and how replies are read; chat completions when None.
            options: fields of `CallPolicy`, where they are to be other than in `policy`.
        """
        self.spec = parse_spec(spec)
        self.policy = policy = replace(policy or CallPolicy(), **options)
        self.ledger = None if policy.ledger is None else policy.open_ledger()
        self.parameters = {name: value for name, value in (parameters or {}).items() if value is not None}
        if policy.budget is not None and longest_reply(self.parameters) is None:
            raise QuadragError("a budget needs max_tokens (--max-tokens): without it a call's cost has no bound")
        self.on_progress = on_progress
        self.transport = transport or Transport()
        url, prices, budget = self.spec.url, policy.prices, policy.budget
        place = find_keys(self.spec).hide(without_user(url)) if url else self.spec.shown
        self.name, self.service = name, name or place
        self.spent: dict[str, Any] = {**dict.fromkeys(_COUNTERS, 0), "cost": None}
        if prices is not None:
            self.spent |= {"cost": 0.0, "currency": prices.currency}
            budget = Budget(budget, prices.currency) if isinstance(budget, int | float) else budget
        self.spent["oldest"] = None  # Unix time of the oldest reply from before the command
        self.spent["refused"] = {}  # fields that replies, kept ones too, were asked for without, or by another name
        self._budget = budget if isinstance(budget, Budget) else None
        self._told: set[str] = set()  # those of the refused that the user was told of
        self._earlier: dict[bytes, float] = {}  # of kept replies from before the command their Unix time
        self._model = self.spec.model
        self._engine: Engine | None = None
        self._turn = threading.Lock()
        if self._model is not None:
            self.rate(self._model)

    @property
    def model(self) -> str:
        """The name as requested, which stands in signatures: that of the spec, else of the server's only model."""
        if self._model is None:
            if self.policy.replay:
                raise QuadragError(f"a replay cannot ask {self.spec.shown} for its model; append #MODEL to the address")
            listed = self._open().list_models()
            if not isinstance(listed, list):
                way = "start the server, or append #MODEL to its address"
                advice = f"the models cannot be listed: {listed.detail}; {way}"
                raise QuadragError(advice) if listed.connected else DeadServer(advice)
            if len(listed) != 1:
                names = one_line(", ".join(listed) or "none", 300)
                raise QuadragError(
                    f"{self.spec.shown} has {len(listed)} models ({names}); append #MODEL to the address"
                )
            self.rate(listed[0])
            self._model = listed[0]
        return self._model

    def check_served(self) -> None:
        """Hold the model's name against the server's list, where it has one and the user gives the model no name.

        Raises:
            QuadragError: the list does not have it.
        """
        listed = [] if self.name else self._open().list_models()
        if isinstance(listed, list) and listed and self.model not in listed:
            place = self.spec.shown
            more = "or another of them; a name of your own, as --llm-name, is not looked for"
            raise QuadragError(
                f"{place} serves {one_line(', '.join(listed), 300)}, not {self.model}; type {place}#{listed[0]}, {more}"
            )

    def rate(self, model: str) -> Rate | None:
        """Return a model's prices, None where there are none at all; that others alone have some is a QuadragError."""
        return None if self.policy.prices is None else self.policy.prices.rate(model)

    def look_up(
        self, batch: Sequence[Messages], samples: Sequence[int] | None = None
    ) -> tuple[list[Messages], list[bytes], dict[bytes, Row]]:
        """Return chats as they are sent, the keys of their calls, and what the ledger has of these."""
        chats = [self.transport.compose(messages) for messages in batch]
        keys, kept = look_up(self.ledger, self.name or self.model, chats, self.parameters, samples, self.service)
        return chats, keys, kept

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
        if not batch:
            return []
        samples = [0] * len(batch) if samples is None else samples
        with self._turn:
            chats, keys, kept = self.look_up(batch, samples)
            calls = {
                key: call for key, call in zip(keys, zip(chats, samples, strict=True), strict=True) if key not in kept
            }
            self._count_kept(kept, calls)
            outcomes: dict[bytes, Outcome] = {**kept}
            undone = f"{NOT_ASKED}: the ledger has no reply to replay"
            stop: BudgetReached | None = None
            if calls and not self.policy.replay:
                try:
                    self._ask(calls, outcomes)
                except BudgetReached as reached:
                    stop, undone = reached, f"{NOT_ASKED}: {reached}"
            elif calls and not kept:
                lacking = f"the {len(calls)} replies of {self.model!r} at {self.service}"
                raise QuadragError(f"the ledger lacks {lacking}; run without replay, or with the name that the run had")
            results = [self.transport.read_outcome(outcomes.get(key, undone)) for key in keys]
            if stop is not None:
                raise BudgetReached(str(stop), results) from None
            return results

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

    def __enter__(self) -> ChatClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _count_kept(self, kept: Mapping[bytes, Row], missing: Mapping[bytes, Any]) -> None:
        """Count the replies from before the command; what is asked for after all is none."""
        began = self.policy.began if self.ledger is None else self.ledger.began
        for key in missing:
            self._earlier.pop(key, None)
        for key, row in kept.items():
            if (made := row.get("created", 0.0)) < began:
                self._earlier[key] = made
            self.spent["refused"].update(row.get("refused", ()))
        self.spent |= {"cached": len(self._earlier), "oldest": min(self._earlier.values(), default=None)}

    def _ask(self, calls: Mapping[bytes, tuple[Messages, int]], outcomes: dict[bytes, Outcome]) -> None:
        done, total = len(outcomes), len(calls) + len(outcomes)

        def tell() -> None:
            nonlocal done
            new = {name: other for name, other in self.spent["refused"].items() if name not in self._told}
            if new:
                self._told.update(new)
                told = (f"{name} {f'sent as {other}' if other else 'left out'}" for name, other in new.items())
                say(f"{self.model}: {', '.join(told)}, since {self.spec.shown} refuses it")
            if self.on_progress is not None and len(outcomes) > done:
                done = len(outcomes)
                self.on_progress(done, total)

        self._open().run(self.model, calls, self.parameters, self.rate(self.model), outcomes, tell)

    def _open(self) -> Engine:
        if self._engine is None:
            from .calls import Engine
            from .http import Server

            server = Server(self.spec, self.policy, self.transport)
            self._engine = Engine(server, self.policy, self._budget, self.ledger, self.spent)
        return self._engine
