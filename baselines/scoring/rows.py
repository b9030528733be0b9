"""The scores of a split: over all items, over slices, and unweighted means over groups of them.

A slice is a group of questions, as ``domain=finance``. The value over all items is the metric module's own; that of a
slice, and every interval, comes from `quadrag.stats`, by questions that belong together. Nothing is judged here.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from quadrag.records import Key, Question
from quadrag.stats import NOT_APPLICABLE, Item, Mean, macro, summarise_all

from ..core.benchmark import Benchmark, MetricUse, Stratum
from ..results.items import is_ruled, items_of
from ..results.score import ALL, Counts, Score, ScoreKey, Status


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
    slices, units = slices_of(questions), find_units(questions)
    scores: list[Score] = []
    for given in measured:
        rows = _Rows((benchmark.name, config, split), given, units, strata or {})
        for name, members in slices.items():
            scores += rows.score_slice(name, [lines[at] for at in members])
        for grouping in benchmark.macro:
            groups = [members for name, members in slices.items() if name.startswith(f"{grouping}=")]
            scores += rows.score_groups(f"macro:{grouping}", lines, groups) if groups else []
    return [score.as_row() for score in scores]


def slices_of(questions: Sequence[Question]) -> dict[str, list[int]]:
    """Return the members of every slice by their places, all of them first; ``domain=finance`` is a slice's name."""
    found: dict[str, list[int]] = {}
    for at, question in enumerate(questions):
        for name, value in question.slices.items():
            found.setdefault(f"{name}={value}", []).append(at)
    order = {name: rank for rank, name in enumerate(questions[0].slices)} if questions else {}
    names = sorted(found, key=lambda name: (order.get(name.partition("=")[0], len(order)), name))
    return {ALL: list(range(len(questions)))} | {name: found[name] for name in names}


