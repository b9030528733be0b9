"""Metrics summarised over items: means under a profile, with their intervals."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .items import NOT_APPLICABLE, SHARE, Ends, Interval, Item, choose_fill, make_group, number_units
from .means import Mean, mean_groups
from .resampling import DRAWS, Draws


@dataclass(frozen=True, slots=True)
class Summary:
    """A metric over a set of items.

    `value` is the mean under the profile, `over_scored` the mean over the scored items alone, `interval` that of the
    value and `method` how it was found (`Mean`); all are None where nothing counts.
    ``n_total == n_scored + n_not_applicable + sum(unscored.values())``.
    """

    value: float | None
    over_scored: float | None
    interval: Interval | None
    method: str | None
    n_total: int
    n_scored: int
    n_not_applicable: int
    unscored: dict[str, int]


def summarise(
    items: Sequence[Item],
    *,
    profile: str = "official",
    worst: float = 0.0,
    ends: Ends = SHARE,
    draws: Draws = DRAWS,
) -> Summary:
    """Summarise one metric; see `summarise_all`."""
    return summarise_all([items], profile=profile, worst=worst, ends=ends, draws=draws)[0]


def summarise_all(
    columns: Sequence[Sequence[Item]],
    *,
    profile: str = "official",
    worst: float = 0.0,
    ends: Ends = SHARE,
    draws: Draws = DRAWS,
) -> list[Summary]:
    """Summarise metrics over the same questions, under one profile, with one set of draws.

    `columns`: of each metric all items; those without a value carry the reason.
    `profile`: ``official`` leaves unscored items out; ``corrected`` counts them at the metric's worst value.

    Returns:
        A summary of each metric; its interval is None where no item counts.

    Raises:
        ValueError: the profile is neither.
    """
    fill = choose_fill(profile, worst)
    units = number_units(columns[0]) if columns else {}
    means = mean_groups([[make_group(items, units, fill, ends=ends)] for items in columns], draws, ends)
    return [_summary(items, profile, worst, mean) for items, mean in zip(columns, means, strict=True)]


def _summary(items: Sequence[Item], profile: str, worst: float, mean: Mean) -> Summary:
    scored = [item.value for item in items if item.value is not None]
    reasons = Counter(item.reason or "api_error" for item in items if item.value is None)
    not_applicable = reasons.pop(NOT_APPLICABLE, 0)
    counting = len(items) - not_applicable if profile == "corrected" else len(scored)
    total = sum(scored) + worst * (counting - len(scored))
    return Summary(
        value=total / counting if counting else None,
        over_scored=sum(scored) / len(scored) if scored else None,
        interval=mean.interval,
        method=mean.method,
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
