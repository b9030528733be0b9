"""On how many questions the second of two runs is better, worse and equal by a metric."""

from collections.abc import Collection
from typing import NamedTuple

from ....core.result import Result
from ..names import Place
from .pairs import has_better, list_differences


class Changes(NamedTuple):
    """On how many questions the second of two runs is better, worse and equal by a metric."""

    better: int
    worse: int
    equal: int


def count_changes(first: Result, second: Result, place: Place, profile: str) -> Changes | None:
    """Count on how many questions the second is better, worse and equal; None where nothing says which is better."""
    gained = list_differences(first, second, place, profile).values() if has_better(place) else ()
    return count_gains(gained) if gained else None


def count_gains(gained: Collection[float]) -> Changes:
    """Count the questions by what each gained."""
    better, worse = sum(one > 0 for one in gained), sum(one < 0 for one in gained)
    return Changes(better, worse, len(gained) - better - worse)
