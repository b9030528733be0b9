"""Lines of ``items.jsonl``: what a score takes of them, and what people are shown of them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quadrag.benchmark import Stratum
from quadrag.metric_record import metric_record
from quadrag.records import Answer, Key
from quadrag.stats import NOT_APPLICABLE, Item, choose_fill, counted, summarise

from .record import RunRecord
from .run import PROFILES, UNJUDGED, Cause, Counts, Run, Status

Lines = Sequence[Mapping[str, Any]]
SHORT = EMPTY, CUT = Cause.EMPTY.value, Cause.CUT.value  # of a model, which have failed
FAILED = tuple(cause.value for cause in Cause if not cause.startswith("judge"))
VERDICTS = ("unparsable", "misaligned")  # of a judge alone
_KINDS = {"empty": EMPTY, "cut": CUT}  # by their kind in `RunRecord.short`


def reason_of(entry: Mapping[str, Any], profile: str) -> str | None:
    """Return why a metric's entry in a line has no value of its own under a profile."""
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
    rest, scores = replace(result, items=lines), []
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