@dataclass(frozen=True, slots=True)
class _Rows:
    """What makes the scores of one metric and profile."""

    place: tuple[str, str, str]  # benchmark, config, split
    of: Measured
    units: Mapping[Key, str]
    strata: Mapping[Key, Stratum]

    def score_slice(self, name: str, lines: Sequence[Mapping[str, Any]]) -> list[Score]:
        """Score the items of a slice.

        The value of all items is the module's; that of a slice, and every interval, is of the mean over its items. A
        mean that is weighted by groups has no value an item, and is there for all items alone; its interval is by its
        strata.
        """
        metric, values = self.of.metric, self.of.values
        columns = self._read(lines)
        whole = {key: items for key, items in columns.items() if len(items) == len(lines)}
        found: dict[str, Score] = {}
        for keys in self._by_scale(whole):
            record = metric.record(keys[0])
            summaries = summarise_all(
                [whole[key] for key in keys], profile=self.of.profile, worst=record.worst, ends=record.range
            )
            for key, summary in zip(keys, summaries, strict=True):
                counts = replace(tally(whole[key]), n_ruled=self._count_ruled(key, lines))
                found[key] = replace(self._score(name, key, summary, counts), over_scored=summary.over_scored)
        scores = []
        for key in metric.keys:
            if key in found:
                scores.append(replace(found[key], value=values[key]) if name == ALL and key in values else found[key])
            elif key not in values:
                lacking = self._score(name, key, Mean(None, None, None), Counts(len(lines)))
                reason = self.of.lacking[key] or "no references"
                scores.append(replace(lacking, status=Status.NOT_RUN, reason=reason))
            elif name == ALL:
                weighed = key.removesuffix("_weighted")
                counts = found[weighed].counts if weighed in found else Counts(len(lines))
                mean = self._weigh(weighed, columns.get(weighed, ()))
                scores.append(replace(self._score(name, key, mean, counts), value=values[key]))
        return scores

    def score_groups(
        self, name: str, lines: Sequence[Mapping[str, Any]], groups: Sequence[Sequence[int]]
    ) -> list[Score]:
        """Score the mean over groups of items, given by their places, which count alike whatever their size."""
        columns = {
            key: [[items[at] for at in group] for group in groups]
            for key, items in self._read(lines).items()
            if len(items) == len(lines)  # a key that some lines alone have has no groups to speak of
        }
        scores = []
        for keys in self._by_scale(columns):
            stacked, record = list(zip(*(columns[key] for key in keys), strict=True)), self.of.metric.record(keys[0])
            means = macro(stacked, profile=self.of.profile, worst=record.worst, ends=record.range)
            for key, mean in zip(keys, means, strict=True):
                n_groups = sum(any(counts(item, self.of.profile) for item in group) for group in columns[key])
                of_all = tally([item for group in columns[key] for item in group])
                scores.append(self._score(name, key, mean, replace(of_all, n_filled=0, n_groups=n_groups)))
        return sorted(scores, key=lambda score: [*columns].index(score.key.key))

    def _read(self, lines: Sequence[Mapping[str, Any]]) -> dict[str, list[Item]]:
        module, keys = self.of.metric.module, self.of.metric.keys
        return {key: items_of(lines, f"{module}.{key}", self.of.profile, self.units) for key in keys}

    def _by_scale(self, keys: Iterable[str]) -> list[list[str]]:
        """Put keys together that have one range, and whose unscored items count alike."""
        found: dict[Any, list[str]] = {}
        for key in keys:
            record = self.of.metric.record(key)
            found.setdefault((record.worst, record.range), []).append(key)
        return list(found.values())

    def _score(self, name: str, key: str, mean: Mean, counts: Counts) -> Score:
        where = ScoreKey(*self.place, self.of.metric.module, key)
        method = mean.method if mean.interval else None
        return Score(where, self.of.profile, name, mean.value, mean.interval, counts, self.of.signature, method)

    def _count_ruled(self, key: str, lines: Sequence[Mapping[str, Any]]) -> int:
        """Count the items that are scored by a rule, where a judge was there to be asked about the others."""
        return sum(is_ruled(line[f"{self.of.metric.module}.{key}"], self.of.profile) for line in lines)

    def _weigh(self, key: str, items: Sequence[Item]) -> Mean:
        """Find the interval of a weighted mean; None where the strata are not known."""
        if not items or not self.strata:
            return Mean(None, None, None)
        groups, weights = stratify(items, self.strata, self.of.profile)
        record, stacked = self.of.metric.record(key), [[group] for group in groups]
        found = macro(stacked, weights=weights, profile=self.of.profile, worst=record.worst, ends=record.range)
        return found[0] if found else Mean(None, None, None)


def tally(items: Sequence[Item]) -> Counts:
    """Count items by what became of them; one that has both value and reason was filled in by its metric."""
    reasons = Counter(item.reason or "api_error" for item in items if item.value is None or item.reason)
    filled = sum(item.value is not None and item.reason is not None for item in items)
    without = reasons.pop(NOT_APPLICABLE, 0)
    scored = len(items) - without - reasons.total()
    return Counts(len(items), None, scored, without, dict(sorted(reasons.items())), filled)


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


def counts(item: Item, profile: str) -> bool:
    """Whether an item has a say in a mean."""
    return item.value is not None or (profile == "corrected" and item.reason != NOT_APPLICABLE)


def stratify(
    items: Sequence[Item], strata: Mapping[Any, Stratum], profile: str
) -> tuple[list[list[Item]], list[float]]:
    """Put items into their strata, with each stratum's weight in the mean.

    That is the mean over domains of the weighted mean over a domain's types, of those in which an item counts.

    Args:
        items: of one metric, each of a question that has a stratum.
        strata: of each question.
        profile: ``official`` or ``corrected``.
    """
    groups: dict[Stratum, list[Item]] = defaultdict(list)
    for item in items:
        groups[strata[item.question]].append(item)
    there = [stratum for stratum in sorted(groups) if any(counts(item, profile) for item in groups[stratum])]
    totals: dict[str, float] = defaultdict(float)
    for stratum in there:
        totals[stratum.domain] += stratum.weight
    domains = sum(1 for total in totals.values() if total)
    weights = [
        stratum.weight / totals[stratum.domain] / domains if totals[stratum.domain] else 0.0 for stratum in there
    ]
    return [groups[stratum] for stratum in there], weights
