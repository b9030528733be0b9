"""Means and 95% bootstrap intervals over items, and the paired difference of two runs.

The percentile bootstrap over questions (Efron & Tibshirani 1993, ch. 13): questions are drawn with replacement, and
every value of a question (several samples, say) comes along. A rate over part of the items, like error correction, is a
ratio of sums in every resample. It does not correct for small samples: where all values are equal it has no width.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SEED = 2333
RESAMPLES = 2000
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
    """The paired difference of one metric: second minus first, its interval, and on how many questions it is."""

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


_KEPT = 255  # questions of which draws are kept, at a byte each: at most 0.5 MB then


def _draw(rng: np.random.RandomState, n: int) -> NDArray[np.int64]:
    """How often each of n questions is drawn in one resample."""
    return np.asarray(np.bincount(rng.randint(0, n, n), minlength=n))


@lru_cache(maxsize=256)
def _draws(n: int, resamples: int, seed: int) -> NDArray[np.uint8]:
    """How often each of n questions is drawn, as an n x resamples array."""
    rng = np.random.RandomState(seed)
    return np.stack([_draw(rng, n) for _ in range(resamples)], axis=1).astype(np.uint8)


def _resample_means(sums: NDArray[np.float64], resamples: int, seed: int) -> NDArray[np.float64]:
    """Means over resamples of n questions: from sums (k x 2 x n) of values and counts to k x resamples means.

    RandomState, because its stream is frozen for good, where a Generator's may change with NumPy. One resample after
    the other, so that memory stays with n; of few questions, as slices are, the draws are kept for the next metric.
    """
    n = sums.shape[-1]
    if n <= _KEPT:
        drawn = sums @ _draws(n, resamples, seed).astype(np.float64)
    else:
        rng = np.random.RandomState(seed)
        drawn = np.empty((*sums.shape[:-1], resamples))
        for column in range(resamples):
            drawn[..., column] = sums @ _draw(rng, n)
    with np.errstate(invalid="ignore"):
        return np.asarray(drawn[:, 0] / drawn[:, 1])


def _percentiles(values: NDArray[np.float64], level: float) -> Interval | None:
    values = values[np.isfinite(values)]
    if not values.size:
        return None
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    # Rounded, since the last digits of a matrix product depend on the machine.
    return Interval(round(float(low), 12), round(float(high), 12))


def _sums(items: Sequence[Item], questions: dict[Hashable, int], worst: float | None) -> NDArray[np.float64]:
    """Sum and number of counting values per question, as a 2 x questions array; unscored count as `worst`, if given."""
    sums = np.zeros((2, len(questions)))
    for item in items:
        value = worst if item.value is None and item.reason != NOT_APPLICABLE else item.value
        if value is not None:
            sums[:, questions[item.question]] += (value, 1)
    return sums


def _number_questions(items: Sequence[Item]) -> dict[Hashable, int]:
    return {question: i for i, question in enumerate(dict.fromkeys(item.question for item in items))}


def _choose_fill(profile: str, worst: float) -> float | None:
    """Return what an unscored item counts as under a profile, None for not at all."""
    if profile not in ("official", "corrected"):
        raise ValueError(f"profile is {profile!r}; expected 'official' or 'corrected'")
    return worst if profile == "corrected" else None


def summarise(
    items: Sequence[Item],
    *,
    profile: str = "official",
    worst: float = 0.0,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Summary:
    """Summarise one metric; see `summarise_all`."""
    return summarise_all([items], profile=profile, worst=worst, level=level, resamples=resamples, seed=seed)[0]


def summarise_all(
    columns: Sequence[Sequence[Item]],
    *,
    profile: str = "official",
    worst: float = 0.0,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[Summary]:
    """Summarise metrics over the same questions in the same order, under one profile, with one set of draws.

    Args:
        columns: of each metric all items; those without a value carry the reason.
        profile: ``official`` leaves unscored items out; ``corrected`` counts them at the metric's worst value.
        worst: that value.
        level: of the interval, in (0, 1).
        resamples: number of bootstrap resamples.
        seed: of the resampling.

    Returns:
        A summary of each metric; its interval is None where no item counts.

    Raises:
        ValueError: the profile is neither.
    """
    fill = _choose_fill(profile, worst)
    if not columns:
        return []
    questions = _number_questions(columns[0])
    if not questions:
        return [_summary(items, profile, worst, None) for items in columns]
    means = _resample_means(np.stack([_sums(items, questions, fill) for items in columns]), resamples, seed)
    intervals = [_percentiles(row, level) for row in means]
    return [_summary(items, profile, worst, both) for items, both in zip(columns, intervals, strict=True)]


def macro(
    groups: Sequence[Sequence[Sequence[Item]]],
    *,
    profile: str = "official",
    worst: float = 0.0,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[tuple[float | None, Interval | None]]:
    """Unweighted means over groups of questions, with stratified bootstrap intervals.

    Args:
        groups: of each group the columns of `summarise_all`, the same metrics in every group.
        profile: as in `summarise_all`.
        worst: as in `summarise_all`.
        level: of the intervals.
        resamples: number of bootstrap resamples; every group is drawn from by itself.
        seed: of the first group; the others count on from it.

    Returns:
        Of each metric the mean of those groups' values that have one, and its interval; None where no group has one.

    Raises:
        ValueError: the profile is neither.
    """
    fill = _choose_fill(profile, worst)
    points, drawn = [], []
    for at, columns in enumerate(groups):
        questions = _number_questions(columns[0])
        sums = np.stack([_sums(items, questions, fill) for items in columns])
        with np.errstate(invalid="ignore"):
            points.append(sums[:, 0].sum(axis=1) / sums[:, 1].sum(axis=1))
        drawn.append(_resample_means(sums, resamples, seed + at))
    if not groups:
        return []
    # A metric that a group lacks, or that a resample of it does, is left out of that mean.
    found: list[tuple[float | None, Interval | None]] = []
    for values, resampled in zip(np.stack(points).T, np.stack(drawn, axis=1), strict=True):
        there = np.isfinite(values)
        if not there.any():
            found.append((None, None))
            continue
        counts = np.isfinite(resampled).sum(axis=0)
        with np.errstate(invalid="ignore"):
            means = np.nansum(resampled, axis=0) / counts
        found.append((float(values[there].mean()), _percentiles(means, level)))
    return found


def _summary(items: Sequence[Item], profile: str, worst: float, interval: Interval | None) -> Summary:
    scored = [item.value for item in items if item.value is not None]
    reasons = Counter(item.reason or "api_error" for item in items if item.value is None)
    not_applicable = reasons.pop(NOT_APPLICABLE, 0)
    counting = len(items) - not_applicable if profile == "corrected" else len(scored)
    total = sum(scored) + worst * (counting - len(scored))
    return Summary(
        value=total / counting if counting else None,
        over_scored=sum(scored) / len(scored) if scored else None,
        interval=interval if counting else None,
        n_total=len(items),
        n_scored=len(scored),
        n_not_applicable=not_applicable,
        unscored=dict(sorted(reasons.items())),
    )


def paired_difference(
    first: Sequence[Item],
    second: Sequence[Item],
    *,
    profile: str = "official",
    worst: float = 0.0,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Pair | None:
    """Difference second - first of one metric on the questions scored in both, with its paired bootstrap interval.

    Args:
        first: items of one run.
        second: items of another run over the same questions, in any order.
        profile: as in `summarise_all`.
        worst: as in `summarise_all`.
        level: of the interval.
        resamples: number of bootstrap resamples.
        seed: of the resampling.

    Returns:
        The difference, or None where the runs do not cover the same questions or nothing counts.

    Raises:
        ValueError: the profile is neither.
    """
    fill = _choose_fill(profile, worst)
    questions = _number_questions(first)
    if {item.question for item in second} != set(questions):
        return None
    both = np.stack([_sums(items, questions, fill) for items in (first, second)])
    # A question that only one side could score would make the difference one of questions, not of runs.
    shared = (both[:, 1] > 0).all(axis=0)
    both *= shared
    values, counts = both.sum(axis=2).T
    if not counts.all():
        return None
    means = _resample_means(both, resamples, seed)
    interval = _percentiles(means[1] - means[0], level)
    points = values / counts
    return Pair(float(points[1] - points[0]), interval, int(shared.sum())) if interval else None


def spread(seconds: Sequence[float]) -> dict[str, float] | None:
    """Return the median and the 95th percentile of times, in seconds; None of none."""
    if not seconds:
        return None
    median, high = np.quantile(seconds, [0.5, 0.95])
    return {"median": round(float(median), 4), "p95": round(float(high), 4)}
