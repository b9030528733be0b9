"""What statistics are of: items with a value or a reason, and their sums by the unit that is drawn."""

from collections.abc import Hashable, Mapping, Sequence
from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ends = tuple[float | None, float | None]  # the least and the greatest value that there can be, None for no bound
SHARE: Ends = (0.0, 1.0)
NOT_APPLICABLE = "not_applicable"


class Item(NamedTuple):
    """One value of a question, or the reason why there is none."""

    question: Hashable  # what was asked; several samples of it are several items
    value: float | None
    reason: str | None = None  # why there is no value
    unit: Hashable = None  # what hangs together with others, as a conversation; None where the question stands alone

    @property
    def drawn(self) -> Hashable:
        """What is drawn anew as a whole: the unit, else the question."""
        return self.question if self.unit is None else self.unit


class Interval(NamedTuple):
    """Lower and upper bound."""

    low: float
    high: float


class Group(NamedTuple):
    """The values of a group of items by unit."""

    weight: float  # of the group's mean, at least 0; only its share among the groups counts
    sums: NDArray[np.float64]  # sum and number of the values of each of n units, 2 x n
    shares: bool  # whether every value is at an end of its range, as 0 or 1

    @property
    def mean(self) -> float:
        """The mean over its values; not a number where it has none."""
        total, count = map(fsum, self.sums)  # exact, so that no order of the units shows in the last digit
        return total / count if count else float("nan")

    @property
    def single(self) -> bool:
        """Whether no unit has several values."""
        return bool((self.sums[1] <= 1).all())


def make_group(
    items: Sequence[Item], units: Mapping[Hashable, int], fill: float | None, weight: float = 1.0, ends: Ends = SHARE
) -> Group:
    """Sum items by unit; those without a value count as `counted` says."""
    sums = np.zeros((2, len(units)))
    shares = None not in ends
    for item in items:
        if (value := counted(item, fill)) is not None:
            sums[:, units[item.drawn]] += (value, 1)
            shares = shares and value in ends
    return Group(weight, sums, shares)


def counted(item: Item, fill: float | None) -> float | None:
    """Return what an item counts as; `fill`, if it has no value but could have one."""
    return fill if item.value is None and item.reason != NOT_APPLICABLE else item.value


def number_units(items: Sequence[Item]) -> dict[Hashable, int]:
    """Number the units of items in their order."""
    return {unit: i for i, unit in enumerate(dict.fromkeys(item.drawn for item in items))}


def choose_fill(profile: str, worst: float) -> float | None:
    """Return what an unscored item counts as under a profile, None for not at all."""
    return worst if profile == "corrected" else None
