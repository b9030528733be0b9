"""The scores of a split: over all items, over slices, and unweighted means over groups of them.

A slice is a group of questions, as ``domain=finance``. The value over all items is the metric module's own; that of a
slice, and every interval, comes from `quadrag.stats`, by questions that belong together. Nothing is judged here.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from quadrag.benchmark import Benchmark, MetricUse, Stratum
from quadrag.records import Key, Question
from quadrag.results.items import Lines, counts, is_ruled, items_of, stratify, tally
from quadrag.results.score import ALL, Counts, Score, ScoreKey, Status
from quadrag.stats import Item, Mean, macro, summarise_all


class Measured(NamedTuple):
    """One metric under one profile, over the items of one split."""

    metric: MetricUse
    profile: str
    signature: str
    lacking: Mapping[str, str | None]  # of each key why it could not be computed
    values: Mapping[str, Any]  # the metric's own over all items, by key

    def scale(self, key: str) -> dict[str, Any]:
        """Return how means of a key are taken: under which profile, of values in which range."""
        record = self.metric.record(key)
        return {"profile": self.profile, "worst": record.worst, "ends": record.range}


Found = dict[tuple[str, str], tuple[Mean, Counts]]  # by slice, or grouping, and key


def score_split(
    benchmark: Benchmark,
    config: str,
    split: str,
    lines: Lines,
    questions: Sequence[Question],
    measured: Sequence[Measured],
    strata: Mapping[Key, Stratum] | None = None,
) -> list[Score]:
    """Make the scores of one split, from its lines of ``items.jsonl`` and the question of each."""
    slices, units = slices_of(questions), find_units(questions)
    groupings = {
        f"macro:{name}": groups
        for name in benchmark.macro
        if (groups := [members for part, members in slices.items() if part.startswith(f"{name}=")])
    }
    scores: list[Score] = []
    for given in measured:
        found = _measure(given, lines, units, slices, groupings)
        for key in given.values.keys() - {key for _, key in found}:
            # A mean that is weighted by groups has no value an item, and is there for all items alone.
            plain = key.removesuffix("_weighted")
            counts_of_plain = found[ALL, plain][1] if (ALL, plain) in found else Counts(len(lines))
            found[ALL, key] = _weigh(given, plain, lines, units, strata or {}), counts_of_plain
        for part in (*slices, *groupings):
            for key in given.metric.keys:
                place = (ScoreKey(benchmark.name, config, split, given.metric.module, key), given.profile, part)
                if (part, key) in found:
                    mean, n = found[part, key]
                    value = given.values.get(key, mean.value) if part == ALL else mean.value
                    method, over_scored = mean.method if mean.interval else None, mean.over_scored
                    scores.append(Score(*place, value, mean.interval, n, given.signature, method, over_scored))
                elif part in slices and key not in given.values:
                    why, n = given.lacking[key] or "no references", Counts(len(slices[part]))
                    score = Score(*place, None, None, n, given.signature)
                    scores.append(replace(score, status=Status.NOT_RUN, reason=why))
    return scores


def _measure(
    given: Measured,
    lines: Lines,
    units: Mapping[Key, str],
    slices: Mapping[str, Sequence[int]],
    groupings: Mapping[str, Sequence[Sequence[int]]],
) -> Found:
    """Find the means of the keys that every item has, over slices, and over groups of items that count alike."""
    found: Found = {}
    by_scale: dict[Any, dict[str, list[Item]]] = {}  # keys of one range, whose unscored items count alike, draw as one
    for key in given.metric.keys:
        items = items_of(lines, f"{given.metric.module}.{key}", given.profile, units)
        if len(items) == len(lines):
            by_scale.setdefault(tuple(given.scale(key).items()), {})[key] = items
    for scale, columns in by_scale.items():
        for part, members in slices.items():
            picked = [[items[at] for at in members] for items in columns.values()]
            for key, own, summary in zip(columns, picked, summarise_all(picked, **dict(scale)), strict=True):
                entries = [lines[at][f"{given.metric.module}.{key}"] for at in members]
                n_ruled = sum(is_ruled(entry, given.profile) for entry in entries)
                found[part, key] = summary, replace(tally(own), n_ruled=n_ruled)
        for part, groups in groupings.items():
            grouped = [[[own[at] for at in group] for own in columns.values()] for group in groups]
            for (key, items), mean in zip(columns.items(), macro(grouped, **dict(scale)), strict=True):
                n_groups = sum(any(counts(items[at], given.profile) for at in group) for group in groups)
                whole = tally([items[at] for group in groups for at in group])
                found[part, key] = mean, replace(whole, n_filled=0, n_groups=n_groups)
    return found


def _weigh(given: Measured, key: str, lines: Lines, units: Mapping[Key, str], strata: Mapping[Key, Stratum]) -> Mean:
    """Find the interval of a weighted mean; none where the strata are not known."""
    items = items_of(lines, f"{given.metric.module}.{key}", given.profile, units)
    if not items or not strata:
        return Mean(None, None, None)
    groups, weights = stratify(items, strata, given.profile)
    means = macro([[group] for group in groups], weights=weights, **given.scale(key))
    return means[0] if means else Mean(None, None, None)


def slices_of(questions: Sequence[Question]) -> dict[str, list[int]]:
    """Return the members of every slice by their places, all of them first; ``domain=finance`` is a slice's name."""
    found: dict[str, list[int]] = {}
    for at, question in enumerate(questions):
        for name, value in question.slices.items():
            found.setdefault(f"{name}={value}", []).append(at)
    order = {name: rank for rank, name in enumerate(questions[0].slices)} if questions else {}
    names = sorted(found, key=lambda name: (order.get(name.partition("=")[0], len(order)), name))
    return {ALL: list(range(len(questions)))} | {name: found[name] for name in names}


def find_units(questions: Sequence[Question]) -> dict[Key, str]:
    """Return the unit of every question that shares a conversation or a gold document with others of its split.

    A unit is all that hangs together, and has the name of its first question's id.
    """
    above: dict[Hashable, Hashable] = {}

    def root(thing: Hashable) -> Hashable:
        while (higher := above.setdefault(thing, thing)) != thing:
            above[thing] = above[higher]
            thing = higher
        return thing

    for question in questions:
        split = question.key[:2]
        shared = [(*split, "document", document) for document in question.relevant]
        shared += [(*split, "talk", question.talk)] if question.talk else []
        for thing in shared:
            above[root(thing)] = root(question.key)
    units: dict[Hashable, list[Question]] = defaultdict(list)
    for question in questions:
        units[root(question.key)].append(question)
    return {each.key: members[0].id for members in units.values() if len(members) > 1 for each in members}
