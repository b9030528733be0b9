"""95% intervals: Wilson's for shares, the logit where shares come in clusters, the bootstrap for the rest.

Which one fits is decided here; what each of them covers is measured by ``benchmarks/intervals.py``.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from .items import Ends, Group, Interval

SEED = 2333  # of the first group that is drawn, and of a test; the other groups count on from it
RESAMPLES = 2000
UPPER = 0.975  # the quantile that an interval reaches to
Z = NormalDist().inv_cdf(UPPER)
_KEPT = 255  # units of which draws are kept, at a byte each: at most 0.5 MB then


def wilson(successes: float, n: float) -> Interval:
    """Return the score interval of a share (Wilson 1927), in [0, 1]; `successes` and `n` > 0 may be fractions."""
    share = successes / n
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * (share * (1 - share) / n + Z * Z / (4 * n * n)) ** 0.5
    # At the ends the bound is the end itself, but for the last digit.
    return Interval(0.0 if share == 0 else middle - half, 1.0 if share == 1 else middle + half)


def share_difference(first_only: int, second_only: int, n: int) -> Interval:
    """Return the interval of the difference of two shares of n items, second minus first (Bonett & Price 2012)."""
    first, second = (first_only + 1) / (n + 2), (second_only + 1) / (n + 2)
    middle = second - first
    half = Z * math.sqrt((first + second - middle**2) / (n + 2))
    return Interval(max(-1.0, middle - half), min(1.0, middle + half))


def known_interval(groups: Sequence[Group], value: float, ends: Ends) -> tuple[Interval, str] | None:
    """Return the interval of a weighted mean over groups, and its name; None where it has to be drawn."""
    low, high = ends
    if low is None or high is None:
        return None
    if all(group.shares for group in groups):
        scaled = [np.stack([(group.sums[0] - low * group.sums[1]) / (high - low), group.sums[1]]) for group in groups]
        bounds, method = _share_interval([one._replace(sums=sums) for one, sums in zip(groups, scaled, strict=True)])
        return _rounded(low + (high - low) * bound for bound in bounds), method
    if low <= value <= high and all(np.isclose(g.sums[0], g.mean * g.sums[1], 1e-12, 1e-12).all() for g in groups):
        # All units are alike, so a draw would say nothing. No more than some share of all units is another one than
        # those seen (Wilson's interval of a share of all); these are taken to be at either end of the range.
        (seen, _), method = _share_interval([group._replace(sums=group.sums[[1, 1]]) for group in groups])
        return _rounded(seen * value + (1 - seen) * end for end in (low, high)), method
    middle, values = (low + high) / 2, groups[0].sums[0, groups[0].sums[1] > 0]
    if len(groups) == 1 and groups[0].single and np.isin(values, (low, middle, high)).all():
        # A difference of two shares of the same items, as truthfulness is. A grade that was not seen may be there.
        bounds = share_difference(int((values == low).sum()), int((values == high).sum()), values.size)
        return _rounded(middle + (high - low) / 2 * bound for bound in bounds), "bonett-price"
    return None


def _share_interval(groups: Sequence[Group]) -> tuple[Interval, str]:
    """Return the interval of a mean of 0s and 1s over groups, and its name.

    The shares of small groups are smoothed before their variances are added: towards the share of all with the weight
    of four items (as Agresti & Coull 1998 add four), which itself has four more. That gives an effective number of
    items, and on that number Wilson's interval is taken; of one group it is Wilson's own. Where units hold several
    values, the variance grows by the design effect (Kish 1965), and the interval is that on the scale of the logit,
    with Student's t (Korn & Graubard 1998); where that says nothing, since all units are alike, Wilson's over the
    units.
    """
    weights = _normalise(groups)
    right, n = np.array([group.sums.sum(axis=1) for group in groups]).T
    shares = right / n
    share = float(min(1.0, weights @ shares))
    smooth = (right + 4 * (right.sum() + 2) / (n.sum() + 4)) / (n + 4)
    variance = weights**2 @ (smooth * (1 - smooth) / n)
    size = (weights @ smooth) * (1 - weights @ smooth) / variance
    if all(group.single for group in groups):
        return _rounded(wilson(min(share * size, size), size)), "wilson"
    units = np.array([(group.sums[1] > 0).sum() for group in groups])
    several = units > 1
    known = [group for group, there in zip(groups, several, strict=True) if there]
    simple = (_normalise(known) ** 2 * (shares * (1 - shares) / n)[several]).sum()
    effect = variance_of(influences(known))
    if not effect or not simple:
        size = 1 / (weights**2 / units).sum()
        return _rounded(wilson(min(share * size, size), size)), "wilson"
    error = math.sqrt(share * (1 - share) / size * effect / simple)
    half = _student(float((units - 1).sum())) * error / (share * (1 - share))
    middle = math.log(share / (1 - share))
    return _rounded(1 / (1 + math.exp(-max(-700.0, middle + side * half))) for side in (-1, 1)), "logit"


def resample(sums: Sequence[NDArray[np.float64]], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Draw the units of each group anew, with replacement (Efron & Tibshirani 1993, ch. 13).

    From sums and numbers of k values by unit (k x 2 x units of each group) and weights (groups x k) to weighted means,
    k x resamples. A rate over part of the items is a ratio of sums in every resample.
    """
    total = np.zeros((weights.shape[1], RESAMPLES))
    present = np.zeros_like(total)
    for at, (group, weight) in enumerate(zip(sums, weights, strict=True)):
        n = group.shape[-1]
        if n <= _KEPT:
            drawn = group @ _kept_draws(n, SEED + at)
        else:
            drawn = np.stack([group @ times for times in _draws(n, SEED + at)], axis=-1)
        with np.errstate(invalid="ignore"):
            means = drawn[:, 0] / drawn[:, 1]
        # A group that a resample has no value of is left out of that mean.
        there = np.isfinite(means)
        total += weight[:, None] * np.where(there, means, 0.0)
        present += weight[:, None] * there
    with np.errstate(invalid="ignore"):
        return np.asarray(total / present)


