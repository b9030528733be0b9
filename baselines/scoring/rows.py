"""The rows of ``scores.json``: over all items, over slices, and unweighted means over groups of them.

A slice is a group of questions, as ``domain=finance``. The value over all items is the metric module's own; that of a
slice, and every interval, comes from `quadrag.stats`. Nothing is judged here and no file is read.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from quadrag.metric_record import KeyRecord
from quadrag.records import Key, Question
from quadrag.stats import NOT_APPLICABLE, Item, Mean, Summary, macro, summarise_all

from ..core.benchmark import Benchmark, MetricUse
from ..core.result import Stratum
from .groups import counts, find_units, stratify

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
        for grouping in benchmark.macro
    ]
    return [(grouping, groups) for grouping, groups in named if groups]


class Measured(NamedTuple):
    """One metric under one profile, over the items of one split.

    Attributes:
        metric: whose keys they are.
        profile: ``official`` or ``corrected``.
        signature: of the module's result.
        lacking: of each key why it could not be computed, or None.
        values: the module's values over all items, by key.
    """

    metric: MetricUse
    profile: str
    signature: str
    lacking: Mapping[str, str | None]
    values: Mapping[str, Any]


def items_of(
    lines: Sequence[Mapping[str, Any]], metric: str, profile: str, units: Mapping[Key, str] | None = None
) -> list[Item]:
    """Read one metric's items from lines of ``items.jsonl``, those that have some.

    Args:
        lines: of the file.
        metric: ``module.key``.
        profile: ``official`` or ``corrected``.
        units: of the questions that do not stand alone, by their keys (`find_units`).
    """
    found = []
    for line in lines:
        if metric in line:
            key = (line["config"], line["split"], line["id"])
            value, why = line[metric].get(profile), reason_of(line[metric], profile)
            found.append(Item(key, value, why, (units or {}).get(key)))
    return found


def reason_of(entry: Mapping[str, Any], profile: str) -> str | None:
    """Return why a metric's entry in a line of ``items.jsonl`` has no value of its own under a profile."""
    reasons: Mapping[str, str] = entry.get("reason", {})
    return reasons.get(profile)


def rows_of(
    benchmark: Benchmark,
    config: str,
    split: str,
    lines: Sequence[Mapping[str, Any]],
    questions: Sequence[Question],
    measured: Sequence[Measured],
    strata: Mapping[Key, Stratum] | None = None,
) -> list[dict[str, Any]]:
    """Make the rows of ``scores.json`` of one split.

    Args:
        benchmark: whose groupings have means.
        config: of the split.
        split: its name.
        lines: of ``items.jsonl``, all of the split.
        questions: of each line, in their order.
        measured: the metrics, in the order of the rows.
        strata: of the questions, for the intervals of weighted means.
    """
    slices = slices_of(questions)
    units = find_units(questions)
    place = {"benchmark": benchmark.name, "config": config, "split": split}
    rows: list[dict[str, Any]] = []
    for one in measured:
        for name, members in slices.items():
            rows += _slice_rows({**place, "slice": name}, one, [lines[at] for at in members], units, strata or {})
        columns = {key: items_of(lines, f"{one.metric.module}.{key}", one.profile, units) for key in one.metric.keys}
        # A key that some lines alone have has no groups to speak of.
        whole = {key: items for key, items in columns.items() if len(items) == len(lines)}
        for grouping, groups in groupings(benchmark, slices):
            grouped = {key: [[items[at] for at in group] for group in groups] for key, items in whole.items()}
            rows += _macro_rows({**place, "slice": f"macro:{grouping}"}, one, grouped)
    return rows


def _slice_rows(
    place: Mapping[str, Any],
    one: Measured,
    lines: Sequence[Mapping[str, Any]],
    units: Mapping[Key, str],
    strata: Mapping[Key, Stratum],
) -> list[dict[str, Any]]:
    """Make the rows of one metric, profile and slice.

    The value of all items is the module's; that of a slice, and every interval, is of the mean over its items. A mean
    that is weighted by groups has no value an item, and is there for all items alone; its interval is by its strata.
    """
    metric, whole = one.metric, place["slice"] == ALL
    columns = {key: items_of(lines, f"{metric.module}.{key}", one.profile, units) for key in metric.keys}
    itemised = [key for key, items in columns.items() if len(items) == len(lines)]
    found: dict[str, dict[str, Any]] = {}
    for keys in _by_scale(metric, itemised):
        found |= zip(keys, summaries([columns[k] for k in keys], one.profile, metric.record(keys[0])), strict=True)
    for key, row in found.items():
        name = f"{metric.module}.{key}"
        row |= _count_ruled([line[name] for line in lines if name in line], one.profile)
    values = one.values
    made = []
    for key in metric.keys:
        if key in found:
            entry = found[key] | ({"value": values[key]} if whole and key in values else {})
        elif key in values:
            if not whole:
                continue
            weighed = key.removesuffix("_weighted")
            entry = {**found.get(weighed, {"n_total": len(lines)}), "value": values[key], "over_scored": None}
            entry |= _weigh(columns.get(weighed, []), strata, one.profile, metric.record(weighed))
        else:
            entry = not_run(one.lacking[key] or "no references", len(lines))
        made.append(_row(place, one, key, entry))
    return made


