"""Chat models behind an OpenAI-compatible server, as a plain function from chats to replies.

`ChatClient` is a judge and a generator: it asks concurrently, retries, keeps every reply in a ledger, stays within a
budget and never lets a key out. It streams nothing and calls no tools. Importing this file loads no network code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quadrag.errors import QuadragError, one_line
from quadrag.progress import say

from .completer import Calls, Completer, Messages
from .faults import DeadServer, Fault
from .http import Transport
from .keys import find_keys
from .ledger import Ledger
from .policy import CallPolicy
from .prices import Budget, BudgetReached, Prices, Rate, longest_reply
from .reply import Failure, Outcome, Reply
from .spec import parse_spec, without_user

if TYPE_CHECKING:
    from .http import Server

__all__ = ["BudgetReached", "ChatClient", "Failure", "Ledger", "Prices", "Reply"]

_COUNTERS = ("calls", "cached", "retries", "prompt_tokens", "completion_tokens")


class ChatClient(Completer):
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
        ledger = None if policy.ledger is None else policy.open_ledger()
        super().__init__(self.spec.model, ledger, policy.replay, parameters or {}, name)
        if policy.budget is not None and longest_reply(self.parameters) is None:
            raise QuadragError("a budget needs max_tokens (--max-tokens): without it a call's cost has no bound")
        self.on_progress = on_progress
        self.transport = transport or Transport()
        url, prices, budget = self.spec.url, policy.prices, policy.budget
        place = find_keys(self.spec).hide(without_user(url)) if url else self.spec.shown
        self.service = name or place
        self.spent |= {**dict.fromkeys(_COUNTERS, 0), "cost": None}
        if prices is not None:
            self.spent |= {"cost": 0.0, "currency": prices.currency}
            budget = Budget(budget, prices.currency) if isinstance(budget, int | float) else budget
        self.spent["oldest"] = None  # Unix time of the oldest reply from before the command
        self.spent["refused"] = {}  # fields that replies, kept ones too, were asked for without, or by another name
        self.budget = budget if isinstance(budget, Budget) else None
        self._reported: set[str] = set()  # those of the refused that the user was told of
        self._server: Server | None = None
        if self._model is not None:
            self.rate(self._model)

    @property
    def model(self) -> str:
        """The name as requested, which stands in signatures: that of the spec, else of the server's only model."""
        if self._model is None:
            if self.policy.replay:
                raise QuadragError(f"a replay cannot ask {self.spec.shown} for its model; append #MODEL to the address")
            from .calls import run_beside

            try:
                listed = run_beside(self._find_server().list_models())
            except Fault as fault:
                way = "start the server, or append #MODEL to its address"
                advice = f"the models cannot be listed: {fault.detail}; {way}"
                raise (QuadragError if fault.connected else DeadServer)(advice) from None
            if len(listed) != 1:
                names = one_line(", ".join(listed) or "none", 300)
                raise QuadragError(
                    f"{self.spec.shown} has {len(listed)} models ({names}); append #MODEL to the address"
                )
            self.rate(listed[0])
            self._model = listed[0]
        return self._model

    def rate(self, model: str) -> Rate | None:
        """Return a model's prices, None where there are none at all; that others alone have some is a QuadragError."""
        return None if self.policy.prices is None else self.policy.prices.rate(model)

    def compose(self, messages: Messages) -> Messages:
        """Return a call's messages as they are sent; see `Transport.compose`."""
        return self.transport.compose(messages)

    def _ask(self, calls: Calls, outcomes: dict[bytes, Outcome]) -> None:
        missing = {key: call for key, call in calls.items() if key not in outcomes}
        done = len(outcomes)

        def report() -> None:
            nonlocal done
            new = {name: other for name, other in self.spent["refused"].items() if name not in self._reported}
            if new:
                self._reported.update(new)
                changes = (f"{name} {f'sent as {other}' if other else 'left out'}" for name, other in new.items())
                say(f"{self.model}: {', '.join(changes)}, since {self.spec.shown} refuses it")
            if self.on_progress is not None and len(outcomes) > done:
                done = len(outcomes)
                self.on_progress(done, len(calls))

        from .calls import Batch, run_beside

        run_beside(Batch(self, self._find_server(), outcomes).run(missing), report)
        report()

    def _find_server(self) -> Server:
        if self._server is None:
            from .http import Server

            self._server = Server(self.spec, self.policy, self.transport)
        return self._server
