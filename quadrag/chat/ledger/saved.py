"""What kept replies would have taken, had they been asked for: tokens, and the price where prices are known."""

from __future__ import annotations

from typing import Any

from quadrag.chat.batch import Batch
from quadrag.chat.prices import Prices, Rate


class Saved:
    """Counts what one client's kept replies save, among what it has spent; each call counts once."""

    def __init__(self, spent: dict[str, Any], prices: Prices | None) -> None:
        """Add the counters to those of the client."""
        self._spent = spent
        self._kept: dict[bytes, tuple[int, int]] = {}
        self._made: set[bytes] = set()
        spent |= {"saved_prompt_tokens": 0, "saved_completion_tokens": 0}
        spent |= {"saved_cost": 0.0, "currency": prices.currency} if prices else {}

    def note(self, batch: Batch, rate: Rate | None) -> None:
        """Count a batch; a reply that the client made itself, now or before, saves nothing."""
        self._made |= batch.missing.keys() - batch.stored
        for key in batch.stored:
            row = batch.outcomes[key]
            usage = (not isinstance(row, str) and row["usage"]) or {}
            self._kept[key] = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        for key in self._made & self._kept.keys():
            del self._kept[key]
        prompt, completion = (sum(counts) for counts in zip((0, 0), *self._kept.values(), strict=True))
        self._spent |= {"saved_prompt_tokens": prompt, "saved_completion_tokens": completion}
        if rate is not None:
            self._spent["saved_cost"] = float(rate.cost(prompt, completion))
