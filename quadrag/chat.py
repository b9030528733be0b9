"""Chat models behind an OpenAI-compatible server, as a plain function from chats to replies.

`ChatClient` is a judge and a generator: it asks concurrently, retries, keeps every reply in a
`quadrag.ledger.Ledger`, stays within a budget and never lets a key out. It streams nothing, calls no tools and runs
no model itself. Importing this file loads no network code.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quadrag.errors import QuadragError
from quadrag.ledger import Ledger, call_key, canonical
from quadrag.prices import Budget, BudgetReached, Prices
from quadrag.reply import NOT_ASKED, Failure, Reply, as_verdict
from quadrag.spec import find_keys, parse_spec

if TYPE_CHECKING:
    from quadrag.dispatch import Outcome
    from quadrag.engine import Engine

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
        timeout: float = 120.0,
        retries: int = 5,
        prices: Prices | None = None,
        budget: float | Budget | None = None,
        replay: bool = False,
        parameters: Mapping[str, Any] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Describe the client; nothing is opened before the first call.

        Args:
            spec: ``http://host:port/v1#model`` (base URLs may be several, comma-separated) or
                ``provider:MODEL``; without ``#model`` the server's only model is taken.
            ledger: where replies are kept and looked up; none are when None.
            concurrency: calls in flight at once, over all URLs.
            timeout: seconds one attempt may take.
            retries: new attempts after one that failed in a way that may pass.
            prices: what tokens cost.
            budget: hard limit on this client's cost, or a `Budget` that several clients share; needs prices and
                ``max_tokens``.
            replay: answer from the ledger alone, with no network.
            parameters: further fields of the request (temperature, max_tokens, seed, ...); None values are
                dropped. A sample number above 0 is added to the seed.
            on_progress: called now and then with the number of calls done and of all calls in the batch.

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
        if concurrency < 1 or retries < 0 or not timeout > 0:
            raise QuadragError(
                f"concurrency {concurrency}, retries {retries}, timeout {timeout}: "
                "expected at least 1, at least 0 and above 0"
            )
        if replay and ledger is None:
            raise QuadragError("a replay needs a ledger; name the one that the run wrote")
        if budget is not None and prices is None:
            raise QuadragError("a budget needs prices; name a price file with --prices")
        longest = self.parameters.get("max_tokens", self.parameters.get("max_completion_tokens"))
        if budget is not None and not (isinstance(longest, int) and longest > 0):
            raise QuadragError("a budget needs max_tokens (--max-tokens): without it a call's cost has no bound")
        self.ledger = ledger
        self.concurrency = concurrency
        self.timeout = timeout
        self.retries = retries
        self.prices = prices
        self.replay = replay
        self.on_progress = on_progress
        self.spent: dict[str, Any] = {
            "calls": 0,
            "cached": 0,
            "retries": 0,
            "failed": 0,
            "prompt_tokens": 0,
            "completion_tokens": 0,
            "cost": None if prices is None else 0.0,
        }
        self._budget = budget if isinstance(budget, Budget) else None
        if isinstance(budget, (int, float)) and prices is not None:
            self._budget = Budget(budget, prices.currency)
        self._model = self.spec.model
        self._engine: Engine | None = None
        self._turn = threading.Lock()
        if prices is not None and self._model is not None:
            prices.rate(self._model)

    @property
    def model(self) -> str:
        """The model's name as requested: it stands in signatures and in the ledger's keys.

        Raises:
            QuadragError: the spec names none, and there is not exactly one to take.
        """
        if self._model is None:
            if self.replay and self.ledger is not None:
                names, place = self.ledger.models(), f"the ledger {self.ledger.path}"
            else:
                names, place = self._open().served(), self.spec.shown
            if len(names) != 1:
                listed = ", ".join(names[:20]) or "none"
                raise QuadragError(f"{place} holds {len(names)} models ({listed}); append #model to the spec")
            if self.prices is not None:
                self.prices.rate(names[0])
            self._model = names[0]
        return self._model

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
            return self._complete([list(messages) for messages in batch], numbers)

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

    def _complete(self, batch: list[Messages], numbers: list[int]) -> list[Reply | Failure]:
        model = self.model
        try:
            keys = [
                call_key(model, messages, self.parameters, number)
                for messages, number in zip(batch, numbers, strict=True)
            ]
        except (TypeError, ValueError) as error:
            raise QuadragError(f"the chat messages are no JSON: {error}") from None
        stored = self.ledger.get_many(dict.fromkeys(keys)) if self.ledger is not None else {}
        missing = {key: place for place, key in reversed(list(enumerate(keys))) if key not in stored}
        self.spent["cached"] += sum(key in stored for key in keys)
        if missing and self.replay and not stored:
            place = self.ledger.path if self.ledger is not None else "of no file"
            raise QuadragError(
                f"the ledger {place} lacks {len(missing)} of {len(set(keys))} "
                f"replies of {model!r}; run without replay, or with the parameters and prompts of the first run"
            )
        outcomes: dict[bytes, Outcome] = dict(stored)
        stop: BudgetReached | None = None
        if missing and not self.replay:
            try:
                self._ask(keys, missing, batch, numbers, outcomes)
            except BudgetReached as reached:
                stop = reached
        undone = f"{NOT_ASKED}: {stop}" if stop else f"{NOT_ASKED}: the ledger has no reply to replay"
        results = [self._result(outcomes.get(key, undone), key in stored) for key in keys]
        if stop is not None:
            raise BudgetReached(str(stop), results) from None
        return results

    def _ask(
        self,
        keys: list[bytes],
        missing: dict[bytes, int],
        batch: list[Messages],
        numbers: list[int],
        outcomes: dict[bytes, Outcome],
    ) -> None:
        from quadrag.dispatch import Job, Limits

        jobs = [
            Job(key, batch[place], numbers[place], len(canonical(batch[place])) if self._budget else 0)
            for key, place in sorted(missing.items(), key=lambda item: item[1])
        ]
        tell = self.on_progress
        times = Counter(keys)
        done = len(keys) - sum(times[key] for key in missing)

        def progress(finished: list[bytes]) -> None:
            nonlocal done
            done += sum(times[key] for key in finished)
            if tell is not None:
                tell(done, len(keys))

        rate = None if self.prices is None else self.prices.rate(self.model)
        proven = len(missing) < len(times)
        limits = Limits(min(self.concurrency, len(jobs)), self.retries, rate, self._budget, proven)
        engine = self._open()
        if engine.dispatcher is None:
            engine.start(self.model, self.parameters, self.ledger, self.spent)
        engine.run(jobs, limits, outcomes, progress if tell is not None else None)

    def _result(self, outcome: Outcome, cached: bool) -> Reply | Failure:
        if isinstance(outcome, str):
            return Failure("api_error", outcome)
        if outcome["finish_reason"] == "length" and not outcome["text"]:
            return Failure("truncated", "the reply was cut before the answer began; raise max_tokens")
        usage = outcome["usage"]
        cost = 0.0 if cached else None
        if cost is None and self.prices is not None and usage is not None:
            rate = self.prices.rate(self.model)
            cost = float(rate.cost(usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)))
        return Reply(
            text=outcome["text"],
            finish_reason=outcome["finish_reason"],
            usage=usage,
            reasoning=outcome["reasoning"],
            cached=cached,
            latency=outcome["latency"],
            cost=cost,
        )

    def _open(self) -> Engine:
        if self._engine is None:
            from quadrag.engine import Engine

            self._engine = Engine(self.spec, find_keys(self.spec), self.timeout)
        return self._engine
