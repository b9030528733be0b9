"""The rows of ``scores.json``: over all items, over slices, and unweighted means over groups of them.

A slice is a group of questions, as ``domain=finance``. The value over all items is the metric module's own; that of a
slice, and every interval, comes from `quadrag.stats`. Nothing is judged here and no file is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from quadrag.records import Question
from quadrag.stats import NOT_APPLICABLE, Interval, Item, Summary, macro, summarise_all

from .benchmark import Benchmark, Metric

ALL = "all"  # the slice that holds every item


def slices_of(questions: Sequence[Question]) -> dict[str, list[int]]:
    """Return the members of every slice by their places, all of them first; ``domain=finance`` is a slice's name."""
    found: dict[str, list[int]] = {}
    for at, question in enumerate(questions):
        for name, value in question.slices.items():
            found.setdefault(f"{name}={value}", []).append(at)
    order = {name: rank for rank, name in enumerate(questions[0].slices)} if questions else {}
    names = sorted(found, key=lambda name: (order.get(name.partition("=")[0], len(order)), name))
    return {ALL: list(range(len(questions)))} | {name: found[name] for name in names}


def groupings(benchmark: Benchmark, slices: Mapping[str, list[int]]) -> list[tuple[str, list[list[int]]]]:
    """Return the groupings over which an unweighted mean is taken, with the places of each group's items."""
    named = [
        (grouping, [at for name, at in slices.items() if name.startswith(f"{grouping}=")])
        for grouping in benchmark.MACRO
    ]
    return [(grouping, groups) for grouping, groups in named if groups]


def not_run(why: str, n: int) -> dict[str, Any]:
    """Make the entry of a key that could not be computed over n items, and say why."""
    return {"value": None, "interval": None, "not_run": why, "n_total": n}


def summaries(columns: Sequence[Sequence[Item]], profile: str, worst: float = 0.0) -> list[dict[str, Any]]:
    """Summarise values of the same items; an item that has both value and reason was filled in by its metric."""
    found = []
    for items, summary in zip(columns, summarise_all(columns, profile=profile, worst=worst), strict=True):
        filled = Counter(item.reason for item in items if item.value is not None and item.reason)
        unscored = Counter(summary.unscored) + filled
        entry = _entry(summary) | {"n_scored": summary.n_scored - filled.total()}
        entry |= {"unscored": dict(sorted(unscored.items()))} | ({"n_filled": filled.total()} if filled else {})
        found.append(entry)
    return found


def _entry(summary: Summary) -> dict[str, Any]:
    return {
        "value": summary.value,
        "interval": list(summary.interval) if summary.interval else None,
        "over_scored": summary.over_scored,
        "n_total": summary.n_total,
        "n_scored": summary.n_scored,
        "n_not_applicable": summary.n_not_applicable,
        "unscored": summary.unscored,
    }


def rows_of(
    place: Mapping[str, Any],
    metric: Metric,
    profile: str,
    result: Mapping[str, Any],
    rows: Sequence[tuple[str, Mapping[str, Any]]],
    lacks: Mapping[str, str | None],
) -> list[dict[str, Any]]:
    """Make the rows of ``scores.json`` of one metric, profile and slice.

    The value of all items is the module's; that of a slice, and every interval, is the mean over its items. What has no
    value an item, as a mean weighted by groups, is there for all items alone and without an interval.

    Args:
        place: benchmark, config, split and slice.
        metric: whose keys they are.
        profile: as in `summarise`.
        result: what the module returned over all items.
        rows: of each item of the slice the question, which is what is drawn, and the module's row.
        lacks: of each key what it needs and does not have, or None.
    """
    signature = {"signature": result["signature"]}
    run = [key for key in metric.keys if key in result and not lacks[key]]
    itemised = [key for key in run if all(key in line for _, line in rows)]
    columns = [[Item(ident, line[key], line["reasons"].get(key)) for ident, line in rows] for key in itemised]
    found: dict[str, dict[str, Any]] = {}
    for worst in sorted({metric.worst.get(key, 0.0) for key in itemised}):
        alike = [at for at, key in enumerate(itemised) if metric.worst.get(key, 0.0) == worst]
        entries = summaries([columns[at] for at in alike], profile, worst)
        found |= {itemised[at]: entry for at, entry in zip(alike, entries, strict=True)}
    whole = place["slice"] == ALL
    made = []
    for key in metric.keys:
        if key in found:
            value = {"value": result[key]} if whole else {}
            entry = found[key] | value
        elif key in run:
            if not whole:
                continue
            # Over the items of the key that it weighs; no interval, since a resample may lack a group.
            entry = {**found.get(key.removesuffix("_weighted"), {"n_total": len(rows)})}
            entry |= {"value": result[key], "interval": None, "over_scored": None}
        else:
            entry = not_run(lacks[key] or "no references", len(rows))
        made.append({**place, "metric": metric.module, "key": key, "profile": profile} | entry | signature)
    return made


def _counts(item: Item, profile: str) -> bool:
    """Whether an item has a say in a mean."""
    return item.value is not None or (profile == "corrected" and item.reason != NOT_APPLICABLE)


def macro_rows(
    place: Mapping[str, Any],
    metric: Metric,
    profile: str,
    signature: str,
    columns: Mapping[str, Sequence[Sequence[Item]]],
) -> list[dict[str, Any]]:
    """Make the rows of the means over groups, which count alike whatever their size.

    Args:
        place: benchmark, config, split and slice.
        metric: whose keys they are.
        profile: as in `summarise`.
        signature: of the metric's result.
        columns: the items of each group, by key; the same groups for every key.
    """
    means: dict[str, tuple[float | None, Interval | None]] = {}
    for worst in sorted({metric.worst.get(key, 0.0) for key in columns}):
        alike = [key for key in columns if metric.worst.get(key, 0.0) == worst]
        stacked = list(zip(*(columns[key] for key in alike), strict=True))
        means |= dict(zip(alike, macro(stacked, profile=profile, worst=worst), strict=bool(stacked)))
    made = []
    for key, (value, interval) in means.items():
        items = [item for column in columns[key] for item in column]
        reasons = Counter(item.reason or "api_error" for item in items if item.value is None or item.reason)
        without = reasons.pop(NOT_APPLICABLE, 0)
        entry = {
            "value": value,
            "interval": list(interval) if interval else None,
            "n_groups": sum(any(_counts(item, profile) for item in column) for column in columns[key]),
            "n_total": len(items),
            "n_scored": len(items) - without - reasons.total(),
            "n_not_applicable": without,
            "unscored": dict(sorted(reasons.items())),
        }
        made.append(
            {**place, "metric": metric.module, "key": key, "profile": profile} | entry | {"signature": signature}
        )
    return made
