"""Runs compared with a first one, score by score, on the questions that both have: differences, p, why there is none.

A difference is the other run's value less the first one's. p is adjusted by Holm's rule in families: the headlines of
all runs, these over all splits, all other metrics, and so over all splits. Nothing here makes a sentence.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from operator import itemgetter
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

from quadrag.metric_record import WEIGHTED, KeyRecord, find_verdict, metric_record
from quadrag.stats import (
    Interval,
    Item,
    Pair,
    choose_fill,
    detectable,
    holm,
    paired_difference,
    share_difference,
    wilson,
)

from .certificates import kept_certificates
from .items import average_samples, counts, items_of, name_question, name_whole, pick_headlines, stratify, with_pooled
from .record import NoteCode, RunRecord
from .run import PROFILES, Place, Run, Score, Status, find_by_phrase

ALPHA = 0.05  # of differences that are none, the share that is taken for one
FEW = 5  # questions, below which a difference has no interval and no verdict
NOBODY = (False, False)
_OF_ITEM = itemgetter("config", "split", "id", "sample")

RunAndPlace: TypeAlias = tuple[int, Place]  # which of the runs
RunPair: TypeAlias = tuple[Run, Run]
Values: TypeAlias = tuple[dict[Any, float], dict[Any, float]]  # what each question counts as in either run


class Reason(StrEnum):
    INVALID = "invalid"
    ONLY_ONE = "only_one"  # has it, or was judged
    JUDGE_CONSTANT = "judge_constant"  # it says the same of every answer
    SAME_ANSWERS = "same_answers"  # only their verdicts differ
    DIFFERENT_JUDGES = "different_judges"
    JUDGE_DOUBTFUL = "judge_doubtful"  # its verdicts are far from what words say
    JUDGE_BY_CHANCE = "judge_by_chance"  # it agrees with people no better
    NO_QUESTION = "no_question"  # is in both
    OTHER_QUESTIONS = "other_questions"  # some are in one run alone
    NONE_SCORED = "none_scored"  # in both


class Verdict(StrEnum):
    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "not decided"
    EQUAL = "all equal"
    FEW = "too few questions"
    NONE = ""  # neither end of the metric is the better one, or there is no difference


class Changes(NamedTuple):
    better: int
    worse: int
    equal: int


@dataclass(frozen=True, slots=True)
class Difference:
    run: int  # its place among all runs
    place: Place
    headline: bool
    scores: tuple[Score | None, Score | None]  # of the first run, and of this one
    values: tuple[float | None, float | None]
    delta: float | None = None  # None: the runs are not compared by it
    interval: Interval | None = None
    n: int = 0  # questions
    p: float = 1.0
    p_holm: float | None = None  # adjusted for its family; None where that says nothing
    spread: float = 0.0  # the standard deviation of a question's difference
    changes: Changes | None = None  # None also where neither end is the better one
    reason: Reason | None = None  # why they are not compared
    about: tuple[bool, bool] = NOBODY  # which of the two runs the reason is about
    splits: int = 0  # over how many together

    @property
    def record(self) -> KeyRecord:
        return record_at(self.place)

    @property
    def decisive(self) -> float:
        return self.p if self.p_holm is None else self.p_holm

    @property
    def detectable(self) -> float:
        return detectable(self.spread, self.n)

    @property
    def verdict(self) -> Verdict:
        """What the run is by it.

        All are equal where no question differs, which of a few questions proves nothing; where as many are better as
        are worse nothing is decided.
        """
        if self.delta is None or not has_better(self.place):
            return Verdict.NONE
        if self.n < FEW:
            return Verdict.FEW
        if self.decisive < ALPHA:
            return Verdict.BETTER if (self.delta > 0) != (self.record.direction == "lower") else Verdict.WORSE
        return Verdict.UNDECIDED if self.spread or self.delta else Verdict.EQUAL


@dataclass(frozen=True, slots=True)
class Comparison:
    runs: Sequence[Run]  # the first is what the others are compared with
    profile: str
    differences: Sequence[Difference]  # the headlines first

    def list_told(self) -> list[Difference]:
        """Return the headlines that have a verdict; of those over all splits these alone, not each split."""
        heads = [difference for difference in self.differences if difference.headline]
        return drop_parts([head for head in heads if head.verdict not in (Verdict.NONE, Verdict.FEW)])


def drop_parts(differences: Sequence[Difference]) -> list[Difference]:
    whole = {(one.run, one.place[0], *one.place[2:]) for one in differences if one.splits}
    return [one for one in differences if one.splits or (one.run, one.place[0], *one.place[2:]) not in whole]


def find_lead(told: Sequence[Difference]) -> Place | None:
    """Return what runs are judged by first: of headlines with a verdict the first that some question differs by.

    Of several tasks it is the first of which anything is decided.
    """
    several = len({head.place[0] for head in told}) > 1

    def rank(head: Difference) -> int:
        return 2 if head.verdict is Verdict.EQUAL else int(several and head.verdict is Verdict.UNDECIDED)

    return min(told, key=rank).place if told else None


def find_worse(comparison: Comparison) -> list[Difference]:
    """Find by what runs are worse than the first one: of each run and task the headline that leads.

    What is invalid is there too, and the first headline where it is not compared though both runs have it.
    """
    worse: list[Difference] = []
    heads = [head for head in comparison.differences if head.headline and has_better(head.place)]
    for run, config in dict.fromkeys((head.run, head.place[0]) for head in heads):
        of_task = [head for head in heads if (head.run, head.place[0]) == (run, config)]
        first = ([head for head in of_task if head.reason is not Reason.ONLY_ONE] or of_task)[0]
        told = [head for head in comparison.list_told() if head in of_task]
        lead = find_lead(told)
        worse += [head for head in of_task if head.reason is Reason.INVALID or (head is first and head.reason)][:1]
        worse += [head for head in told if head.place == lead and head.verdict is Verdict.WORSE]
    return worse


def record_at(place: Place) -> KeyRecord:
    return metric_record(place[2]).key(place[3])


def has_better(place: Place) -> bool:
    return record_at(place).direction != "none"


def compare(base: Run, others: Sequence[Run], profile: str = PROFILES[0], every: bool = False) -> Comparison:
    """Compare runs with a first one of the same benchmark by their headlines or, `every`, by all metrics."""
    runs = [base, *others]
    heads = list(dict.fromkeys(score.place for run in runs for score in pick_headlines(run.scores, profile)))
    differences = _compare_family(runs, heads, profile, headline=True)
    if every:
        ran = dict.fromkeys(score.place for run in runs for score in run.whole(profile) if score.ran)
        differences += _compare_family(runs, [place for place in ran if place not in heads], profile, headline=False)
    return Comparison(runs, profile, differences)


class _Paired(NamedTuple):
    pair: Pair
    values: Values
    p_holm: float | None = None


_Family: TypeAlias = dict[RunAndPlace, _Paired]


def _compare_family(runs: Sequence[Run], places: Sequence[Place], profile: str, headline: bool) -> list[Difference]:
    """Compare runs with the first one by some scores; of several splits what is over all of them stands first."""
    whole = _find_whole(runs[0], places)
    shown: _Family = {}
    overall: _Family = {}
    for number in range(1, len(runs)):
        for place in places:
            if paired := _pair((runs[0], runs[number]), place, profile):
                shown[number, place] = paired
        for place, split_places in whole.items():
            values = [shown[number, part].values for part in split_places if (number, part) in shown]
            if len(values) == len(split_places) and (paired := _pool((runs[0], runs[number]), place, values)):
                overall[number, place] = paired
    shown = _adjust(shown, lambda at: (at[0], at[1][3].endswith(WEIGHTED)))
    overall = _adjust(overall, lambda at: (at[0], at[1][0]))

    parts = {part for split_places in whole.values() for part in split_places}
    rows = []
    for run in runs:
        scores = with_pooled(run, [score for score in run.whole(profile) if score.place in parts], profile)
        rows.append({score.place: score for score in (*run.whole(profile), *scores)})
    differences: list[Difference] = []
    for number in range(1, len(runs)):
        two, known = (runs[0], runs[number]), (rows[0], rows[number])
        by_place = {place: _describe(two, known, (number, place), shown, headline) for place in places}
        for place, split_places in whole.items():
            lacking = [by_place[part] for part in split_places if by_place[part].delta is None]
            if all(part.reason is not Reason.ONLY_ONE for part in lacking):
                one = replace(_describe(two, known, (number, place), overall, headline), splits=len(split_places))
                differences.append(replace(one, reason=lacking[0].reason, about=lacking[0].about) if lacking else one)
        differences += by_place.values()
    return differences


def _describe(
    two: RunPair,
    rows: tuple[Mapping[Place, Score], Mapping[Place, Score]],
    at: RunAndPlace,
    family: _Family,
    headline: bool,
) -> Difference:
    number, place = at
    ours, theirs = (by_place.get(place) for by_place in rows)
    if _rest_apart(two, place):  # what a phrase finds stands beside nothing that a judge found
        ours = None if place in find_by_phrase(two[0].scores) else ours
        theirs = None if place in find_by_phrase(two[1].scores) else theirs
    first, second = (None if row is None else row.value for row in (ours, theirs))
    one = Difference(number, place, headline, (ours, theirs), (first, second))
    if at not in family:
        reason, about = _find_reason(two, place, one.scores)
        return replace(one, reason=reason, about=about)

    changes, (pair, sides, p_holm) = None, family[at]
    if has_better(place):
        gained = gains_of(sides, place).values()
        better, worse = sum(gain > 0 for gain in gained), sum(gain < 0 for gain in gained)
        changes = Changes(better, worse, len(gained) - better - worse)
    # What rests on doubtful verdicts has no value of its own over all splits.
    first, second = (fmean(side.values()) if own is None else own for side, own in zip(sides, one.values, strict=True))
    one = replace(one, values=(first, second), changes=changes, p_holm=p_holm)
    return replace(one, delta=pair.difference, interval=pair.interval, n=pair.n, p=pair.p, spread=pair.spread)


def _find_reason(
    two: RunPair, place: Place, scores: tuple[Score | None, Score | None]
) -> tuple[Reason | None, tuple[bool, bool]]:
    first, second = (row.status if row else Status.NOT_RUN for row in scores)
    there = first is not Status.NOT_RUN, second is not Status.NOT_RUN
    if Status.INVALID in (first, second):
        return Reason.INVALID, (first is Status.INVALID, second is Status.INVALID)
    if not all(there):
        return (Reason.ONLY_ONE, there) if any(there) else (None, NOBODY)
    if doubt := find_doubt(*two, _name_items(place)):
        return doubt, NOBODY
    ones, others = ({item.question for item in _find_items(one, place, "corrected")} for one in two)
    if not any(is_same(*two, question) for question in ones & others):
        return Reason.NO_QUESTION, NOBODY
    return Reason.OTHER_QUESTIONS if ones != others else Reason.NONE_SCORED, NOBODY


# Which questions two runs share, and whether their verdicts may be compared.


def is_same(first: Run, second: Run, question: Any) -> bool:
    """Whether a question of two runs is the same by its text and gold; where a folder does not say so, by its id."""
    here, there = first.asked, second.asked
    if not (here and there):
        return True
    return question in there and question in here and here[question].sha256 == there[question].sha256


@lru_cache(maxsize=1)  # of the two that are compared: every metric asks
def answer_alike(first: Run, second: Run) -> bool:
    shared = [at for at in first.texts if at in second.texts and is_same(first, second, at[0])]
    return bool(shared) and all(first.texts[at] is not None and first.texts[at] == second.texts[at] for at in shared)


def find_doubt(first: Run, second: Run, name: str) -> Reason | None:
    """Find why values of two runs by a judged metric do not tell which answers are better; `name` is as of items."""
    verdict = find_verdict(*name.split(".", 1))
    if not verdict:
        return None
    both = (first, second)
    if _is_noted(both, NoteCode.JUDGE_CONSTANT, verdict) and not any(_has_both(one, verdict) for one in both):
        return Reason.JUDGE_CONSTANT
    if answer_alike(first, second):
        mine, theirs = ({_OF_ITEM(row): row for row in one.items} for one in both)
        if any(mine[key].get(name) != theirs[key].get(name) for key in mine.keys() & theirs.keys()):
            return Reason.SAME_ANSWERS
    elif name_judges(first, second):
        return Reason.DIFFERENT_JUDGES
    if _is_noted(both, NoteCode.JUDGE_DOUBTFUL, verdict):
        return Reason.JUDGE_DOUBTFUL
    by_chance = (
        certificate.fits(score.signature)
        for run in both
        for certificate in kept_certificates(run.record)
        for score in run.scores
        if certificate.is_chance and score.key.name == verdict
    )
    return Reason.JUDGE_BY_CHANCE if any(by_chance) else None


def _is_noted(both: RunPair, code: NoteCode, verdict: str) -> bool:
    return any(verdict in note.params["keys"] for run in both for note in run.record.find_notes(code))


def _has_both(result: Run, verdict: str) -> bool:
    """Whether a run's judge, and no rule, said one thing of an answer and another of another one."""
    entries = (item[verdict] for item in result.items if verdict in item)
    said = {entry["official"] for entry in entries if "official" not in entry.get("ruled", ())}
    return len(said - {None}) > 1