def _draws(n: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield how often each of n units is drawn, resample by resample, so that memory stays with n."""
    rng = np.random.RandomState(seed)  # whose stream is frozen for good
    for _ in range(RESAMPLES):
        yield np.bincount(rng.randint(0, n, n, dtype=np.min_scalar_type(n)), minlength=n)


@lru_cache(maxsize=256)
def _kept_draws(n: int, seed: int) -> NDArray[np.uint8]:
    return np.stack([*_draws(n, seed)], axis=1).astype(np.uint8)


def sort_units(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bring n units, the last axis, into the order of their values, so that what is drawn depends on these alone."""
    return np.asarray(sums[..., np.lexsort(sums.reshape(-1, sums.shape[-1]))])


def bca(resampled: NDArray[np.float64], estimate: float, influence: Sequence[NDArray[np.float64]]) -> Interval | None:
    """Return the bias-corrected and accelerated interval (Efron 1987), None where no resampled value is finite.

    `influence` is each unit's on the estimate, by group. By them the normal quantile is stretched, since resamples of
    few units vary too little, by the factor (n - 1) / n, and Student's t takes the place of the normal (Hesterberg
    2015, expanded percentiles).
    """
    resampled = resampled[np.isfinite(resampled)]
    if not resampled.size:
        return None
    units, several = np.concatenate(influence), [group for group in influence if group.size > 1]
    squares, spread = float((units**2).sum()), sum(float((group**2).sum()) for group in several)
    if not squares:
        return _rounded(np.quantile(resampled, [1 - UPPER, UPPER]))
    # As close as the last digits of a matrix product, which depend on the machine.
    close = np.abs(resampled - estimate) <= 1e-12 * max(1.0, abs(estimate))
    below = float(((resampled < estimate) & ~close).mean() + close.mean() / 2)
    edge = 1 / (2 * resampled.size)
    normal = NormalDist()
    bias = normal.inv_cdf(min(max(below, edge), 1 - edge))
    bend = float((units**3).sum()) / (6 * squares**1.5)
    df = sum(group.size - 1 for group in several)
    reach = _student(df) * math.sqrt(variance_of(several) / spread) if spread else Z
    sides = [normal.cdf(bias + (bias + z) / max(1e-9, 1 - bend * (bias + z))) for z in (-reach, reach)]
    return _rounded(np.quantile(resampled, sides))


def influences(groups: Sequence[Group]) -> list[NDArray[np.float64]]:
    """Return the influences of groups' units on their weighted mean: to first order, what each of them adds to it."""
    parts = []
    for group, weight in zip(groups, _normalise(groups), strict=True):
        totals, counts = group.sums[:, group.sums[1] > 0]
        parts.append(weight * (totals - group.mean * counts) / counts.sum())
    return parts


def variance_of(influence: Iterable[NDArray[np.float64]]) -> float:
    """Return the variance of a mean from its units' influences, group by group; a group of one adds nothing."""
    return sum(float((group**2).sum()) * group.size / (group.size - 1) for group in influence if group.size > 1)


def _student(df: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(df, UPPER))


def _normalise(groups: Sequence[Group]) -> NDArray[np.float64]:
    weights = np.array([group.weight for group in groups], dtype=float)
    return np.asarray(weights / weights.sum())


def _rounded(bounds: Iterable[float]) -> Interval:
    # The last digits of a matrix product depend on the machine.
    return Interval(*(round(float(bound), 12) for bound in bounds))
