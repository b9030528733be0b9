"""Two runs compared on the items that both have: the difference, its interval, a test, and how the items spread.

Single items that all differ by as much or not at all are tested by McNemar's mid-p, with the interval of Bonett &
Price; all else by sign flips, with the bootstrap's (`bca`) over pairs that are drawn anew together.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .means import (
    SEED,
    Group,
    Interval,
    Item,
    Z,
    bca,
    choose_fill,
    counted,
    influences,
    make_group,
    number_units,
    resample,
    share_difference,
    sort_units,
    variance_of,
)

FLIPS = 10_000
_EXACT = 13  # units whose 8,192 swaps are all tried
_BLOCK = 2_000_000  # swaps held at once
_NOISE = 1e-12  # of a sum that is 0

Groups = Sequence[Sequence[Item]]


@dataclass(frozen=True, slots=True)
class Pair:
    difference: float  # second minus first
    interval: Interval  # of it
    n: int  # on how many questions it is
    p: float  # how often chance alone would make a difference at least as large
    test: str  # how p was found: ``mcnemar`` (by mid-p) or ``flips``
    spread: float  # the standard deviation of a question's difference


def paired_difference(
    first: Groups,
    second: Groups,
    *,
    weights: Sequence[float] | None = None,
    profile: str = "official",
    worst: float = 0.0,
) -> Pair | None:
    """Difference second - first of a mean over groups, of the questions scored in both, in any order.

    `weights`: of each group, at least 0; alike when None. A group without a shared question is left out.

    None where the runs do not cover the same questions or nothing counts.
    """
    fill, weights = choose_fill(profile, worst), weights or [1.0] * len(first)
    # Swapped, two runs are to differ in sign alone: the one of lower values is drawn as the first.
    if _order(first) <= _order(second):
        return _pair(first, second, weights, fill)
    pair = _pair(second, first, weights, fill)
    if pair is None:
        return None
    low, high = pair.interval
    return replace(pair, difference=0.0 - pair.difference, interval=Interval(0.0 - high, 0.0 - low))


def _order(run: Groups) -> Any:
    groups = [
        [(repr(item.question), -math.inf if item.value is None else item.value) for item in group] for group in run
    ]
    by_question = [sorted(group, key=lambda named: named[0]) for group in groups]
    return [sorted(value for _, value in group) for group in groups], [[v for _, v in group] for group in by_question]


def _pair(first: Groups, second: Groups, weights: Sequence[float], fill: float | None) -> Pair | None:
    ones: list[Group] = []
    others: list[Group] = []
    n = 0
    for one, other, weight in zip(first, second, weights, strict=True):
        if {item.question for item in one} != {item.question for item in other}:
            return None
        # A question that only one side could score would make the difference one of questions, not of runs.
        scored = [{item.question for item in side if counted(item, fill) is not None} for side in (one, other)]
        if weight and (shared := scored[0] & scored[1]):
            n += len(shared)
            here, there = _sum_both([item for item in one if item.question in shared], other, fill, weight)
            ones.append(here)
            others.append(there)
    if not ones:
        return None

    share = [group.weight / sum(one.weight for one in ones) for group in ones]
    difference = float(sum(w * (b.mean - a.mean) for w, a, b in zip(share, ones, others, strict=True)))
    influence = [b - a for a, b in zip(influences(ones), influences(others), strict=True)]
    spread = math.sqrt(variance_of(influence) * n)
    if max(abs(difference), spread) < _NOISE:
        difference = spread = 0.0

    alone = len(ones) == 1 and ones[0].sums.shape[1] == n  # each unit is one question, of one sample or of several
    if alone and (steps := _count_steps(ones[0], others[0])):
        worse, better, step = steps
        low, high = share_difference(worse, better, n)
        return Pair(difference, Interval(step * low, step * high), n, mcnemar(worse, better), "mcnemar", spread)
    both = [np.stack([a.sums, b.sums]) for a, b in zip(ones, others, strict=True)]
    drawn = resample(both, np.array([[w, w] for w in share]))
    interval = bca(drawn[1] - drawn[0], difference, influence)
    p = sign_flips([one.sums for one in ones], [other.sums for other in others], share)
    return Pair(difference, interval, n, p, "flips", spread) if interval else None


def _sum_both(first: Sequence[Item], second: Sequence[Item], fill: float | None, weight: float) -> tuple[Group, Group]:
    """Sum the items of the questions of the first over the same units in both, in the order of their values."""
    drawn, units = {item.question: item.drawn for item in first}, number_units(first)
    others = [item._replace(unit=drawn[item.question]) for item in second if item.question in drawn]
    one, other = (make_group(items, units, fill, weight) for items in (first, others))
    here, there = sort_units(np.stack([one.sums, other.sums]))
    return one._replace(sums=here), other._replace(sums=there)


def _count_steps(one: Group, other: Group) -> tuple[int, int, float] | None:
    """Count the questions on which the second is worse and better, each time by the same step; None where by several.

    Of several samples to a question their means count.
    """
    if np.ptp(one.sums[1]) or np.ptp(other.sums[1]):
        return None
    gained = other.sums[0] / other.sums[1] - one.sums[0] / one.sums[1]
    gained[np.abs(gained) <= _NOISE] = 0
    steps = np.abs(gained[gained != 0])
    if not steps.size:
        return (0, 0, 1.0) if one.shares and other.shares else None
    # Equal but for the last digits of a subtraction.
    if not np.isclose(steps.min(), steps.max(), rtol=1e-9):
        return None
    return int((gained < 0).sum()), int((gained > 0).sum()), float(steps.max())


def mcnemar(first_only: int, second_only: int) -> float:
    """Test whether two are right equally often on the same items (McNemar 1947; mid-p: Fagerland et al. 2013).

    Returns the two-sided mid-p; 1 where no item tells the two apart.
    """
    from scipy.special import bdtr

    few, n = min(first_only, second_only), first_only + second_only
    return float(bdtr(few, n, 0.5)) + (float(bdtr(few - 1, n, 0.5)) if few else 0.0)


def sign_flips(
    first: Sequence[NDArray[np.float64]],
    second: Sequence[NDArray[np.float64]],
    weights: Sequence[float],
    flips: int = FLIPS,
) -> float:
    """Test whether two have the same mean by swapping them, unit by unit, at random (Fisher 1935, ch. 21).

    `first`, `second`: of each group of items, sums and numbers of the values by unit, 2 x n, over the same units.
    `flips`: how many times all are swapped or not; of up to 13 units that differ, all ways are tried instead.

    The p value is two-sided and above 0: what was measured is one of the ways.
    """
    moved = [there - here for here, there in zip(first, second, strict=True)]
    moved = [move[:, move.any(axis=0)].T for move in moved]
    ends = np.cumsum([len(move) for move in moved])
    n = int(ends[-1])
    totals = [(here.sum(axis=1), there.sum(axis=1)) for here, there in zip(first, second, strict=True)]
    shares = np.asarray(weights, dtype=float) / sum(weights)

    def differ(swaps: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.zeros(len(swaps))
        parts = np.split(swaps, ends[:-1], axis=1)
        for part, move, (here, there), share in zip(parts, moved, totals, shares, strict=True):
            changed = part @ move
            one, other = here + changed, there - changed
            with np.errstate(invalid="ignore", divide="ignore"):
                found += share * (other[:, 0] / other[:, 1] - one[:, 0] / one[:, 1])
        return found

    measured = abs(differ(np.zeros((1, n)))[0])
    reached = sum(int((np.abs(differ(swaps)) >= measured - 1e-12).sum()) for swaps in _swaps(n, flips))
    return reached / 2**n if n <= _EXACT else (reached + 1) / (flips + 1)


def _swaps(n: int, flips: int) -> Iterator[NDArray[np.float64]]:
    if n <= _EXACT:
        yield ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
        return
    rng = np.random.RandomState(SEED)
    block, width = max(1, _BLOCK // n), -(-n // 8)
    for start in range(0, flips, block):
        rows = min(block, flips - start)
        drawn = np.frombuffer(rng.bytes(rows * width), np.uint8).reshape(rows, width)
        yield np.unpackbits(drawn, axis=1, count=n).astype(float)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p values of several tests, in their order, so that false positives are as rare as of one (Holm 1979).

    Adjusted values below 0.05 hold together at 5%.
    """
    adjusted = [0.0] * len(p_values)
    reached = 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        reached = max(reached, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = reached
    return adjusted


def detectable(spread: float, n: float, power: float = 0.8) -> float:
    """Return the smallest true difference that a test of n items at 5% finds with a power (Cohen 1988, ch. 2).

    By the normal distribution, of a mean difference whose standard deviation is `spread`.
    """
    return (Z + NormalDist().inv_cdf(power)) * spread / math.sqrt(n)
