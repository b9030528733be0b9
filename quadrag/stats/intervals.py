"""How an interval is found: Wilson's for shares, the logit where shares come in clusters, the bootstrap for the rest.

Which one fits is decided in `means`; what each of them covers is measured by ``benchmarks/intervals.py``. A `level` is
in (0, 1), and every group has a value at least.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from .items import LEVEL, Group, Interval


def wilson(successes: float, n: float, level: float = LEVEL) -> Interval:
    """Return the score interval of a share (Wilson 1927), in [0, 1]; `successes` and `n` may be fractions.

    Raises ValueError unless 0 <= successes <= n and n > 0.
    """
    if not 0 <= successes <= n or n <= 0:
        raise ValueError(f"{successes} of {n}; expected a number above 0, and from 0 to so many successes")
    z = normal_quantile(level)
    share = successes / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    # At the ends the bound is the end itself, but for the last digit.
    return Interval(0.0 if share == 0 else middle - half, 1.0 if share == 1 else middle + half)


def logit_interval(share: float, error: float, df: float, level: float = LEVEL) -> Interval:
    """Return the interval of a share in (0, 1) on the scale of its logit, with Student's t (Korn & Graubard 1998)."""
    half = student_quantile(level, df) * error / (share * (1 - share))
    middle = math.log(share / (1 - share))
    low, high = (1 / (1 + math.exp(-max(-700.0, middle + side * half))) for side in (-1, 1))
    return Interval(low, high)


def share_interval(groups: Sequence[Group], level: float = LEVEL) -> tuple[Interval, str]:
    """Return the interval of a mean of 0s and 1s over groups, and its name.

    The shares of small groups are smoothed before their variances are added: towards the share of all with the weight
    of four items (as Agresti & Coull 1998 add four), which itself has four more. That gives an effective number of
    items, and on that number Wilson's interval is taken; of one group it is Wilson's own. Where units hold several
    values, the variance grows by the design effect (Kish 1965), and the logit with Student's t is taken; where that
    says nothing, since all units are alike, Wilson's over the units.
    """
    weights = _normalise(groups)
    right, n = np.array([group.sums.sum(axis=1) for group in groups]).T
    shares = right / n
    share = float(min(1.0, weights @ shares))
    smooth = (right + 4 * (right.sum() + 2) / (n.sum() + 4)) / (n + 4)
    variance = weights**2 @ (smooth * (1 - smooth) / n)
    size = (weights @ smooth) * (1 - weights @ smooth) / variance
    if all(group.single for group in groups):
        return _rounded(wilson(min(share * size, size), size, level)), "wilson"
    units = np.array([(group.sums[1] > 0).sum() for group in groups])
    several = units > 1
    known = [group for group, there in zip(groups, several, strict=True) if there]
    simple = (_normalise(known) ** 2 * (shares * (1 - shares) / n)[several]).sum()
    effect = variance_of(influences(known))
    if not effect or not simple:
        size = 1 / (weights**2 / units).sum()
        return _rounded(wilson(min(share * size, size), size, level)), "wilson"
    error = math.sqrt(share * (1 - share) / size * effect / simple)
    return _rounded(logit_interval(share, error, float((units - 1).sum()), level)), "logit"


def ends_interval(groups: Sequence[Group], low: float, high: float, level: float = LEVEL) -> tuple[Interval, str]:
    """Return the interval of a mean of values at the ends of a range, a share in another unit, and its name."""
    scaled = [
        group._replace(sums=np.stack([(group.sums[0] - low * group.sums[1]) / (high - low), group.sums[1]]))
        for group in groups
    ]
    bounds, method = share_interval(scaled, level)
    return _rounded(low + (high - low) * bound for bound in bounds), method


def alike_interval(
    groups: Sequence[Group], value: float, low: float, high: float, level: float = LEVEL
) -> tuple[Interval, str]:
    """Return the interval of a mean over groups in each of which all values are alike, and its name.

    A draw would say nothing. At the level, no more than some share of all units is another one than those seen
    (Wilson's interval of a share of all); these are taken to be at either end of the range.
    """
    bounds, method = share_interval([group._replace(sums=group.sums[[1, 1]]) for group in groups], level)
    return _rounded(bounds.low * value + (1 - bounds.low) * end for end in (low, high)), method


def graded_interval(group: Group, low: float, high: float, level: float = LEVEL) -> tuple[Interval, str] | None:
    """Return the interval of a mean of single values at the ends of a range or in its middle, and its name; else None.

    It is a difference of two shares of the same items, as truthfulness is. A grade that was not seen may still be
    there, so few values tell little, also where none is at one end.
    """
    values, middle = group.sums[0, group.sums[1] > 0], (low + high) / 2
    if not group.single or not np.isin(values, (low, middle, high)).all():
        return None
    bounds = share_difference(int((values == low).sum()), int((values == high).sum()), values.size, level)
    return _rounded(middle + (high - low) / 2 * bound for bound in bounds), "bonett-price"


