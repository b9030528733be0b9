"""What calls cost: the worst is set aside before each is made, and what it came to is counted after."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from quadrag.chat.job import Job, Limits
from quadrag.chat.prices import TEMPLATE_TOKENS
from quadrag.chat.reply import Row

_LOOK = 0.2  # seconds between two looks at a budget that others share


class Purse:
    """The cost of one batch of calls, within its budget where it has one."""

    def __init__(self, parameters: Mapping[str, Any], limits: Limits, spent: dict[str, Any]) -> None:
        """Take the fields of every request, prices and budget, and running totals, which are updated in place."""
        self._parameters, self._rate, self._budget, self._spent = parameters, limits.rate, limits.budget, spent
        self._line = asyncio.Lock()
        self._freed = asyncio.Event()

    def worst(self, job: Job) -> Decimal:
        """Return the most that a call can cost; 0 where nothing bounds it."""
        if self._rate is None or self._budget is None:
            return Decimal(0)
        longest = self._parameters.get("max_tokens") or self._parameters["max_completion_tokens"]
        # No tokenizer makes more tokens than there are bytes.
        return self._rate.cost(job.size + TEMPLATE_TOKENS, int(longest))

    async def reserve(self, worst: Decimal) -> None:
        """Set a call's worst cost aside, when there is room for it.

        Raises:
            BudgetReached: there will be no room, as no call is in flight.
        """
        if self._budget is None:
            return
        # One after the other: else small calls would pass a large one for ever.
        async with self._line:
            while not self._budget.reserve(worst):
                if self._budget.open == 0:
                    raise self._budget.stop(worst)
                self._freed.clear()
                # Another client may share the budget, and its events do not come here.
                with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
                    await asyncio.wait_for(self._freed.wait(), _LOOK)

    def settle(self, worst: Decimal, cost: Decimal) -> None:
        """Put in the place of a call's worst cost what it came to."""
        if self._budget is not None:
            self._budget.settle(worst, cost)
            self._freed.set()

    def count(self, row: Row, worst: Decimal) -> Decimal:
        """Add a reply's tokens and cost to what is spent; return the cost, the worst where it is not known."""
        usage = row["usage"]
        if usage is None:
            return worst
        prompt, completion = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        self._spent["prompt_tokens"] += prompt
        self._spent["completion_tokens"] += completion
        if self._rate is None:
            return worst
        cost = self._rate.cost(prompt, completion)
        self._spent["cost"] = float(Decimal(str(self._spent["cost"])) + cost)
        return cost
