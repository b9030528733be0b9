"""How chat models are called, whichever they are: one record, from the command that asks to what makes a call."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from quadrag.errors import QuadragError, name_kind, read_yaml, unknown_name
from quadrag.parts import Record, Trust, validate

from .ledger import Ledger, canonical
from .reply import RETRIED

MOST_FAILED = 0.2  # the share of items whose failure makes a metric invalid
_IN_FILES = ("concurrency", "timeout", "retries", "max_reply_bytes", "max_failed")  # numbers
# Chat templates add markers, and some a system prompt of their own (Llama 3.1 about 30 tokens, Qwen 2.5 about 20).
_TEMPLATE_TOKENS = 64


class BudgetReached(QuadragError):
    """The next call could pass the budget.

    Attributes:
        params: ``limit``, ``currency``, what is ``spent`` and what the ``next`` call may cost, as texts.
        results: an entry per call, those not asked as failures.
    """

    def __init__(self, params: Mapping[str, str], results: Sequence[Any] = ()) -> None:
        super().__init__(
            "the budget of {limit} {currency} is reached: {spent} is spent and the next call may cost {next}; "
            "run again to go on with a further budget, replies are kept".format_map(params)
        )
        self.params, self.results = params, list(results)


class Rate(Record, extra="ignore"):
    """One model's prices, in currency units per million tokens."""

    input: Annotated[Decimal, Field(ge=0)]
    output: Annotated[Decimal, Field(ge=0)]

    def cost(self, prompt_tokens: int, completion_tokens: int) -> Decimal:
        return (self.input * prompt_tokens + self.output * completion_tokens) / 1_000_000

    def bound(self, messages: Any, parameters: Mapping[str, Any]) -> Decimal:
        """Return the most that a call can cost: no tokenizer makes more tokens than there are bytes."""
        return self.cost(len(canonical(messages)) + _TEMPLATE_TOKENS, longest_reply(parameters) or 0)


def longest_reply(parameters: Mapping[str, Any]) -> int | None:
    """Return how many tokens a reply may have by a request's fields; None where nothing bounds it."""
    longest = parameters.get("max_tokens", parameters.get("max_completion_tokens"))
    return longest if isinstance(longest, int) and longest > 0 else None


class Prices:
    def __init__(self, table: Mapping[str, Any], source: str = "the price table") -> None:
        """Read ``{model: {input: 0.5, output: 1.5}, currency: "USD"}``, the prices of a million tokens."""
        if not isinstance(table, Mapping):
            raise QuadragError(f"{source} is {name_kind(table)}; expected {{model: {{input: 0.5, output: 1.5}}}}")
        rates = {str(model): rate for model, rate in table.items() if model != "currency"}
        self._rates = {model: validate(Rate, rate, f"{source}: {model}") for model, rate in rates.items()}
        self._source = source
        self.currency = str(table.get("currency", "USD"))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Prices:
        return cls(read_yaml(Path(path), "the prices of models"), f"the price file {path}")

    def rate(self, model: str) -> Rate:
        if model not in self._rates:
            raise QuadragError(f"{unknown_name('model', model, self._rates)} ({self._source})")
        return self._rates[model]


class Budget:
    """A hard limit: what is spent and what calls in flight may yet cost never pass it together."""

    def __init__(self, limit: float, currency: str) -> None:
        self.limit = Decimal(str(limit))
        if not self.limit.is_finite() or self.limit < 0:
            raise QuadragError(f"the budget is {limit!r}; expected a number of {currency}, 0 or more")
        self.currency = currency
        self.used = Decimal(0)
        self.reserved = Decimal(0)
        self._lock = threading.Lock()

    def reserve(self, worst: Decimal) -> bool:
        """Set a call's worst case aside; False where it does not fit yet, BudgetReached where it never will."""
        with self._lock:
            if self.used + self.reserved + worst <= self.limit:
                self.reserved += worst
                return True
            if self.reserved:
                return False
        spent, more = (f"{amount.normalize():f}" for amount in (self.used, worst))
        raise BudgetReached({"limit": str(self.limit), "currency": self.currency, "spent": spent, "next": more})

    def settle(self, worst: Decimal, cost: Decimal) -> None:
        with self._lock:
            self.reserved -= worst
            self.used += cost


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPolicy:
    """How models are called and what is kept: nothing of it decides what a run measures."""

    # where replies are kept, open or by its file; when None the user's own, and of a client by itself none.
    ledger: Ledger | str | Path | None = None
    concurrency: int = 16  # calls in flight
    timeout: float = 900.0  # seconds that one attempt may take: a context of 4096 tokens at 5 a second takes 820
    retries: int = 5  # new attempts after one that failed in a way that may pass
    max_reply_bytes: int = 16_000_000  # the longest reply that is read, as it is when it is unpacked
    prices: Prices | None = None  # what tokens cost
    budget: Budget | None = None  # a hard limit on what all who share it may cost together; it needs prices
    replay: bool = False  # answer from the ledger alone, with no network
    fresh: bool = False  # take no reply from before the command
    retry: Sequence[str] = ()  # kinds of replies, of `quadrag.chat.reply.RETRIED`, that are asked for again
    began: float = field(default_factory=time.time)  # Unix time of the command's beginning
    trust: Trust = field(default_factory=Trust)  # the models whose own code may run
    max_failed: float = MOST_FAILED  # the share of a metric's items above which its value is not shown
    profile: str = "official"  # the one that values are shown by where a later command names none
    certificates: Sequence[Mapping[str, Any]] = ()  # how far judges agree with people, as `certify-judge` wrote it
    command: Sequence[str] = ()  # as typed, less passwords
    estimate: Any = None  # where calls are noted in place of being made

    def __post_init__(self) -> None:
        for name, least in (("concurrency", 1), ("retries", 0), ("timeout", 1e-9), ("max_reply_bytes", 1)):
            if (number := getattr(self, name)) is not None and not number >= least:
                raise QuadragError(f"{name} is {number}; expected {least} or more")
        if self.budget is not None and not isinstance(self.budget, Budget):
            raise QuadragError(f"budget is {self.budget!r}; expected a quadrag.chat.policy.Budget")
        if not 0 <= self.max_failed <= 1:
            raise QuadragError(f"max_failed is {self.max_failed}; expected a share from 0 to 1")
        for kind in self.retry:
            if kind not in RETRIED:
                raise unknown_name("kind of reply in retry", kind, RETRIED)
        if self.budget is not None and self.prices is None:
            raise QuadragError("a budget needs the prices of the models; name a price file with --prices")

    def open_ledger(self) -> Ledger:
        if isinstance(self.ledger, Ledger):
            return self.ledger
        return Ledger(self.ledger, retry=self.retry, since=self.began if self.fresh else 0.0, began=self.began)


def read_calls(said: Any) -> dict[str, Any]:
    if not isinstance(said, Mapping) or any(type(value) not in (int, float) for value in said.values()):
        raise QuadragError(f"calls is {said!r:.80}; expected numbers for {', '.join(_IN_FILES)}")
    for name in said:
        if name not in _IN_FILES:
            raise unknown_name("key of calls", str(name), _IN_FILES)
    return dict(said)