def name_judges(first: Run, second: Run) -> tuple[str, str] | None:
    """Name the different judges of two runs by the first thing in which they differ; None where it is one, or none."""
    pairs = zip(_describe_judges(first.record), _describe_judges(second.record), strict=True)
    return next(((one, other) for one, other in pairs if one and other and one != other), None)


def _describe_judges(run: RunRecord) -> list[str]:
    """Name the judges of a run by their models, where they are asked, and their prompt; "" for what is not known."""
    if run.judge is None:
        return [""] * 3
    services = ", ".join(name for role, name in run.services.items() if role.startswith("judge"))
    names = [judge["prompt"] for judge in run.judging.get("judges", ()) if "prompt" in judge]
    prompt = run.judging.get("prompt") or ", ".join(dict.fromkeys(names))
    return [run.judge, f"{run.judge} ({services})" if services else "", f"{run.judge} (prompt {prompt or '–'})"]


def _rest_apart(two: RunPair, place: Place) -> bool:
    """Whether a value of one run rests on what a phrase finds, and that of the other on a judge."""
    if not find_verdict(*place[2:]):
        return False
    first, second = (place in find_by_phrase(one.scores) for one in two)
    return first != second


# Pairs.


def _find_whole(base: Run, places: Sequence[Place]) -> dict[Place, list[Place]]:
    found: dict[tuple[str, str, str], list[Place]] = {}
    for place in places:
        if place[1] in base.record.splits and has_better(place) and not place[3].endswith(WEIGHTED):
            found.setdefault((place[0], *place[2:]), []).append(place)
    return {
        (config, name_whole(len(here)), metric, key): here for (config, metric, key), here in found.items() if here[1:]
    }


