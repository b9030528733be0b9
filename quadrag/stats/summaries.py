"""Metrics summarised over items: means under a profile, with their intervals."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from .intervals import percentiles
from .items import LEVEL, NOT_APPLICABLE, Interval, Item, Summary, choose_fill, number_questions, sum_items
from .resampling import RESAMPLES, SEED, resample_means


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
    fill = choose_fill(profile, worst)
    if not columns:
        return []
    questions = number_questions(columns[0])
    if not questions:
        return [_summary(items, profile, worst, None) for items in columns]
    means = resample_means(np.stack([sum_items(items, questions, fill) for items in columns]), resamples, seed)
    intervals = [percentiles(row, level) for row in means]
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
    fill = choose_fill(profile, worst)
    points, drawn = [], []
    for at, columns in enumerate(groups):
        questions = number_questions(columns[0])
        sums = np.stack([sum_items(items, questions, fill) for items in columns])
        with np.errstate(invalid="ignore"):
            points.append(sums[:, 0].sum(axis=1) / sums[:, 1].sum(axis=1))
        drawn.append(resample_means(sums, resamples, seed + at))
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
        found.append((float(values[there].mean()), percentiles(means, level)))
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


def spread(seconds: Sequence[float]) -> dict[str, float] | None:
    """Return the median and the 95th percentile of times, in seconds; None of none."""
    if not seconds:
        return None
    median, high = np.quantile(seconds, [0.5, 0.95])
    return {"median": round(float(median), 4), "p95": round(float(high), 4)}
