"""Means over groups of items with their intervals; the mean over all items is that over one group.

What no form of share fits is drawn anew, in the order of the values and not of the items.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .intervals import bca, influences, known_interval, resample, sort_units
from .items import SHARE, Ends, Group, Interval, Item, choose_fill, counted, make_group, number_units


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
    """Return the mean of one metric; see `summarise_all`."""
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
