"""What calls cost, and the budget that they may not pass.

Prices come from a file of the user's, per million tokens. Amounts are decimal, so that a budget of 0.3 holds three
calls of 0.1. No price is built in: they change, and a wrong one would be a wrong budget.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError, unknown_name
from quadrag.reading import parse_yaml

from .ledger import canonical

_MILLION = Decimal(1_000_000)
# Chat templates add markers, and some a system prompt of their own (Llama 3.1 about 30 tokens, Qwen 2.5 about 20).
_TEMPLATE_TOKENS = 64


class BudgetReached(QuadragError):
    """The next call could pass the budget.

    Attributes:
        params: ``limit``, ``currency``, what is ``spent`` and what the ``next`` call may cost, as texts.
        results: an entry per call, those not asked as failures.
    """

    def __init__(self, params: Mapping[str, str], results: Sequence[Any] = ()) -> None:
        """Take what the budget came to."""
        super().__init__(
            "the budget of {limit} {currency} is reached: {spent} is spent and the next call may cost {next}; "
            "run again to go on with a further budget, replies are kept".format_map(params)
        )
        self.params, self.results = params, list(results)


@dataclass(frozen=True, slots=True)
class Rate:
    """One model's prices, in currency units per token."""

    prompt: Decimal
    completion: Decimal

    def cost(self, prompt_tokens: int, completion_tokens: int) -> Decimal:
        """Return the price of a call with that many tokens."""
        return self.prompt * prompt_tokens + self.completion * completion_tokens

    def bound(self, messages: Any, parameters: Mapping[str, Any]) -> Decimal:
        """Return the most that a call can cost: no tokenizer makes more tokens than there are bytes."""
        return self.cost(len(canonical(messages)) + _TEMPLATE_TOKENS, longest_reply(parameters) or 0)


def longest_reply(parameters: Mapping[str, Any]) -> int | None:
    """Return how many tokens a reply may have by a request's fields; None where nothing bounds it."""
    longest = parameters.get("max_tokens", parameters.get("max_completion_tokens"))
    return longest if isinstance(longest, int) and longest > 0 else None


class Prices:
    """Prices of models, per million tokens, in one currency."""

    def __init__(self, table: Mapping[str, Any], source: str = "the price table") -> None:
        """Read ``{model: {input: 0.5, output: 1.5}, currency: "USD"}``, the prices of a million tokens."""
        self._rates: dict[str, Rate] = {}
        self._source = source
        entry: Any = table
        try:
            self.currency = str(table.get("currency", "USD"))
            for model, entry in table.items():
                if model != "currency":
                    prices = [Decimal(str(entry[side])) for side in ("input", "output")]
                    if not all(price.is_finite() and price >= 0 for price in prices):
                        raise ValueError
                    self._rates[str(model)] = Rate(*(price / _MILLION for price in prices))
        except (AttributeError, TypeError, LookupError, ValueError, InvalidOperation):
            form = "expected {model: {input: 0.5, output: 1.5}}, the prices of a million tokens"
            raise QuadragError(f"{source} has {entry!r}; {form}") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Prices:
        """Read a price file, YAML or JSON."""
        source = f"the price file {path}"
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise QuadragError(f"{source} cannot be read: {error.strerror}") from None
        return cls(parse_yaml(content, source, "YAML or JSON"), source)

    def rate(self, model: str) -> Rate:
        """Return a model's prices; raise QuadragError, with the nearest names, where the table has no such model."""
        if model not in self._rates:
            raise QuadragError(f"{unknown_name('model', model, self._rates)} ({self._source})")
        return self._rates[model]


class Budget:
    """A hard limit: what is spent and what calls in flight may yet cost never pass it together."""

    def __init__(self, limit: float, currency: str) -> None:
        """Set the limit, in units of the currency; 0 lets only free calls pass."""
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
        """Replace a reservation by what the call did cost."""
        with self._lock:
            self.reserved -= worst
            self.used += cost
