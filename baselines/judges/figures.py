"""What verdicts come to beside labels: agreement with its interval, classes, bias, consistency, and the ceiling.

All of it is of the judge's own verdicts, those that can be read. With what a metric's rules decide they make the
pipeline, whose agreement stands apart, since a run's values rest on both.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from quadrag.errors import QuadragError
from quadrag.stats import NOT_APPLICABLE, Interval, mcnemar, summarise, wilson
from quadrag.stats import Item as Value
from quadrag.stats.agreement import (
    Agreement,
    ClassFigures,
    agreement,
    agreement_intervals,
    class_figures,
    count_pairs,
)

from ..core.benchmark import MetricUse
from ..scoring.rules import RULE
from ..scoring.verdicts import Said
from ..tables.cells import FEW
from ..tables.names import keep_name
from .labels import Item, LabelSet
from .verdicts import Verdicts, known_verdicts, list_judged, list_judges

_FEWEST = 10  # items of a slice that is shown
_CORRELATION_DRAWS = 2000
Intervals = tuple[Interval | None, Interval | None, Interval | None]  # of accuracy, kappa and AC1; of few groups none


class Bias(NamedTuple):
    """A part of the items: how the judge's mean there is off people's, with the interval of the difference."""

    slicing: str
    name: str
    n: int
    people: float
    judge: float
    off: Interval | None
    accuracy: float
    kappa: float | None


class Correlation(NamedTuple):
    """Rank correlations of numbers, and the interval of Spearman's."""

    n: int
    spearman: float
    kendall: float
    interval: Interval | None


@dataclass(slots=True)
class Figures:
    """All that is known of a judge on a label set."""

    labels: LabelSet  # the set
    verdicts: Verdicts  # of the judge
    agreement: Agreement | None = None  # over the items with a verdict; None of a ranked set
    intervals: Intervals = (None, None, None)  # of it
    # agreement of rules and judge together, and its intervals; None where no rule decides
    pipeline: tuple[Agreement, Intervals] | None = None
    table: list[list[int]] = field(default_factory=list)  # counts, labels by verdicts
    classes: list[ClassFigures] = field(default_factory=list)  # the figures of each class
    bias: list[Bias] = field(default_factory=list)  # by slice, length of the answer and, of pairs, position
    unreadable: dict[str, int] = field(default_factory=dict)  # items without a verdict by reason
    # the share of items on which all repeats say the same, and of how many; None without repeats
    consistency: tuple[float, int] | None = None
    ceiling: Agreement | None = None  # how people agree with each other; None where that is not known
    correlation: Correlation | None = None  # of a ranked set
    groups: int = 0  # how many groups the items are of

    @property
    def said(self) -> Said:
        """What the judge said, as a run's verdicts are looked at."""
        graded, verdicts = self.labels.graded, self.verdicts
        worth: dict[str | None, float | str] = {
            name: NOT_APPLICABLE if value is None else value for name, value in self.labels.grades.items()
        }
        given = [verdicts.given.get(item.id) for item in self.labels.items]
        values = [worth.get(grade, grade) for grade in given]
        use = MetricUse(graded.metric, (graded.key,))
        return Said(keep_name(verdicts.judge), use, f"{graded.metric}.{graded.key}", values)


class Against(NamedTuple):
    """Two judges on the items that both have a verdict on: how often each alone is right, and the test."""

    n: int
    first_only: int
    second_only: int
    p: float  # McNemar's mid-p


