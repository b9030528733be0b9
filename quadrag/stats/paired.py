"""Two runs compared on the items that both have: the difference, its interval, a test, and how the items spread.

Single items that all differ by as much or not at all are tested by McNemar's mid-p, with the interval of Bonett &
Price; all else by sign flips, with the bootstrap's (`bca`) over pairs that are drawn anew together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .intervals import bca, influences, resample, share_difference, sort_units, variance_of
from .items import Group, Interval, Item, choose_fill, counted, make_group, number_units
from .tests import mcnemar, sign_flips

_NOISE = 1e-12  # of a sum that is 0


@dataclass(frozen=True, slots=True)
class Pair:
    """The paired difference of one metric."""

    difference: float  # second minus first
    interval: Interval  # of it
    n: int  # on how many questions it is
    p: float  # how often chance alone would make a difference at least as large
    test: str  # how p was found: ``mcnemar`` (by mid-p) or ``flips``
    spread: float  # the standard deviation of a question's difference, for `power_of`
    changed: int  # how many units differ
    # p adjusted by Holm's rule for all differences that are compared at once; None of one by itself, of few questions,
    # or where all values are the same
    p_holm: float | None = None

    @property
    def decisive(self) -> float:
        """The p that a verdict goes by."""
        return self.p if self.p_holm is None else self.p_holm


def paired_difference(
    first: Sequence[Item], second: Sequence[Item], *, profile: str = "official", worst: float = 0.0
) -> Pair | None:
    """Difference second - first of one metric on the questions scored in both, in any order.

    None where the runs do not cover the same questions or nothing counts; ValueError for an unknown profile.
    """
    return paired_macro([first], [second], profile=profile, worst=worst)


def paired_macro(
    first: Sequence[Sequence[Item]],
    second: Sequence[Sequence[Item]],
    *,
    weights: Sequence[float] | None = None,
    profile: str = "official",
    worst: float = 0.0,
) -> Pair | None:
    """Difference second - first of a mean over groups, weighted or not; results and errors as of `paired_difference`.

    `weights`: of each group, at least 0; alike when None. A group without a shared question is left out.
    """
    fill = choose_fill(profile, worst)
    weights = weights or [1.0] * len(first)
    turned = _is_turned(first, second)
    sides = (second, first) if turned else (first, second)
    pair = _pair_sides(*sides, weights, fill)
    if pair is None or not turned:
        return pair
    low, high = pair.interval
    return replace(pair, difference=0.0 - pair.difference, interval=Interval(0.0 - high, 0.0 - low))


def _is_turned(first: Sequence[Sequence[Item]], second: Sequence[Sequence[Item]]) -> bool:
    """Whether the second run is drawn as the first: swapped, two runs are to differ in sign alone."""

    def values(run: Sequence[Sequence[Item]], by_question: bool) -> list[list[float]]:
        found = []
        for group in run:
            items = sorted(group, key=lambda item: repr(item.question)) if by_question else group
            worth = [-math.inf if item.value is None else item.value for item in items]
            found.append(worth if by_question else sorted(worth))
        return found

    one, other = values(first, False), values(second, False)
    return one > other if one != other else values(first, True) > values(second, True)


def _pair_sides(
    first: Sequence[Sequence[Item]], second: Sequence[Sequence[Item]], weights: Sequence[float], fill: float | None
) -> Pair | None:
    paired = []
    for one, other, weight in zip(first, second, weights, strict=True):
        if {item.question for item in one} != {item.question for item in other}:
            return None
        # A question that only one side could score would make the difference one of questions, not of runs.
        scored = [{item.question for item in side if counted(item, fill) is not None} for side in (one, other)]
        if weight and (shared := scored[0] & scored[1]):
            paired.append((*_pair_group(one, other, shared, fill, weight), len(shared)))
    if not paired:
        return None
    ones, others, numbers = zip(*paired, strict=True)
    n = sum(numbers)
    share = [group.weight / sum(one.weight for one in ones) for group in ones]
    difference = float(sum(w * (b.mean - a.mean) for w, a, b in zip(share, ones, others, strict=True)))
    influence = [b - a for a, b in zip(influences(ones), influences(others), strict=True)]
    spread = math.sqrt(variance_of(influence) * n)
    changed = sum(_count_changed(one, other) for one, other in zip(ones, others, strict=True))
    if not changed and abs(difference) < _NOISE:
        difference = spread = 0.0
    alone = len(ones) == 1 and ones[0].sums.shape[1] == n  # each unit is one question, of one sample or of several
    if alone and (steps := _count_steps(ones[0], others[0])):
        worse, better, step = steps
        low, high = share_difference(worse, better, n)
        scaled = Interval(step * low, step * high)
        return Pair(difference, scaled, n, mcnemar(worse, better), "mcnemar", spread, changed)
    drawn = resample([np.stack([a.sums, b.sums]) for a, b, _ in paired], np.array([[w, w] for w in share]))
    interval = bca(drawn[1] - drawn[0], difference, influence)
    p = sign_flips([one.sums for one in ones], [other.sums for other in others], share)
    return Pair(difference, interval, n, p, "flips", spread, changed) if interval else None


def _pair_group(
    first: Sequence[Item], second: Sequence[Item], shared: set[object], fill: float | None, weight: float
) -> tuple[Group, Group]:
    """Sum the items of both over the same units, in the order of their values."""
    drawn = {item.question: item.drawn for item in first if item.question in shared}
    kept = [
        [item._replace(unit=drawn[item.question]) for item in side if item.question in shared]
        for side in (first, second)
    ]
    units = number_units(kept[0])
    one, other = (make_group(items, units, fill, weight) for items in kept)
    here, there = sort_units(np.stack([one.sums, other.sums]))
    return one._replace(sums=here), other._replace(sums=there)


def _count_changed(one: Group, other: Group) -> int:
    here, there = one.sums[1] > 0, other.sums[1] > 0
    crossed = one.sums[0] * other.sums[1], other.sums[0] * one.sums[1]
    return int(((here != there) | ~np.isclose(*crossed, rtol=1e-9, atol=_NOISE)).sum())


def _count_steps(one: Group, other: Group) -> tuple[int, int, float] | None:
    """Count the questions on which the second is worse and better, each time by the same step; None where by several.

    Of several samples to a question their means count.
    """
    if any(np.unique(group.sums[1]).size != 1 for group in (one, other)):
        return None
    gained = other.sums[0] / other.sums[1] - one.sums[0] / one.sums[1]
    gained[np.isclose(gained, 0, atol=1e-12)] = 0
    steps = np.unique(np.abs(gained[gained != 0]))
    if not steps.size:
        return (0, 0, 1.0) if one.shares and other.shares else None
    # Equal but for the last digits of a subtraction.
    if not np.isclose(steps[0], steps[-1], rtol=1e-9):
        return None
    return int((gained < 0).sum()), int((gained > 0).sum()), float(steps[-1])
