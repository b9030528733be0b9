"""Which scores of a run are shown: its headlines, those over all splits of a config, those without some questions.

A question of several splits counts once over all of them. Two runs are compared so, too.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from statistics import fmean
from typing import Any

from quadrag.benchmark import load
from quadrag.metric_record import WEIGHTED
from quadrag.records import Key
from quadrag.stats import NOT_APPLICABLE, Item, choose_fill, counted, summarise

from .items import FAILED, items_of
from .run import ALL, Asked, Counts, Run, Score, Status, find_by_phrase

MOST = 5  # headlines of a split


def pick_headlines(scores: Sequence[Score], profile: str) -> list[Score]:
    """Pick the scores over all items that a summary shows, the most telling of each split first.

    None rests on a phrase for want of the judge on whom the metric rests: tables of papers show none of these either.
    """
    by_phrase = find_by_phrase(scores)
    rows = [row for row in scores if row.slice == ALL and row.profile == profile and row.ran]
    rows = [row for row in rows if row.place not in by_phrase]
    picked: list[Score] = []
    for (benchmark, *_), group in groupby(rows, key=lambda row: (row.key.benchmark, row.key.config, row.key.split)):
        of_split = list(group)
        by_name = {row.record.name: row for row in of_split}
        first = [by_name[name] for name in load(benchmark).headlines if name in by_name]
        picked += (first or of_split)[:MOST]
    return picked


def with_pooled(result: Run, rows: Sequence[Score], *profiles: str) -> list[Score]:
    """Return scores of a run with, before them, those of their metrics over all splits of a config.

    There is none of a metric that a split lacks, or has no value of.
    """
    return [*(pooled for profile in profiles for pooled in _pool_all(result, rows, profile)), *rows]


def _pool_all(result: Run, rows: Sequence[Score], profile: str) -> list[Score]:
    splits: dict[str, set[str]] = {}
    metrics: dict[tuple[str, str, str], list[Score]] = {}
    for row in rows:
        if row.slice != ALL or row.profile != profile:
            continue
        splits.setdefault(row.key.config, set()).add(row.key.split)
        usable = row.status not in (Status.INVALID, Status.UNTRUSTED_JUDGE) and row.value is not None
        if usable and not row.key.key.endswith(WEIGHTED) and row.record.direction != "none":
            metrics.setdefault((row.key.config, row.key.metric, row.key.key), []).append(row)
    return [
        _pool(result, in_splits, profile)
        for (config, *_), in_splits in metrics.items()
        if 1 < len(splits[config]) == len(in_splits)
    ]


def name_whole(splits: int) -> str:
    """Name all splits of a config where a split's name stands."""
    return f"all {splits} splits"


def is_whole(split: str) -> bool:
    return split.startswith("all ") and split.endswith(" splits")


def name_question(asked: Mapping[Key, Asked], place: Key) -> Any:
    """Name a question whatever its split: the same id, text and gold in another split is the same one."""
    return (place[2], asked[place].sha256) if place in asked else place


def average_samples(items: Iterable[Item], fill: float | None) -> dict[Any, float]:
    """Return what questions count as, the mean of their samples; those that do not count are left out."""
    values: dict[Any, list[float]] = {}
    for item in items:
        if (value := counted(item, fill)) is not None:
            values.setdefault(item.question, []).append(value)
    return {question: fmean(samples) for question, samples in values.items()}


def _average(result: Run, items: Iterable[Item], fill: float | None) -> dict[Any, float]:
    """Return what questions count as, whatever their splits: the mean over those in which they count."""
    values: dict[Any, list[float]] = {}
    for place, value in average_samples(items, fill).items():
        values.setdefault(name_question(result.asked, place), []).append(value)
    return {question: fmean(in_splits) for question, in_splits in values.items()}


def _pool(result: Run, rows: Sequence[Score], profile: str) -> Score:
    first = rows[0]
    record, config = first.record, first.key.config
    items = items_of([line for line in result.items if line["config"] == config], first.key.name, profile)
    fill = choose_fill(profile, record.worst)
    means = [Item(question, value) for question, value in _average(result, items, fill).items()]
    summary = summarise(means, profile=profile, worst=record.worst, ends=record.range)
    scored = _average(result, items, None)
    unreliable = any(row.status is Status.UNRELIABLE for row in rows)
    return replace(
        first,
        key=first.key._replace(split=name_whole(len(rows))),
        value=summary.value,
        interval=summary.interval,
        counts=_count(result, items, fill, len(means)),
        method=summary.method,
        over_scored=fmean(scored.values()) if scored else None,
        signature="; ".join(dict.fromkeys(row.signature for row in rows)),
        status=Status.UNRELIABLE if unreliable else Status.OK,
        reason="",
    )


def _count(result: Run, items: Sequence[Item], fill: float | None, n_scored: int) -> Counts:
    """Count questions; what has a value in no split counts once, by its first reason."""
    reasons: dict[Any, list[str | None]] = {}
    splits: dict[Any, set[str]] = {}
    for item in items:
        place: Any = item.question
        question = name_question(result.asked, place)
        reasons.setdefault(question, []).append(item.reason)
        splits.setdefault(question, set()).add(place[1])
    times = {len(each) for each in splits.values()} if all(item.value is not None for item in items) else {1}
    lost = [item.reason for item in items if item.value is None and item.reason not in (None, NOT_APPLICABLE)]
    whys = [[why for why in each if why != NOT_APPLICABLE] for each in reasons.values() if all(each)]
    return Counts(
        len(reasons),
        n_scored=n_scored,
        n_not_applicable=whys.count([]),
        unscored=Counter(map(str, lost if fill is None else [why[0] for why in whys if why])),
        n_answers=len(items),
        left_out=sum(item.value is None and item.reason in FAILED for item in items) if fill is None else 0,
        times=times.pop() if len(times) == 1 and times != {1} else 0,
    )
