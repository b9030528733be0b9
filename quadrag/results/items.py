"""Lines of ``items.jsonl``, and which scores are made of them for people: over all splits, without some questions.

A question of several splits counts once over all of them. Two runs are compared so, too.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from statistics import fmean
from typing import Any

from quadrag.benchmark import Stratum, load
from quadrag.metric_record import WEIGHTED, metric_record
from quadrag.records import Answer, Key
from quadrag.stats import NOT_APPLICABLE, Item, choose_fill, counted, summarise

from .record import RunRecord
from .run import ALL, PROFILES, UNJUDGED, Asked, Cause, Counts, Run, Score, Status, find_by_phrase

Lines = Sequence[Mapping[str, Any]]
SHORT = EMPTY, CUT = Cause.EMPTY.value, Cause.CUT.value  # of a model, which have failed
FAILED = tuple(cause.value for cause in Cause if not cause.startswith("judge"))
VERDICTS = ("unparsable", "misaligned")  # of a judge alone
_KINDS = {"empty": EMPTY, "cut": CUT}  # by their kind in `RunRecord.short`


def reason_of(entry: Mapping[str, Any], profile: str) -> str | None:
    reasons: Mapping[str, str] = entry.get("reason") or {}
    return reasons.get(profile)


def items_of(lines: Lines, metric: str, profile: str, units: Mapping[Key, str] | None = None) -> list[Item]:
    """Read the items of one metric, ``module.key``; `units` are of the questions that do not stand alone."""
    items = []
    for line in lines:
        if metric in line:
            key = (line["config"], line["split"], line["id"])
            value, why = line[metric].get(profile), reason_of(line[metric], profile)
            items.append(Item(key, value, why, (units or {}).get(key)))
    return items


def exclude(result: Run, questions: Collection[Key]) -> Run:
    """Return a run without some of its questions, with its scores over all the others.

    A score that did not run or is invalid stays as it was; one whose metric has no value for each item is left out.
    """
    lines = [line for line in result.items if (line["config"], line["split"], line["id"]) not in questions]
    units = {question: asked.unit for question, asked in result.asked.items() if asked.unit}
    rest = replace(result, items=lines)
    scores = []
    for score in result.whole():
        items = items_of(rest.lines(*score.place[:2]), score.key.name, score.profile, units)
        if not score.ran or score.status is Status.INVALID:
            scores.append(score)
        elif items:
            mean = summarise(items, profile=score.profile, worst=score.record.worst, ends=score.record.range)
            scores.append(replace(score, **mean._asdict(), counts=tally(items)))
    return replace(rest, scores=scores)


def tally(items: Sequence[Item]) -> Counts:
    """Count items by what became of them; one that has both value and reason was filled in by its metric."""
    reasons = Counter(item.reason or "api_error" for item in items if item.value is None or item.reason)
    filled = sum(item.value is not None and item.reason is not None for item in items)
    without = reasons.pop(NOT_APPLICABLE, 0)
    scored = len(items) - without - reasons.total()
    return Counts(len(items), None, scored, without, dict(sorted(reasons.items())), filled)


def counts(item: Item, profile: str) -> bool:
    return item.value is not None or (profile == "corrected" and item.reason != NOT_APPLICABLE)


def stratify(
    items: Sequence[Item], strata: Mapping[Any, Stratum], profile: str
) -> tuple[list[list[Item]], list[float]]:
    """Put items into the strata of their questions, with each stratum's weight in the mean.

    That is the mean over domains of the weighted mean over a domain's types, of those in which an item counts.
    """
    groups: dict[Stratum, list[Item]] = defaultdict(list)
    for item in items:
        groups[strata[item.question]].append(item)
    known = [stratum for stratum in sorted(groups) if any(counts(item, profile) for item in groups[stratum])]
    totals: dict[str, float] = defaultdict(float)
    for stratum in known:
        totals[stratum.domain] += stratum.weight
    domains = sum(1 for total in totals.values() if total)
    weights = [
        stratum.weight / totals[stratum.domain] / domains if totals[stratum.domain] else 0.0 for stratum in known
    ]
    return [groups[stratum] for stratum in known], weights


def find_short(answers: Iterable[Answer]) -> dict[str, str]:
    """Find the replies of a model that are ``empty``, or were ``cut`` by length, by ``config/split/id/sample``."""
    found = {}
    for answer in answers:
        cut = answer.state == "truncated" or answer.finish_reason == "length"  # before the answer began, or within it
        if cut or (answer.answer is not None and not answer.answer.strip()):
            found["/".join((*answer.key, str(answer.sample)))] = "cut" if cut else "empty"
    return found


def short_of(line: Mapping[str, Any], run: RunRecord) -> str:
    """Return why the reply of a model that a line is of has failed: it is empty or was cut; "" of others."""
    kind = run.short.get(f"{line['config']}/{line['split']}/{line['id']}/{line.get('sample', 0)}")
    return _KINDS[kind] if kind else ""


def is_ruled(entry: Mapping[str, Any], profile: str) -> bool:
    """Whether a rule, not the judge, gave an item the value that it has under a profile."""
    has_value = entry.get(profile) is not None and reason_of(entry, profile) is None
    return has_value and profile in entry.get("ruled", ())


def is_by_rule(metric: str, key: str) -> bool:
    """Whether a rule alone decides a value of a metric that asks a judge for others."""
    record = metric_record(metric)
    judged = "judge" not in record.needs and any(other.needs == "judge" for other in record.keys.values())
    return judged and not record.key(key).needs and not record.key(key).among


def read_items(result: Run) -> list[dict[str, Any]]:
    """Return a run's lines as people are shown them: under each profile with the value that an item counts as.

    One that failed, if by a reply that is empty or cut, has its reason under both profiles. Of an invalid score what
    failed counts as nothing; one that was not judged has no value of any item.
    """
    invalid, unjudged = set(), dict[tuple[str, str], dict[str, Any]]()
    for row in result.scores:
        name = row.key.name
        if row.status is Status.INVALID:
            invalid.add((row.key.config, row.key.split, name, row.profile))
        if UNJUDGED in row.counts.unscored:
            entry = {**dict.fromkeys(PROFILES), "reason": dict.fromkeys(PROFILES, UNJUDGED)}
            unjudged.setdefault((row.key.config, row.key.split), {})[name] = entry

    def read(line: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        entry, (module, _, key) = line[name], name.partition(".")
        why = reason_of(entry, "corrected")
        values, reasons = {}, {}
        for profile in PROFILES:
            reason = why if why in FAILED else reason_of(entry, profile) or short_of(line, result.record)
            if (line["config"], line["split"], name, profile) in invalid:
                values[profile] = None if reason in FAILED else entry.get(profile)
            else:
                fill = choose_fill(profile, metric_record(module).key(key).worst)
                values[profile] = counted(items_of([line], name, profile)[0], fill)
            if reason and not (reason in VERDICTS and is_by_rule(module, key)):
                reasons[profile] = reason
        kept = {field: value for field, value in entry.items() if field != "reason"}
        return {**kept, **values, **({"reason": reasons} if reasons else {})}

    return [
        {name: read(line, name) if isinstance(entry, Mapping) else entry for name, entry in line.items()}
        | unjudged.get((line["config"], line["split"]), {})
        for line in result.items
    ]


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
