"""What statistics are of: items with a value or a reason, and what is said of them."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
NOT_APPLICABLE = "not_applicable"


class Item(NamedTuple):
    """One value: of which question (the unit drawn), the value or None, and for None the reason."""

    question: Hashable
    value: float | None
    reason: str | None = None


class Interval(NamedTuple):
    """Lower and upper bound."""

    low: float
    high: float


class Pair(NamedTuple):
    """The paired difference of one metric: second less first, its interval, and on how many questions it is."""

    difference: float
    interval: Interval
    n: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A metric over a set of items.

    `value` is the mean under the profile, `over_scored` the mean over the scored items alone; both are None where
    nothing counts. ``n_total == n_scored + n_not_applicable + sum(unscored.values())``.
    """

    value: float | None
    over_scored: float | None
    interval: Interval | None
    n_total: int
    n_scored: int
    n_not_applicable: int
    unscored: dict[str, int]


def sum_items(items: Sequence[Item], questions: dict[Hashable, int], worst: float | None) -> NDArray[np.float64]:
    """Sum and number of counting values per question, as a 2 x questions array; unscored count as `worst`, if given."""
    sums = np.zeros((2, len(questions)))
    for item in items:
        value = worst if item.value is None and item.reason != NOT_APPLICABLE else item.value
        if value is not None:
            sums[:, questions[item.question]] += (value, 1)
    return sums


def number_questions(items: Sequence[Item]) -> dict[Hashable, int]:
    """Number the questions of items in their order."""
    return {question: i for i, question in enumerate(dict.fromkeys(item.question for item in items))}


def choose_fill(profile: str, worst: float) -> float | None:
    """Return what an unscored item counts as under a profile, None for not at all."""
    if profile not in ("official", "corrected"):
        raise ValueError(f"profile is {profile!r}; expected 'official' or 'corrected'")
    return worst if profile == "corrected" else None
