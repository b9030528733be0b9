"""What each judge of a cascade decides, chosen on labels: as little as can be is left to the last one.

Every judge before the last may decide any of the grades, and one that says how sure it is from any of some confidences
on. Of all these cascades the one is taken that saves most calls of the last judge and still agrees with people as often
as is wanted. An agreement of what was chosen on the same labels flatters; so the figures of the certificate are
cross-validated: each part of the groups is judged by the cascade that the other parts choose.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quadrag.errors import QuadragError

from ..scoring.cascade import Cascade, Stage, Verdict, decide
from ..scoring.rules import RULE
from .labels import Item, LabelSet
from .verdicts import Verdicts, list_judged

PARTS = 5
_SEED = 2333
_CONFIDENCES = (0.0, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99)


class Tried(NamedTuple):
    """A cascade on the labels: what it says of each item, whether that is right, and how many calls that takes.

    `calls` are of all models, `asked` tells where the last judge is.
    """

    stages: tuple[Stage, ...]
    grades: list[str]
    right: NDArray[np.bool_]
    asked: NDArray[np.bool_]
    calls: int

    @property
    def agreement(self) -> float:
        """The share of the labels on which it says the same as people."""
        return float(self.right.mean())

    @property
    def saved(self) -> float:
        """The share of the labels on which the last judge need not be asked."""
        return 1 - float(self.asked.mean())


@dataclass(frozen=True, slots=True)
class Choice:
    """The cascade that was chosen.

    Attributes:
        cascade: what each judge decides.
        labels: those on which the last judge has a verdict, and those that rules decide before any judge.
        best: how it does on the labels that it was chosen on.
        frontier: all cascades of which none saves more calls and agrees as often, the last judge alone first.
        verdicts: cross-validated; of the whole cascade.
        saved: the share of the last judge's calls that are saved, cross-validated.
        keeps: the agreement that was asked for; None: that of the last judge alone.
    """

    cascade: Cascade
    labels: LabelSet
    best: Tried
    frontier: list[Tried]
    verdicts: Verdicts
    saved: float
    keeps: float | None


def choose_cascade(labels: LabelSet, judges: Sequence[Verdicts], keeps: float | None = None) -> Choice:
    """Choose what each judge of a cascade decides.

    Args:
        labels: what people said.
        judges: the verdicts of all judges on all items that no rule decides, the last judge's last.
        keeps: the agreement with people that is to be kept; that of the last judge alone when None.

    Raises:
        QuadragError: the labels are no grades of single answers, a judge is named twice, the labels are too few, or no
            cascade of these judges agrees so often.
    """
    names = [one.judge for one in judges]
    if labels.ranked or labels.pairs:
        raise QuadragError(f"{labels.name} has no grades of single answers; a cascade needs labels that are such")
    if double := next((one for one in names if names.count(one) > 1), None):
        raise QuadragError(f"{double} is named twice in one cascade; expected another judge as --judge-large")
    whole, labels = _judged_by(labels, judges[-1])
    groups = list(dict.fromkeys(item.group or item.id for item in labels.items))
    if len(groups) < 2:
        raise QuadragError(f"{labels.name}: all labels are of one group; expected several, to choose and to measure on")
    tried = [_try(labels, judges, stages) for stages in _possible(labels, judges)]
    best = _choose(tried, keeps, np.ones(len(labels.items), bool))
    if best is None:
        raise QuadragError(
            f"no cascade of {' > '.join(names)} agrees with people on {keeps:g} of {labels.name}; {names[-1]} alone "
            f"does on {tried[0].agreement:.4f}: ask for less with --keep-agreement"
        )
    drawn = np.random.RandomState(_SEED).permutation(len(groups))
    part_of = {group: int(place) % PARTS for group, place in zip(groups, drawn, strict=True)}
    parts = np.array([part_of[item.group or item.id] for item in labels.items])
    given: dict[str, str | None] = {}
    asked = 0
    for part in sorted(set(parts)):
        unseen = parts == part
        one = _choose(tried, keeps, ~unseen) or tried[0]
        given |= {labels.items[at].id: one.grades[at] for at in np.flatnonzero(unseen)}
        asked += int(one.asked[unseen].sum())
    cascade = Cascade(labels.graded.metric, labels.graded.key, best.stages)
    saved = 1 - asked / len(labels.items)
    return Choice(cascade, whole, best, _frontier(tried), _join(cascade, judges, given), saved, keeps)


def _judged_by(labels: LabelSet, last: Verdicts) -> tuple[LabelSet, LabelSet]:
    """Leave out what the last judge has no verdict on, so that all cascades are of the same items.

    Returns:
        The labels with what rules decide, and those of the judged items alone, on which a cascade is chosen.
    """
    judged = list_judged(labels, last)
    there = [item for item in labels.items if item.id in last.by_rule or last.given.get(item.id) is not None]
    lacking = len(labels.items) - len(there)
    said = [f"Left out: {lacking} items on which {last.judge} has no verdict."] if lacking else []
    whole = replace(labels, items=there, notes=[*labels.notes, *said])
    return whole, replace(whole, items=judged)


def _possible(labels: LabelSet, judges: Sequence[Verdicts]) -> Iterator[tuple[Stage, ...]]:
    """Yield all cascades, the last judge alone first."""
    last = Stage(judges[-1].judge, {})
    for chosen in product(*(list(_decisions(labels, one)) for one in judges[:-1])):
        before = (Stage(one.judge, decides) for one, decides in zip(judges, chosen, strict=False))
        yield (*before, last)


def _decisions(labels: LabelSet, judge: Verdicts) -> Iterator[Mapping[str, float]]:
    said = [grade for grade in labels.classes if grade in set(judge.given.values())]
    for count in range(len(said) + 1):
        for grades in combinations(said, count):
            for least in _CONFIDENCES if grades and judge.confidence else _CONFIDENCES[:1]:
                yield dict.fromkeys(grades, least)


def _try(labels: LabelSet, judges: Sequence[Verdicts], stages: tuple[Stage, ...]) -> Tried:
    by_name = {one.judge: one for one in judges}

    def look_up(stage: Stage, items: Sequence[Item]) -> list[Verdict]:
        found = by_name[stage.judge]
        return [Verdict(found.given.get(item.id), found.confidence.get(item.id, 1.0)) for item in items]

    found = decide(stages, labels.items, look_up)
    grades = [str(verdict.grade) for _, verdict in found]
    right = [grade == item.label for grade, item in zip(grades, labels.items, strict=True)]
    asked = np.array([judge == stages[-1].judge for judge, _ in found])
    models = [0]  # asked up to each stage, itself included
    for stage in stages:
        idle = stage.judge.startswith(RULE) or not (stage.decides or stage is stages[-1])
        models.append(models[-1] + (not idle))
    upto = {stage.judge: count for stage, count in zip(stages, models[1:], strict=True)}
    return Tried(stages, grades, np.array(right), asked, sum(upto[judge] for judge, _ in found))


def _choose(tried: Sequence[Tried], keeps: float | None, here: NDArray[np.bool_]) -> Tried | None:
    """Choose on some of the labels; of equals the one that agrees most often, of fewest calls, the simplest."""
    least = float(tried[0].right[here].mean()) if keeps is None else keeps
    ranks = []
    for place, one in enumerate(tried):
        agreement = float(one.right[here].mean())
        if agreement >= least - 1e-12:
            decided = sum(len(stage.decides) for stage in one.stages)
            ranks.append((-float((~one.asked[here]).mean()), -agreement, one.calls, decided, place))
    return tried[min(ranks)[-1]] if ranks else None


def _frontier(tried: Sequence[Tried]) -> list[Tried]:
    """Return the last judge alone, then whatever saves more than all that agree as often."""
    found: list[Tried] = []
    simplest = sorted(tried, key=lambda one: (one.calls, sum(len(stage.decides) for stage in one.stages)))
    for one in sorted(simplest, key=lambda one: (-one.saved, -one.agreement)):
        if not found or one.agreement > found[-1].agreement:
            found.append(one)
    return [tried[0], *(one for one in reversed(found) if one is not tried[0])]


def _join(cascade: Cascade, judges: Sequence[Verdicts], given: Mapping[str, str | None]) -> Verdicts:
    prompts = list(dict.fromkeys(prompt for one in judges for prompt in one.prompts))
    services = "; ".join(one.service for one in judges if one.service)
    return Verdicts(cascade.name, given, prompts=prompts, service=services, by_rule=judges[-1].by_rule)