def _pool(two: RunPair, place: Place, by_split: Sequence[Values]) -> _Paired | None:
    """Pair what questions of all splits of a config count as.

    What is drawn is the question: it counts as the mean over the splits in which both runs scored it, so that what
    recurs in every split, with other passages, is counted once.
    """
    asked = two[0].asked or two[1].asked
    pairs: dict[Any, list[tuple[float, float]]] = {}
    for ones, others in by_split:
        for question in filter(others.__contains__, ones):
            pairs.setdefault(name_question(asked, question), []).append((ones[question], others[question]))
    first, second = ({what: fmean(both[at] for both in each) for what, each in pairs.items()} for at in range(2))
    items = [[Item(question, value) for question, value in side.items()] for side in (first, second)]
    pair = _widen(place, paired_difference([items[0]], [items[1]]))
    return _Paired(pair, (first, second)) if pair else None


def _adjust(family: _Family, kind_of: Callable[[RunAndPlace], Hashable]) -> _Family:
    """Adjust p of differences by Holm's rule: all that is told of differences goes by it.

    Those of one kind and one shape ask one question, as accuracy and hallucination where every answer is one or the
    other: they count once, and have one p, adjusted from the largest of theirs. What cannot be decided is not counted
    (Tarone 1990): one of few questions, or without a gain or loss on any; nor is one without a better end.
    """
    testable = {at: pair for at, (pair, *_) in family.items() if pair.n >= FEW and (pair.difference or pair.spread)}
    shapes = {at: (kind_of(at), _shape(gains_of(family[at].values, at[1]))) for at in testable if has_better(at[1])}
    largest: dict[Hashable, float] = {}
    for at, shape in shapes.items():
        largest[shape] = max(testable[at].p, largest.get(shape, 0.0))
    adjusted = dict(zip(largest, holm(list(largest.values())), strict=True))
    return {at: paired._replace(p_holm=adjusted.get(shapes.get(at))) for at, paired in family.items()}


