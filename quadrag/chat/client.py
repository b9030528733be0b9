"""Chat models behind an OpenAI-compatible server, as a plain function from chats to replies.

`ChatClient` is a judge and a generator: it asks concurrently, retries, keeps every reply in a ledger, stays within a
budget and never lets a key out. It streams nothing and calls no tools. Importing this file loads no network code.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

from quadrag.errors import QuadragError, one_line
from quadrag.printing import say

from .calls import Batch, run_beside
from .http import DeadServer, Fault, Server, Transport
from .keys import find_keys, name_served, parse_spec, without_user
from .ledger import Ledger, call_key
from .policy import BudgetReached, CallPolicy, Rate, longest_reply
from .reply import Calls, Failure, Messages, Outcome, Reply, as_verdict, refuse_cut
from .tokens import reckon_chat


class Completer(ABC):
    """A chat model as a plain function from chats to replies, a judge and a generator.

    Attributes:
        model: the name as requested, of a path on the server its last part, which stands in signatures.
        parameters: what it is asked with, as keys in the ledger have it.
        spent: running totals of calls, tokens and cost.
        service: what the ledger calls the server that is asked; None on this machine.
        on_progress: called at first, and now and then, with the number of distinct calls done and of all in the batch.
    """

    service: str | None = None
    on_progress: Callable[[int, int], None] | None = None

    def __init__(
        self,
        model: str | None,
        ledger: Ledger | None,
        replay: bool,
        parameters: Mapping[str, Any],
        known_as: str | None = None,
    ) -> None:
        self._model, self.ledger, self._replay, self._known_as = model, ledger, replay, known_as
        self.parameters = {name: value for name, value in parameters.items() if value is not None}
        self.spent: dict[str, Any] = {}
        self._earlier: dict[bytes, float] = {}  # of kept replies from before the command their Unix time
        self._lock = threading.Lock()

    @property
    def model(self) -> str:
        return self._model or ""

    @property
    def known_as(self) -> str:
        return self._known_as or self.model

    def compose(self, messages: Messages) -> Messages:
        """Return a call's messages as they are sent, and as they stand in its key."""
        return messages

    def _tell_long(self, lengths: Collection[int], context: int) -> None:
        """Say, before calls are made, how many are longer, prompt and longest reply, than the model's context."""
        if long := sum(length > context for length in lengths):
            way = f"serve it with more, or send less: --context {context * 4 // 5}, a smaller --top-k or --max-tokens"
            say(f"about {long} of {len(lengths)} calls exceed the context of {self.model}, {context} tokens; {way}")

    def look_up(
        self, batch: Sequence[Messages], samples: Sequence[int] | None = None
    ) -> tuple[list[bytes], Calls, dict[bytes, Reply]]:
        """Return the key of each chat, the calls as they are sent, and what the ledger has of these."""
        samples = [0] * len(batch) if samples is None else samples
        sent = [*zip(map(self.compose, batch), samples, strict=True)]
        try:
            keys = [call_key(self.known_as, chat, self.parameters, n, self.service or "") for chat, n in sent]
        except (TypeError, ValueError) as error:
            raise QuadragError(f"messages or parameters are no JSON: {error}") from None
        return keys, dict(zip(keys, sent, strict=True)), {} if self.ledger is None else self.ledger.get_many(keys)

    def complete(self, batch: Sequence[Messages], *, samples: Sequence[int] | None = None) -> list[Outcome]:
        """Ask for a batch of replies, and return as many replies or failures in order.

        Args:
            batch: lists of chat messages, each ``{"role": ..., "content": ...}``.
            samples: as many numbers; equal messages with different ones are different calls. All 0 when None.

        Raises:
            QuadragError: the model is dead or cannot be asked, a replay finds no reply at all, or the ledger is
                damaged.
            BudgetReached: the budget does not allow the next call; its ``results`` hold what there is.
        """
        if not batch:
            return []
        with self._lock:
            keys, calls, cached = self.look_up(batch, samples)
            missing = calls.keys() - cached.keys()
            self._count_cached(cached, missing)
            outcomes: dict[bytes, Outcome] = {**cached}
            reason, stop = "the ledger has no reply to replay", None
            if missing and not self._replay:
                try:
                    self._ask(calls, outcomes)
                except BudgetReached as reached:
                    stop, reason = reached, str(reached)
            elif missing and not cached:
                place = f" at {self.service}" if self.service else ""
                lacking = f"the {len(missing)} replies of {self.known_as!r}{place}"
                raise QuadragError(f"the ledger lacks {lacking}; run without replay, or with the name that the run had")
            not_asked = Failure("api_error", f"not asked: {reason}", asked=False)
            results = [refuse_cut(outcomes.get(key, not_asked)) for key in keys]
            if stop is not None:
                raise BudgetReached(stop.params, results) from None
            return results

    def __call__(self, batch: Sequence[Messages]) -> list[str | Failure]:
        """Ask for a batch of texts, as a judge: a `Failure` where there is none or where it was cut by length."""
        try:
            return [as_verdict(result) for result in self.complete(batch)]
        except BudgetReached as stop:
            stop.results = [as_verdict(result) for result in stop.results]
            raise

    def _count_cached(self, cached: Mapping[bytes, Reply], missing: Iterable[bytes]) -> None:
        """Count the replies from before the command; what is asked for after all is none."""
        for key in missing:
            self._earlier.pop(key, None)
        for key, reply in cached.items():
            if self.ledger is not None and reply.created < self.ledger.began:
                self._earlier[key] = reply.created
            if reply.refused:
                self.spent["refused"].update(reply.refused)
        self.spent |= {"cached": len(self._earlier), "oldest": min(self._earlier.values(), default=None)}

    @abstractmethod
    def _ask(self, calls: Calls, outcomes: dict[bytes, Outcome]) -> None:
        """Make those of the calls of a batch that have no outcome, and enter what each comes to."""

    def close(self) -> None:  # noqa: B027
        """Let connections or weights go; a later call opens them again. The ledger stays open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ChatClient(Completer):
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
            on_progress: as `Completer` has it.
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
        url = self.spec.url
        self.service = name or (find_keys(self.spec).hide(without_user(url)) if url else self.spec.shown)
        # `oldest` is the Unix time of the oldest reply from before the command, `refused` are fields that replies, kept
        # ones too, were asked for without, or by another name.
        counters = dict.fromkeys(("calls", "cached", "retries", "prompt_tokens", "completion_tokens"), 0)
        self.spent |= {**counters, "cost": None, "oldest": None, "refused": {}}
        if policy.prices is not None:
            self.spent |= {"cost": 0.0, "currency": policy.prices.currency}
        self._reported: set[str] = set()  # those of the refused that the user was told of
        if self._model is not None:
            self.rate(self.model)

    @cached_property
    def _server(self) -> Server:
        return Server(self.spec, self.policy, self.transport)

    @property
    def model(self) -> str:
        return name_served(self.served)

    @property
    def known_as(self) -> str:
        return self._known_as or self.served

    @cached_property
    def _listed(self) -> dict[str, int | None]:
        listed: dict[str, int | None] = run_beside(self._server.list_models())
        return listed

    @cached_property
    def _context(self) -> int | None:
        """The tokens of the model's context; None where its server does not say it."""
        if not (self.transport.lists and self.spec.url):
            return None
        try:
            listed = self._listed
        except Fault:
            return None
        return listed.get(self.served, next(iter(listed.values())) if len(listed) == 1 else None)

    @property
    def served(self) -> str:
        """What its server calls the model."""
        if self._model is None:
            if self.policy.replay:
                raise QuadragError(f"a replay cannot ask {self.spec.shown} for its model; append #MODEL to the address")
            try:
                listed = [*self._listed]
            except Fault as fault:
                kind = QuadragError if fault.connected else DeadServer
                remedy = "start the server, or append #MODEL to its address"
                raise kind(f"the models cannot be listed: {fault.detail}; {remedy}") from None
            if len(listed) != 1:
                names = one_line(", ".join(listed) or "none", 300)
                raise QuadragError(
                    f"{self.spec.shown} has {len(listed)} models ({names}); append #MODEL to the address"
                )
            self.rate(name_served(listed[0]))
            self._model = listed[0]
        return self._model

    def rate(self, model: str) -> Rate | None:
        return None if self.policy.prices is None else self.policy.prices.rate(model)

    def compose(self, messages: Messages) -> Messages:
        return self.transport.compose(messages)

    def _ask(self, calls: Calls, outcomes: dict[bytes, Outcome]) -> None:
        missing = {key: call for key, call in calls.items() if key not in outcomes}
        if self._context:
            reply = longest_reply(self.parameters) or 0
            self._tell_long([reckon_chat(messages) + reply for messages, _ in missing.values()], self._context)

        def report() -> None:
            new = {name: other for name, other in self.spent["refused"].items() if name not in self._reported}
            if new:
                self._reported.update(new)
                changes = (f"{name} {f'sent as {other}' if other else 'left out'}" for name, other in new.items())
                say(f"{self.model}: {', '.join(changes)}, since {self.spec.shown} refuses it")
            if self.on_progress is not None:
                self.on_progress(len(outcomes), len(calls))

        report()
        run_beside(Batch(self, self._server, outcomes).run(missing), report)
        report()
