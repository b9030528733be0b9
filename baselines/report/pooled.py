"""A metric of one run over all splits of its config together: a question of several splits counts once.

Two runs are compared so, too (`compared/paired/overall.py`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from quadrag.metric_record import metric_record
from quadrag.records import Key
from quadrag.stats import NOT_APPLICABLE, Item, summarise
from quadrag.stats.items import choose_fill, counted

from ..results.items import FAILED, items_of
from ..results.run import Asked, Result
from ..results.score import Counts, Score, Status
from ..tables.names import name_whole

WEIGHTED = "_weighted"  # at the end of a key whose questions do not count alike


def name_question(asked: Mapping[Key, Asked], place: Key) -> Any:
    """Name a question whatever its split: the same id, text and gold in another split is the same one."""
    return (place[2], asked[place].sha256) if place in asked else place


def average_samples(items: Iterable[Item], fill: float | None) -> dict[Any, float]:
    """Return what questions count as, the mean of their samples; those that do not count are left out."""
    values: dict[Any, list[float]] = {}
    for item in items:
        if (value := counted(item, fill)) is not None:
            values.setdefault(item.question, []).append(value)
    return {question: fmean(one) for question, one in values.items()}


def pool_rows(result: Result, rows: Sequence[Score], profile: str) -> list[Score]:
    """Make rows, like those of ``scores.json``, of the metrics that all splits of a config have over all of them.

    Args:
        result: of a run.
        rows: of its splits.
        profile: ``official`` or ``corrected``.

    Returns:
        [] of a config of one split. What is of no split is counted once, by its first reason. ``times`` says in how
        many splits each question has a value, where that is the same for all.
    """
    splits: dict[str, set[str]] = {}
    metrics: dict[tuple[str, str, str], list[Score]] = {}
    for row in rows:
        splits.setdefault(row.key.config, set()).add(row.key.split)
        if not (
            row.status is Status.INVALID
            or row.status is Status.UNTRUSTED_JUDGE
            or row.key.key.endswith(WEIGHTED)
            or row.value is None
        ):
            metrics.setdefault((row.key.config, row.key.metric, row.key.key), []).append(row)
    return [
        _pool(result, here, profile)
        for (config, metric, key), here in metrics.items()
        if 1 < len(splits[config]) == len(here) and metric_record(metric).key(key).direction != "none"
    ]


def pool_profiles(result: Result, rows: Sequence[Score]) -> list[Score]:
    """Make such rows of the rows of any profiles."""
    profiles = dict.fromkeys(row.profile for row in rows)
    return [
        whole
        for profile in profiles
        for whole in pool_rows(result, [row for row in rows if row.profile == profile], profile)
    ]


def _average(result: Result, items: Iterable[Item], fill: float | None) -> dict[Any, float]:
    """Return what questions count as, whatever their splits: the mean over those in which they count."""
    values: dict[Any, list[float]] = {}
    for place, value in average_samples(items, fill).items():
        values.setdefault(name_question(result.asked, place), []).append(value)
    return {question: fmean(one) for question, one in values.items()}


def _count_failed(items: Sequence[Item]) -> Counter[str]:
    """Count the items without a value, by their reason, but for those to which a metric does not apply."""
    reasons = (item.reason for item in items if item.value is None and item.reason not in (None, NOT_APPLICABLE))
    return Counter(reason for reason in reasons if reason)


def _pool(result: Result, rows: Sequence[Score], profile: str) -> Score:
    first = rows[0]
    record, name, config = first.record, first.key.name, first.key.config
    items = items_of([line for line in result.items if line["config"] == config], name, profile)
    fill = choose_fill(profile, record.worst)
    means = [Item(question, value) for question, value in _average(result, items, fill).items()]
    failed = sum(item.value is None and item.reason in FAILED for item in items)
    found = summarise(means, profile=profile, worst=record.worst, ends=record.range)
    asked: dict[Any, list[str | None]] = {}
    splits: dict[Any, set[str]] = {}
    for item in items:
        at: Any = item.question
        question = name_question(result.asked, at)
        asked.setdefault(question, []).append(item.reason)
        splits.setdefault(question, set()).add(at[1])
    times = {len(each) for each in splits.values()} if all(item.value is not None for item in items) else {1}
    whys = [[why for why in reasons if why != NOT_APPLICABLE] for reasons in asked.values() if all(reasons)]
    counts = Counts(
        len(asked),
        n_scored=len(means),
        n_not_applicable=whys.count([]),
        unscored=Counter(str(why[0]) for why in whys if why) if fill is not None else _count_failed(items),
        n_splits=len(rows),
        n_answers=len(items),
        left_out=0 if fill is not None else failed,
        times=times.pop() if len(times) == 1 and times != {1} else 0,
    )
    unreliable = any(row.status is Status.UNRELIABLE for row in rows)
    return replace(
        first,
        key=first.key._replace(split=name_whole(len(rows))),
        value=found.value,
        interval=found.interval,
        counts=counts,
        method=found.method,
        over_scored=fmean(scored.values()) if (scored := _average(result, items, None)) else None,
        signature="; ".join(dict.fromkeys(row.signature for row in rows)),
        status=Status.UNRELIABLE if unreliable else Status.OK,
        reason="",
    )