def _shape(gains: Mapping[Any, float]) -> Hashable:
    """Return what each question gained, by the first that is not 0: the same of opposites and multiples."""
    changed = {question: gain for question, gain in gains.items() if abs(gain) > 1e-9}
    unit = next(iter(changed.values()), 1.0)
    return frozenset((question, round(gain / unit, 6)) for question, gain in changed.items())


def gains_of(values: Values, place: Place) -> dict[Any, float]:
    """Return what each question of both runs gained: above 0 where the second is better, if by a lower value."""
    ones, others = values
    sign = -1 if record_at(place).direction == "lower" else 1
    return {question: sign * (others[question] - one) for question, one in ones.items() if question in others}


def list_gains(first: Run, second: Run, place: Place, profile: str = PROFILES[0]) -> dict[Any, float]:
    sides = _find_sides((first, second), place, profile)
    return gains_of(_count(sides, place, profile), place) if sides else {}


def _find_sides(two: RunPair, place: Place, profile: str) -> list[list[Item]]:
    """Find the items of two runs on the questions that both have; [] where they may not be paired."""
    first, second = two
    if _rest_apart(two, place) or find_doubt(first, second, _name_items(place)):
        return []
    if any(score.place == place and score.status is Status.INVALID for run in two for score in run.whole(profile)):
        return []
    units = {question: asked.unit for question, asked in (first.asked or second.asked).items() if asked.unit}
    sides = [
        [item for item in _find_items(run, place, profile, units) if is_same(run, other, item.question)]
        for run, other in (two, two[::-1])
    ]
    return sides if all(sides) else []


