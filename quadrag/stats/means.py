"""Means over groups of items with their 95% intervals; the mean over all items is that over one group.

An interval is Wilson's for shares, the logit where these come in clusters, the bootstrap for the rest, drawn in the
order of the values and not of the items. What each of them covers is measured by ``benchmarks/intervals.py``.
"""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SEED = 2333  # of the first group that is drawn, and of a test; the other groups count on from it
RESAMPLES = 2000
UPPER = 0.975  # the quantile that an interval reaches to
Z = NormalDist().inv_cdf(UPPER)
_KEPT = 255  # units of which draws are kept, at a byte each: at most 0.5 MB then

Ends = tuple[float | None, float | None]  # the least and the greatest value that there can be, None for no bound
SHARE: Ends = (0.0, 1.0)
NOT_APPLICABLE = "not_applicable"


class Item(NamedTuple):
    question: Hashable  # what was asked; several samples of it are several items
    value: float | None
    reason: str | None = None  # why there is no value
    unit: Hashable = None  # what hangs together with others, as a conversation; None where the question stands alone

    @property
    def drawn(self) -> Hashable:
        return self.question if self.unit is None else self.unit


class Interval(NamedTuple):
    low: float
    high: float


class Group(NamedTuple):
    weight: float  # of the group's mean, at least 0; only its share among the groups counts
    sums: NDArray[np.float64]  # sum and number of the values of each of n units, 2 x n
    shares: bool  # whether every value is at an end of its range, as 0 or 1

    @property
    def mean(self) -> float:
        """Not a number where it has no values."""
        total, count = map(math.fsum, self.sums)  # exact, so that no order of the units shows in the last digit
        return total / count if count else float("nan")

    @property
    def single(self) -> bool:
        return bool((self.sums[1] <= 1).all())


def make_group(
    items: Sequence[Item], units: Mapping[Hashable, int], fill: float | None, weight: float = 1.0, ends: Ends = SHARE
) -> Group:
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
    return {unit: i for i, unit in enumerate(dict.fromkeys(item.drawn for item in items))}


def choose_fill(profile: str, worst: float) -> float | None:
    """Return what an unscored item counts as under a profile, None for not at all."""
    return worst if profile == "corrected" else None


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


class Mean(NamedTuple):
    """A mean and its interval; all are None where nothing counts."""

    value: float | None  # under the profile
    interval: Interval | None
    method: str | None  # how the interval was found: ``wilson``, ``logit``, ``bonett-price`` or ``bca``
    over_scored: float | None = None  # the mean over the scored items alone; None of groups


def macro(
    groups: Sequence[Sequence[Sequence[Item]]],
    *,
    weights: Sequence[float] | None = None,
    profile: str = "official",
    worst: float = 0.0,
    ends: Ends = SHARE,
) -> list[Mean]:
    """Means over groups of items of each metric, with their intervals; a group without a value is left out.

    `groups`: of each group its columns: of the same metrics in every group all items, in the same order of units.
    `weights`: of each group, at least 0; where one has no value the others' grow in proportion. Alike when None.
    `profile`: ``official`` leaves unscored items out; ``corrected`` counts them at the metric's worst value.
    """
    fill = choose_fill(profile, worst)
    units = [number_units(columns[0]) for columns in groups]
    weights = weights or [1.0] * len(groups)
    table = [
        [make_group(items, here, fill, weight, ends) for items in columns]
        for columns, here, weight in zip(groups, units, weights, strict=True)
    ]
    return mean_groups(list(zip(*table, strict=True)), ends)


def mean_groups(columns: Sequence[Sequence[Group]], ends: Ends = SHARE) -> list[Mean]:
    """Means of several metrics over the same groups, whose units are the same in all, with one set of draws."""
    counting = [[group for group in groups if group.weight and group.sums[1].any()] for groups in columns]
    means = [_mean(groups, ends) if groups else Mean(None, None, None) for groups in counting]
    drawn = [at for at, mean in enumerate(means) if mean.value is not None and mean.interval is None]
    if drawn:
        sums = [
            np.stack([sort_units(group.sums) for group in groups])
            for groups in zip(*(columns[at] for at in drawn), strict=True)
        ]
        weights = np.array([[group.weight for group in columns[at]] for at in drawn], dtype=float).T
        for at, resampled in zip(drawn, resample(sums, weights), strict=True):
            interval = bca(resampled, means[at].value or 0.0, influences(counting[at]))
            means[at] = Mean(means[at].value, interval, "bca")
    return means


def _mean(groups: Sequence[Group], ends: Ends) -> Mean:
    means, weights = [group.mean for group in groups], [group.weight for group in groups]
    value = float(np.mean(means) if len(set(weights)) == 1 else np.average(means, weights=weights))
    return Mean(value, *(known_interval(groups, value, ends) or (None, None)))


def summarise(items: Sequence[Item], *, profile: str = "official", worst: float = 0.0, ends: Ends = SHARE) -> Mean:
    return summarise_all([items], profile=profile, worst=worst, ends=ends)[0]


def summarise_all(
    columns: Sequence[Sequence[Item]], *, profile: str = "official", worst: float = 0.0, ends: Ends = SHARE
) -> list[Mean]:
    """Return the means of metrics over the same questions, with one set of draws; arguments as of `macro`."""
    fill, means = choose_fill(profile, worst), []
    for items, mean in zip(columns, macro([columns], profile=profile, worst=worst, ends=ends), strict=True):
        scored = [item.value for item in items if item.value is not None]
        filled = sum(item.value is None and counted(item, fill) is not None for item in items)
        n, over = len(scored) + filled, sum(scored) / len(scored) if scored else None
        means.append(mean._replace(value=(sum(scored) + worst * filled) / n if n else None, over_scored=over))
    return means


def spread(seconds: Sequence[float]) -> dict[str, float] | None:
    """Return the median and the 95th percentile of times, in seconds; None of none."""
    if not seconds:
        return None
    median, high = np.quantile(seconds, [0.5, 0.95])
    return {"median": round(float(median), 4), "p95": round(float(high), 4)}
