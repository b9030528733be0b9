"""Two runs compared on the items that both have: the difference, its interval, a test, and how the items spread.

Single items that all differ by as much or not at all are tested by McNemar's mid-p, with the interval of Bonett &
Price; all else by sign flips, with the bootstrap's (`bca`) over pairs that are drawn anew together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .intervals import bca, influences, share_difference, stretch_of, variance_of
from .items import Group, Interval, Item, choose_fill, counted, make_group, number_units
from .resampling import DRAWS, Draws, resample_groups, sort_units
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
    spread: float  # the standard deviation of a question's difference, for `power`
    changed: int  # how many units differ
    # p adjusted by Holm's rule for all differences that are compared at once; None of one by itself, of few questions,
    # or where all values are the same
    p_holm: float | None = None

    @property
    def decisive(self) -> float:
        """The p that a verdict goes by."""
        return self.p if self.p_holm is None else self.p_holm


def paired_difference(
    first: Sequence[Item],
    second: Sequence[Item],
    *,
    profile: str = "official",
    worst: float = 0.0,
    draws: Draws = DRAWS,
) -> Pair | None:
    """Difference second - first of one metric on the questions scored in both, in any order.

    None where the runs do not cover the same questions or nothing counts; ValueError for an unknown profile.
    """
    return paired_macro([first], [second], profile=profile, worst=worst, draws=draws)


def paired_macro(
    first: Sequence[Sequence[Item]],
    second: Sequence[Sequence[Item]],
    *,
    weights: Sequence[float] | None = None,
    profile: str = "official",
    worst: float = 0.0,
    draws: Draws = DRAWS,
) -> Pair | None:
    """Difference second - first of a mean over groups, weighted or not; results and errors as of `paired_difference`.

    `weights`: of each group, at least 0; alike when None. A group without a shared question is left out.
    """
    fill = choose_fill(profile, worst)
    turned = _is_turned(first, second)
    sides = (second, first) if turned else (first, second)
    pair = _pair_sides(*sides, weights, fill, draws)
    if pair is None or not turned:
        return pair
    low, high = pair.interval
    return replace(pair, difference=0.0 - pair.difference, interval=Interval(0.0 - high, 0.0 - low))


def _is_turned(first: Sequence[Sequence[Item]], second: Sequence[Sequence[Item]]) -> bool:
    """Whether the second run is drawn as the first: swapped, two runs are to differ in sign alone."""

    def list_values(groups: Sequence[Sequence[Item]]) -> list[list[float]]:
        return [[-math.inf if item.value is None else item.value for item in group] for group in groups]

    one, other = ([sorted(values) for values in list_values(groups)] for groups in (first, second))
    if one == other:  # on other questions
        by_name = ([sorted(group, key=lambda item: repr(item.question)) for group in run] for run in (first, second))
        one, other = map(list_values, by_name)
    return one > other


def _pair_sides(
    first: Sequence[Sequence[Item]],
    second: Sequence[Sequence[Item]],
    weights: Sequence[float] | None,
    fill: float | None,
    draws: Draws,
) -> Pair | None:
    found = []
    for at, sides in enumerate(zip(first, second, strict=True)):
        group = _pair_group(*sides, fill, 1.0 if weights is None else weights[at])
        if group is None:
            return None
        if group.n and group.sides[0].weight:
            found.append(group)
    if not found:
        return None
    ones, others = ([group.sides[at] for group in found] for at in range(2))
    n = sum(group.n for group in found)
    share = [group.weight / sum(one.weight for one in ones) for group in ones]
    difference = float(sum(w * (b.mean - a.mean) for w, a, b in zip(share, ones, others, strict=True)))
    influence = [b - a for a, b in zip(influences(ones), influences(others), strict=True)]
    spread = math.sqrt(variance_of(influence) * n)
    changed = sum(_count_changed(one, other) for one, other in zip(ones, others, strict=True))
    if not changed and abs(difference) < _NOISE:
        difference = spread = 0.0
    if len(found) == 1 and (apart := found[0].apart):
        counts = apart.first, apart.second
        low, high = share_difference(*counts, n, draws.level)
        scaled = Interval(apart.step * low, apart.step * high)
        return Pair(difference, scaled, n, mcnemar(*counts).mid_p, "mcnemar", spread, changed)
    sums = [np.stack([group.sums for group in group.sides]) for group in found]
    drawn = resample_groups(sums, np.array([[w, w] for w in share]), draws)
    stretch = stretch_of(influence, draws.level)
    interval = bca(drawn[1] - drawn[0], difference, np.concatenate(influence), draws.level, stretch)
    p = sign_flips([one.sums for one in ones], [other.sums for other in others], share, seed=draws.seed)
    return Pair(difference, interval, n, p, "flips", spread, changed) if interval else None


def _count_changed(one: Group, other: Group) -> int:
    here, there = one.sums[1] > 0, other.sums[1] > 0
    crossed = one.sums[0] * other.sums[1], other.sums[0] * one.sums[1]
    return int(((here != there) | ~np.isclose(*crossed, rtol=1e-9, atol=_NOISE)).sum())


class _Apart(NamedTuple):
    """On how many single items the first is better, on how many the second, each time by the step."""

    first: int
    second: int
    step: float


class _PairedGroup(NamedTuple):
    """Both runs' values of one group by unit, on how many questions, and McNemar's numbers where they apply."""

    sides: tuple[Group, Group]
    n: int
    apart: _Apart | None


def _pair_group(
    first: Sequence[Item], second: Sequence[Item], fill: float | None, weight: float
) -> _PairedGroup | None:
    if {item.question for item in first} != {item.question for item in second}:
        return None
    # A question that only one side could score would make the difference one of questions, not of runs.
    scored = [{item.question for item in side if counted(item, fill) is not None} for side in (first, second)]
    shared = scored[0] & scored[1]
    drawn = {item.question: item.drawn for item in first if item.question in shared}
    kept = [
        [item._replace(unit=drawn[item.question]) for item in side if item.question in shared]
        for side in (first, second)
    ]
    units = number_units(kept[0])
    one, other = (make_group(items, units, fill, weight) for items in kept)
    one, other = (
        side._replace(sums=sums)
        for side, sums in zip((one, other), sort_units(np.stack([one.sums, other.sums])), strict=True)
    )
    alone = len(units) == len(shared)  # each unit is one question, of one sample or of several
    return _PairedGroup((one, other), len(shared), _count_apart(one, other) if alone else None)


def _count_apart(one: Group, other: Group) -> _Apart | None:
    """Count the questions that tell two apart, by the means of samples; None where they differ by several amounts."""
    if any(np.unique(group.sums[1]).size != 1 for group in (one, other)):
        return None
    gained = other.sums[0] / other.sums[1] - one.sums[0] / one.sums[1]
    gained[np.isclose(gained, 0, atol=1e-12)] = 0
    steps = np.unique(np.abs(gained[gained != 0]))
    if not steps.size:
        return _Apart(0, 0, 1.0) if one.shares and other.shares else None
    # Equal but for the last digits of a subtraction.
    if not np.isclose(steps[0], steps[-1], rtol=1e-9):
        return None
    return _Apart(int((gained < 0).sum()), int((gained > 0).sum()), float(steps[-1]))
