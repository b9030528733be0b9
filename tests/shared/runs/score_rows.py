"""Scores as the rows of ``scores.json``, with what follows from the run: what the tests that count by rows look at."""

from collections.abc import Iterable
from typing import Any

from quadrag.results import Score


def as_rows(scores: Iterable[Score]) -> list[dict[str, Any]]:
    """Return rows with status and reason."""
    return [score.as_row() | {"status": score.status, "reason": score.reason} for score in scores]