def _count_ruled(entries: Sequence[Mapping[str, Any]], profile: str) -> dict[str, int]:
    """Count the items that are scored by a rule, where a judge was there to be asked about the others."""
    ruled = sum(
        entry.get(profile) is not None and profile in entry.get("ruled", ()) and profile not in entry.get("reason", {})
        for entry in entries
    )
    return {"n_ruled": ruled} if ruled else {}


def _weigh(items: Sequence[Item], strata: Mapping[Key, Stratum], profile: str, record: KeyRecord) -> dict[str, Any]:
    """Find the interval of a weighted mean; None where the strata are not known."""
    if not items or not strata:
        return {"interval": None}
    groups, weights = stratify(items, strata, profile)
    found = macro(
        [[group] for group in groups], weights=weights, profile=profile, worst=record.worst, ends=record.range
    )
    return _interval(found[0]) if found else {"interval": None}


def _interval(mean: Mean | Summary) -> dict[str, Any]:
    return {"interval": list(mean.interval), "method": mean.method} if mean.interval else {"interval": None}


def _by_scale(metric: MetricUse, keys: Iterable[str]) -> list[list[str]]:
    """Put keys together that have one range, and whose unscored items count alike."""
    found: dict[Any, list[str]] = {}
    for key in keys:
        record = metric.record(key)
        found.setdefault((record.worst, record.range), []).append(key)
    return list(found.values())


def _row(place: Mapping[str, Any], one: Measured, key: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    head = {**place, "metric": one.metric.module, "key": key, "profile": one.profile}
    return {**head, **entry, "signature": one.signature}


def not_run(why: str, n: int) -> dict[str, Any]:
    """Make the entry of a key that could not be computed over n items, and say why."""
    return {"value": None, "interval": None, "not_run": why, "n_total": n}


def summaries(columns: Sequence[Sequence[Item]], profile: str, record: KeyRecord) -> list[dict[str, Any]]:
    """Summarise values of the same items, of keys on the scale of a record.

    An item that has both value and reason was filled in by its metric.
    """
    found = []
    made = summarise_all(columns, profile=profile, worst=record.worst, ends=record.range)
    for items, summary in zip(columns, made, strict=True):
        filled = Counter(item.reason for item in items if item.value is not None and item.reason)
        unscored = Counter(summary.unscored) + filled
        entry = _entry(summary) | {"n_scored": summary.n_scored - filled.total()}
        entry |= {"unscored": dict(sorted(unscored.items()))} | ({"n_filled": filled.total()} if filled else {})
        found.append(entry)
    return found


def _entry(summary: Summary) -> dict[str, Any]:
    return {
        "value": summary.value,
        **_interval(summary),
        "over_scored": summary.over_scored,
        "n_total": summary.n_total,
        "n_scored": summary.n_scored,
        "n_not_applicable": summary.n_not_applicable,
        "unscored": summary.unscored,
    }


def _macro_rows(
    place: Mapping[str, Any], one: Measured, columns: Mapping[str, Sequence[Sequence[Item]]]
) -> list[dict[str, Any]]:
    """Make the rows of the means over groups, which count alike whatever their size; `columns` are items by group."""
    means: dict[str, Mean] = {}
    for keys in _by_scale(one.metric, columns):
        stacked = list(zip(*(columns[key] for key in keys), strict=True))
        record = one.metric.record(keys[0])
        found = macro(stacked, profile=one.profile, worst=record.worst, ends=record.range)
        means |= dict(zip(keys, found, strict=bool(stacked)))
    made = []
    for key, mean in means.items():
        items = [item for column in columns[key] for item in column]
        reasons = Counter(item.reason or "api_error" for item in items if item.value is None or item.reason)
        without = reasons.pop(NOT_APPLICABLE, 0)
        entry = {
            "value": mean.value,
            **_interval(mean),
            "n_groups": sum(any(counts(item, one.profile) for item in column) for column in columns[key]),
            "n_total": len(items),
            "n_scored": len(items) - without - reasons.total(),
            "n_not_applicable": without,
            "unscored": dict(sorted(reasons.items())),
        }
        made.append(_row(place, one, key, entry))
    return made