def _count(sides: Sequence[Sequence[Item]], place: Place, profile: str) -> Values:
    first, second = (average_samples(side, choose_fill(profile, record_at(place).worst)) for side in sides)
    return first, second


def _name_items(place: Place) -> str:
    return f"{place[2]}.{place[3].removesuffix(WEIGHTED)}"


def _find_items(run: Run, place: Place, profile: str, units: Mapping[Any, str] | None = None) -> list[Item]:
    return items_of(run.lines(*place[:2]), _name_items(place), profile, units)


def _pair(two: RunPair, place: Place, profile: str) -> _Paired | None:
    """Pair means or, on the questions that count in both so that these have the same strata, weighted ones."""
    if not (sides := _find_sides(two, place, profile)):
        return None
    groups = [[side] for side in sides]
    weights = None
    if place[3].endswith(WEIGHTED):
        strata = {what: asked.stratum for what, asked in (two[0].asked or two[1].asked).items() if asked.stratum}
        counting = [{item.question for item in side if counts(item, profile)} for side in sides]
        shared = counting[0] & counting[1]
        if not shared <= strata.keys():
            return None
        stratified = [stratify([item for item in side if item.question in shared], strata, profile) for side in sides]
        groups = [strata_of_run for strata_of_run, _ in stratified]
        weights = stratified[0][1]
    pair = paired_difference(*groups, weights=weights, profile=profile, worst=record_at(place).worst)
    return _Paired(pair, _count(sides, place, profile)) if pair else None


def _widen(place: Place, pair: Pair | None) -> Pair | None:
    """Give a difference that is the same on every question an interval with a width, which resamples have not.

    One of nil gets that of a share; of another, as many questions as Wilson's interval of "all" leaves open may differ
    by nothing, or by the whole range of the metric the same way.
    """
    if pair is None or pair.spread > 1e-12:
        return pair
    if not pair.difference:
        return replace(pair, interval=share_difference(0, 0, pair.n))
    low, high = record_at(place).range
    if low is None or high is None:
        return pair
    known = wilson(pair.n, pair.n).low
    near = known * pair.difference
    far = near + math.copysign((1 - known) * (high - low), pair.difference)
    return replace(pair, interval=Interval(min(near, far), max(near, far)))