def measure(labels: LabelSet, verdicts: Verdicts) -> Figures:
    """Hold a judge's verdicts, of which there must be one, against people's labels."""
    judged = list_judged(labels, verdicts)
    ruled = [item for item in labels.items if item.id in verdicts.by_rule]
    lacking = {item.id for item in labels.items} - {item.id for item in (*judged, *ruled)}
    found = Figures(labels, verdicts, ceiling=measure_ceiling(labels))
    found.unreadable = dict(Counter(verdicts.reasons.get(name, "unreadable") for name in lacking))
    found.consistency = _consistency(verdicts)
    said = [str(verdicts.given[item.id]) for item in judged]
    found.groups = count_groups(judged)
    if labels.ranked:
        groups = [item.group or item.id for item in judged]
        found.correlation = _correlate([float(item.label) for item in judged], list(map(float, said)), groups)
        return found
    table = count_pairs([item.label for item in judged], said, labels.classes)
    found.table, found.classes = table.tolist(), class_figures(table)
    found.agreement, found.intervals = _agree(labels, judged, said)
    if ruled:
        both = [*said, *(verdicts.by_rule[item.id] for item in ruled)]
        found.pipeline = _agree(labels, [*judged, *ruled], both)
    found.bias = list(_biases(labels, judged, said))
    return found


def _agree(labels: LabelSet, items: Sequence[Item], said: Sequence[str]) -> tuple[Agreement, Intervals]:
    given, groups = [item.label for item in items], [item.group or item.id for item in items]
    table = count_pairs(given, said, labels.classes)
    if (n := count_groups(items)) < FEW:
        return agreement(table), (None, None, None)
    intervals = agreement_intervals(given, said, groups, labels.classes)
    if n == len(items):
        intervals = (wilson(int(np.trace(table)), n), *intervals[1:])
    return agreement(table), intervals


def count_groups(items: Sequence[Item]) -> int:
    """Count the questions, or what else groups items; an item without a group is one."""
    return len({item.group or item.id for item in items})


def tell_few(groups: int) -> str:
    """Say that labels of so few questions tell nothing of a judge; "" of enough."""
    several = "s" * (groups != 1)
    told = f"labels of {groups} question{several} tell nothing of a judge: label {FEW} questions or more"
    return told if groups < FEW else ""


def compare(labels: LabelSet, first: Verdicts, second: Verdicts) -> Against:
    """Test two judges on the items on which both have a verdict; QuadragError for ranked labels or no such item."""
    if labels.ranked:
        raise QuadragError(f"{labels.name} is ranked; --against tests judges that say a grade")
    hits = [
        (one == item.label, other == item.label)
        for item in labels.items
        if (one := first.given.get(item.id)) is not None and (other := second.given.get(item.id)) is not None
    ]
    if not hits:
        raise QuadragError(f"{first.judge} and {second.judge} have no item in common; expected verdicts on the same")
    first_only, second_only = sum(a > b for a, b in hits), sum(b > a for a, b in hits)
    return Against(len(hits), first_only, second_only, mcnemar(first_only, second_only))


def measure_ceiling(labels: LabelSet) -> Agreement | None:
    """Return how people agree with each other: of several, the pairs of the items that both labelled, together."""
    pairs = [
        (one, other)
        for votes in [*(item.votes for item in labels.items), *labels.split]
        for at, one in enumerate(votes)
        for other in votes[at + 1 :]
        if one is not None and other is not None
    ]
    if not pairs:
        return None
    return agreement(count_pairs([one for one, _ in pairs], [other for _, other in pairs], labels.classes))


def _consistency(verdicts: Verdicts) -> tuple[float, int] | None:
    said = {name: {verdict} for name, verdict in verdicts.given.items() if verdict is not None}
    again = set()
    for repeat in verdicts.repeats:
        for name, verdict in repeat.items():
            if name in said and verdict is not None:
                said[name].add(verdict)
                again.add(name)
    return (sum(len(said[name]) == 1 for name in again) / len(again), len(again)) if again else None