def share_difference(first_only: int, second_only: int, n: int, level: float = LEVEL) -> Interval:
    """Return the interval of the difference of two shares of the same items, second minus first (Bonett & Price 2012).

    Raises ValueError where the `n` items are fewer than those that differ, or none.
    """
    if min(first_only, second_only) < 0 or n < max(1, first_only + second_only):
        raise ValueError(f"{first_only} and {second_only} of {n}; expected at most so many")
    first, second = (first_only + 1) / (n + 2), (second_only + 1) / (n + 2)
    middle = second - first
    half = normal_quantile(level) * math.sqrt((first + second - middle**2) / (n + 2))
    return Interval(max(-1.0, middle - half), min(1.0, middle + half))


def percentile(resampled: NDArray[np.float64], level: float = LEVEL) -> Interval | None:
    """Return the middle of resampled values, as wide as the level says; None where none is finite."""
    return _quantiles(resampled, (1 - level) / 2, (1 + level) / 2)


def bca(
    resampled: NDArray[np.float64],
    estimate: float,
    influence: NDArray[np.float64],
    level: float = LEVEL,
    stretch: float = 1.0,
) -> Interval | None:
    """Return the bias-corrected and accelerated interval (Efron 1987), None where no resampled value is finite.

    `influence` is each unit's on the estimate; only proportions count. By `stretch` the normal quantile grows, since
    resamples of few units vary too little (Hesterberg 2015, expanded percentiles).
    """
    resampled = resampled[np.isfinite(resampled)]
    squares = float((influence**2).sum())
    if not resampled.size or not squares:
        return percentile(resampled, level)
    # As close as the last digits of a matrix product, which depend on the machine.
    close = np.abs(resampled - estimate) <= 1e-12 * max(1.0, abs(estimate))
    below = float(((resampled < estimate) & ~close).mean() + close.mean() / 2)
    edge = 1 / (2 * resampled.size)
    normal = NormalDist()
    bias = normal.inv_cdf(min(max(below, edge), 1 - edge))
    bend = float((influence**3).sum()) / (6 * squares**1.5)
    sides = []
    for z in (-normal_quantile(level) * stretch, normal_quantile(level) * stretch):
        sides.append(normal.cdf(bias + (bias + z) / max(1e-9, 1 - bend * (bias + z))))
    return _quantiles(resampled, *sides)


def influences(groups: Sequence[Group]) -> list[NDArray[np.float64]]:
    """Return the influences of groups' units on their weighted mean: to first order, what each of them adds to it."""
    found = []
    for group, weight in zip(groups, _normalise(groups), strict=True):
        totals, counts = group.sums[:, group.sums[1] > 0]
        found.append(weight * (totals - group.mean * counts) / counts.sum())
    return found


def stretch_of(influence: Sequence[NDArray[np.float64]], level: float = LEVEL) -> float:
    """Return by how much an interval of few units is to be wider than a resample says, at least 1.

    A resample of n units varies by the factor (n - 1) / n too little, and Student's t takes the place of the normal.
    """
    drawn = sum(float((one**2).sum()) for one in influence)
    df = sum(one.size - 1 for one in influence)
    if not drawn or not df:
        return 1.0
    return student_quantile(level, df) / normal_quantile(level) * math.sqrt(variance_of(influence) / drawn)


def variance_of(influence: Sequence[NDArray[np.float64]]) -> float:
    """Return the variance of a mean over groups from its units' influences; a group of one unit has none."""
    return sum(float((one**2).sum()) * one.size / (one.size - 1) for one in influence if one.size > 1)


def normal_quantile(level: float) -> float:
    """Return how many standard errors an interval reaches to each side, for many units."""
    return NormalDist().inv_cdf((1 + level) / 2)


def student_quantile(level: float, df: float) -> float:
    """Return the same for few units, by Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + level) / 2))


def _normalise(groups: Sequence[Group]) -> NDArray[np.float64]:
    weights = np.array([group.weight for group in groups], dtype=float)
    return np.asarray(weights / weights.sum())


def _quantiles(resampled: NDArray[np.float64], low: float, high: float) -> Interval | None:
    resampled = resampled[np.isfinite(resampled)]
    return _rounded(np.quantile(resampled, [low, high])) if resampled.size else None


def _rounded(bounds: Iterable[float]) -> Interval:
    # The last digits of a matrix product depend on the machine.
    return Interval(*(round(float(bound), 12) for bound in bounds))