def _biases(labels: LabelSet, judged: Sequence[Item], said: Sequence[str]) -> list[Bias]:
    values = labels.grades
    rows = [
        (item, verdict)
        for item, verdict in zip(judged, said, strict=True)
        if values[item.label] is not None and values[verdict] is not None
    ]
    lengths = sorted(len(item.answer) for item, _ in rows)
    cuts = [lengths[len(lengths) * part // 3] for part in (1, 2)] if lengths else [0, 0]
    names = (f"under {cuts[0]}", f"{cuts[0]} to {cuts[1] - 1}", f"from {cuts[1]}")
    parts: dict[tuple[str, str], list[tuple[Item, str]]] = {}
    for item, verdict in rows:
        for slicing, name in item.slices.items():
            parts.setdefault((slicing, name), []).append((item, verdict))
        if item.answer and not labels.pairs and cuts[0] < cuts[1]:
            size = len(item.answer)
            parts.setdefault(("characters", names[(size >= cuts[0]) + (size >= cuts[1])]), []).append((item, verdict))
        if labels.pairs:
            parts.setdefault(("position", "second over first"), []).append((item, verdict))
    order = {name: place for place, name in enumerate(names)}
    found = []
    for (slicing, name), here in sorted(parts.items(), key=lambda one: (one[0][0], order.get(one[0][1], 0))):
        if len(here) < _FEWEST:
            continue
        given, verdicts = [item.label for item, _ in here], [verdict for _, verdict in here]
        people, judge = ([float(values[grade] or 0) for grade in column] for column in (given, verdicts))
        off = [Value(item.group or item.id, b - a) for (item, _), a, b in zip(here, people, judge, strict=True)]
        equal = agreement(count_pairs(given, verdicts, labels.classes))
        n = len(here)
        between = summarise(off).interval
        found.append(Bias(slicing, name, n, sum(people) / n, sum(judge) / n, between, equal.accuracy, equal.kappa))
    return found


def _correlate(people: list[float], judge: list[float], groups: Sequence[str]) -> Correlation:
    from scipy.stats import kendalltau, rankdata, spearmanr

    if len(set(people)) < 2 or len(set(judge)) < 2:
        raise QuadragError("all labels, or all verdicts, are one number; expected several to rank")
    rng = np.random.RandomState(2333)
    by_group: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        by_group.setdefault(group, []).append(place)
    places = list(by_group.values())
    a, b = rankdata(people), rankdata(judge)
    drawn = []
    for _ in range(_CORRELATION_DRAWS):
        chosen = np.concatenate([places[at] for at in rng.randint(0, len(places), len(places))])
        drawn.append(np.corrcoef(rankdata(a[chosen]), rankdata(b[chosen]))[0, 1])
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    rho, tau = spearmanr(people, judge).statistic, kendalltau(people, judge).statistic
    between = Interval(float(low), float(high)) if len(places) >= FEW else None
    return Correlation(len(people), float(rho), float(tau), between)


_CHANCE = 0.05  # mid-p of a paired test


class Free(NamedTuple):
    """The best of what costs nothing."""

    name: str  # in a sentence
    agreement: float  # how often it is right
    beaten: bool  # whether the judge is right more often
    better: bool  # whether it is a rule that is right more often than the judge


def find_free(labels: LabelSet, judge: Verdicts) -> Free:
    """Find what costs nothing and agrees with people most often, on the items on which a judge has a verdict."""
    items = [item for item in labels.items if judge.given.get(item.id) is not None]
    ((commonest, count),) = Counter(item.label for item in items).most_common(1)
    best = f"always saying {commonest}", count, Verdicts("", dict.fromkeys((item.id for item in items), commonest))
    for name in () if judge.judge.startswith(RULE) else list_judges(labels):
        if name.startswith(RULE):
            said = known_verdicts(labels, name)
            count = sum(said.given[item.id] == item.label for item in items)
            best = max(best, (f"the free rule {name.removeprefix(RULE)}", count, said), key=lambda one: one[1])
    against = compare(labels, judge, best[2])
    apart, gain = against.p < _CHANCE, against.first_only - against.second_only
    is_rule = best[2].judge.startswith(RULE)
    return Free(best[0], best[1] / len(items), apart and gain > 0, apart and gain < 0 and is_rule)
