"""What two runs differ by, metric by metric on the questions that both have; over all splits; with p of a family."""

import math
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import fmean
from typing import Any, NamedTuple, TypeVar

from quadrag.metric_record import find_verdict, metric_record
from quadrag.stats import (
    NOT_APPLICABLE,
    Interval,
    Item,
    Pair,
    holm,
    paired_difference,
    share_difference,
    wilson,
)
from quadrag.stats.items import choose_fill, counted

from ...core.run_record import RunRecord
from ...judges.certificate import list_by_chance
from ...results.items import FAILED, items_of
from ...results.note import NoteCode, keys_of
from ...results.run import PROFILES, Asked, Result
from ...results.score import Status
from ...scoring.rows import counts, stratify
from ...tables.cells import FEW, difference_cell, format_value
from ...tables.grid import Alarm, Cell
from ...tables.names import keep_name, keep_names, name_whole
from ...tables.slices import select_whole
from ..pooled import WEIGHTED, average_samples, name_question, pool_rows
from ..summary import pick_headlines
from .names import Place

Where = TypeVar("Where")
Values = tuple[dict[Any, float], dict[Any, float]]  # what a question counts as in either run


class Compared(NamedTuple):
    """One metric of two runs, the second minus the first, with all that says how far a verdict holds.

    Attributes:
        pair: the paired difference under the profile that is shown.
        other: the same under the other one; None where nothing can be paired there.
        asked: how many questions the metric applies to, in the run that has more of them.
        failed: how many of those that both have failed in either run.
        family: for how many differences, of metrics and of runs, p is adjusted.
        splits: over how many splits together it is; 0 of one of one split.
    """

    pair: Pair
    other: Pair | None
    asked: int
    failed: tuple[int, int]
    family: int = 1
    splits: int = 0


class Changes(NamedTuple):
    """On how many questions the second of two runs is better, worse and equal by a metric."""

    better: int
    worse: int
    equal: int


class Overall(NamedTuple):
    """A metric over all splits: each run's own value, their difference on the questions of both, how many changed."""

    values: tuple[float, float]
    compared: Compared
    changes: Changes

    def show(self, place: Place) -> list[str]:
        """Write both values."""
        unit = metric_record(place[2]).key(place[3]).unit
        return [format_value(value, unit, self.compared.pair.n) for value in self.values]


class _Sides(NamedTuple):
    """The items of two runs on the questions that both have, what is known of these, and an unscored item's value."""

    items: tuple[list[Item], list[Item]]
    asked: Mapping[Any, Asked]
    worst: float


def has_better(place: Place) -> bool:
    """Whether one end of a metric is the better one, so that a difference asks for a verdict; of lengths neither is."""
    return metric_record(place[2]).key(place[3]).direction != "none"


def is_lower(place: Place) -> bool:
    """Whether less of a metric is better."""
    return metric_record(place[2]).key(place[3]).direction == "lower"


def pair_cell(pair: Pair, place: Place) -> Cell:
    """Make the cell of a paired difference."""
    return difference_cell(pair, metric_record(place[2]).key(place[3]).unit, has_better(place))


def pick_places(results: Iterable[Result], profile: str) -> list[Place]:
    """Pick the metrics that runs are compared by: the headlines of each."""
    return list(dict.fromkeys(row.place for one in results for row in pick_headlines(one.scores, profile)))


def list_places(results: Iterable[Result], profile: str) -> list[Place]:
    """List all metrics that ran in any of the runs."""
    rows = (row for one in results for row in select_whole(one.scores) if row.profile == profile)
    return list(dict.fromkeys(row.place for row in rows if row.ran))


def is_same(first: Result, second: Result, question: Any) -> bool:
    """Whether a question of two runs is the same by its text and gold; where a folder does not say so, by its id."""
    here, there = first.asked, second.asked
    if not (here and there):
        return True
    return question in there and question in here and here[question].sha256 == there[question].sha256


def match_answers(first: Result, second: Result) -> Iterator[bool]:
    """Yield of each answer to a question that both have whether it is the same text in both."""
    for place, text in first.texts.items():
        if place in second.texts and is_same(first, second, place[0]):
            yield text is not None and text == second.texts[place]


@lru_cache(maxsize=1)  # of the two that are compared: every metric asks
def answer_alike(first: Result, second: Result) -> bool:
    """Whether two runs share a question, and all answers to those that they share are the same texts."""
    matches = match_answers(first, second)
    return next(matches, False) and all(matches)


def doubt_verdicts(first: Result, second: Result, name: str) -> str:
    """Say why values of two runs by a judged metric do not tell which answers are better; "" where they may.

    Args:
        first: a run.
        second: another one.
        name: of the metric, as items name it.
    """
    verdict = find_verdict(*name.split(".", 1))
    if not verdict:
        return ""
    both = (first, second)
    constant = [verdict in keys_of(one.run, NoteCode.JUDGE_CONSTANT) for one in both]
    if any(constant) and not any(_has_both(one, verdict) for one in both):
        return f"the judge{' of each' * all(constant)} says the same of every answer"
    if answer_alike(first, second):
        mine, theirs = ({_key(row): row for row in one.items} for one in both)
        if any(mine[key].get(name) != theirs[key].get(name) for key in mine.keys() & theirs.keys()):
            return "the answers are the same; only the verdicts differ"
    elif _name_judges(first, second):
        return "the judges are not the same"
    if any(verdict in keys_of(one.run, NoteCode.JUDGE_DOUBTFUL) for one in both):
        return "a judge's verdicts are far from what words say"
    if any(verdict in list_by_chance(one) for one in both):
        return "the judge agrees with people no better than chance"
    return ""


def _has_both(result: Result, verdict: str) -> bool:
    """Whether a run's judge, and no rule, said one thing of an answer and another of another one."""
    entries = (item[verdict] for item in result.items if verdict in item)
    said = {entry["official"] for entry in entries if "official" not in entry.get("ruled", ())}
    return len(said - {None}) > 1


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["config"], row["split"], row["id"], row["sample"]


def note_judges_apart(first: Result, second: Result) -> list[Alarm]:
    """Say that different judges judged two runs; [] where it was one, or either run was not judged."""
    names = _name_judges(first, second)
    what = "differences of judged metrics are the judges' as well as the answers'"
    return [Alarm(f"Judged by different judges ({names}): {what}.")] if names else []


def _name_judges(first: Result, second: Result) -> str:
    """Name the different judges of two runs by the first thing in which they differ; "" where none is known."""
    pairs = zip(_describe_judges(first.run), _describe_judges(second.run), strict=True)
    return next((f"{one}; {other}" for one, other in pairs if one and other and one != other), "")


def _describe_judges(inputs: RunRecord) -> list[str]:
    """Name the judges of a run by their models, where they are asked, and their prompt; "" for what is not known."""
    if inputs.judge is None:
        return [""] * 3
    services = ", ".join(keep_name(name) for role, name in inputs.services.items() if role.startswith("judge"))
    prompt = (inputs.judging or {}).get("prompt")
    judge = keep_names(inputs.judge)
    return [
        judge,
        f"{judge} at {services}" if services else "",
        f"{judge}, own prompt {prompt}" if prompt else f"{judge}, no own prompt",
    ]


def adjust(
    pairs: Mapping[Where, Pair | None], shape_of: Callable[[Where], Hashable]
) -> tuple[dict[Where, Pair | None], int]:
    """Adjust p of differences by Holm's rule, and count for how many: all that is told of differences goes by it.

    Those of one shape ask one question, as accuracy and hallucination where every answer is one or the other: they
    count once, and have one p, adjusted from the largest of theirs. What cannot be decided is not counted (Tarone
    1990): one of few questions, or without a gain or loss on any.

    Args:
        pairs: the differences.
        shape_of: says of one which shape it has (`shape`); None where no verdict is asked for, which is not counted.
    """
    told = {where: pair for where, pair in pairs.items() if pair and (pair.difference or pair.spread)}
    known = [where for where, pair in told.items() if pair.n >= FEW]
    shapes = {where: found for where in known if (found := shape_of(where)) is not None}
    largest: dict[Hashable, float] = {}
    for where, found in shapes.items():
        largest[found] = max(told[where].p, largest.get(found, 0.0))
    adjusted = dict(zip(largest, holm(list(largest.values())), strict=True))
    return {
        where: pair and replace(pair, p_holm=adjusted[shapes[where]] if where in shapes else None)
        for where, pair in pairs.items()
    }, len(adjusted)


def shape(gains: Mapping[Any, float]) -> Hashable:
    """Return what each question gained, in proportion to the first that is not 0.

    It is the same of two metrics whose gains are equal, opposite or multiples, question by question.
    """
    changed = {question: gain for question, gain in gains.items() if abs(gain) > 1e-9}
    unit = next(iter(changed.values()), 1.0)
    return frozenset((question, round(gain / unit, 6)) for question, gain in changed.items())


def shape_of(first: Result, second: Result, place: Place, profile: str, apart: Hashable) -> Hashable:
    """Return the shape of the difference of two runs by a metric; None where it has no better end.

    Those that differ in what is `apart` are never of one shape.
    """
    if not has_better(place):
        return None
    return apart, place[3].endswith(WEIGHTED), shape(list_differences(first, second, place, profile))


def compare_each(
    first: Result, others: Sequence[Result], places: Sequence[Place], profile: str = "official"
) -> list[dict[Place, Compared]]:
    """Compare runs with a first one by metric, p adjusted for all of these; what has no pair is left out."""
    pairs = {
        (at, place): _pair_profiles(first, other, place, profile) for at, other in enumerate(others) for place in places
    }

    def adjust_all(side: int, name: str) -> tuple[dict[tuple[int, Place], Pair | None], int]:
        return adjust(
            {where: both[side] for where, both in pairs.items()},
            lambda where: shape_of(first, others[where[0]], where[1], name, where[0]),
        )

    (shown, family), (turned, _) = adjust_all(0, profile), adjust_all(1, _turn(profile))
    found: list[dict[Place, Compared]] = [{} for _ in others]
    for (at, place), pair in shown.items():
        if pair:
            found[at][place] = Compared(pair, turned[at, place], *count_failed(first, others[at], place), family=family)
    return found


def _turn(profile: str) -> str:
    return next(name for name in PROFILES if name != profile)


def _pair_profiles(first: Result, second: Result, place: Place, profile: str) -> tuple[Pair | None, Pair | None]:
    """Pair two runs under a profile and under the other one."""
    pair = pair_results(first, second, place, profile)
    values = []
    for name in PROFILES:
        found = _find_sides(first, second, place, name)
        values.append(found and [counted(one, choose_fill(name, found.worst)) for side in found.items for one in side])
    # Most metrics are the same under both, and the tests of a pair take long.
    return pair, pair if values[0] == values[1] else pair_results(first, second, place, _turn(profile))


def pair_results(
    first: Result, second: Result, place: Place, profile: str = "official", grouping: str | None = None
) -> Pair | None:
    """Pair two runs on the questions that both have and scored; None where nothing can be paired, or one is invalid.

    Nor is there a pair of judged metrics whose verdicts do not tell which answers are better (`doubt_verdicts`). They
    are the same questions where their ids, texts and gold agree.

    Args:
        first: a run.
        second: another one of the same benchmark.
        place: config, split, metric and key.
        profile: ``official`` or ``corrected``.
        grouping: pairs means over its slices, which count alike whatever their size; None pairs plain means.
    """
    found = _find_sides(first, second, place, profile)
    if found is None:
        return None
    if place[3].endswith(WEIGHTED):
        return _pair_strata(found, profile)
    if grouping is None:
        return paired_difference(*([side] for side in found.items), profile=profile, worst=found.worst)
    ones, others = (_by_slice(side, found.asked, grouping) for side in found.items)
    if ones.keys() != others.keys():
        return None
    both = list(ones.values()), [others[value] for value in ones]
    return paired_difference(*both, profile=profile, worst=found.worst)


def say_unpaired(first: Result, second: Result, place: Place, profile: str) -> str:
    """Say why two runs that both have a valid metric have no pair of it."""
    if why := _doubt(first, second, place):
        return why
    found = _find_sides(first, second, place, profile)
    if found is None:
        return "no question is in both"
    ones, others = ({item.question for item in side} for side in found.items)
    return "the questions are not the same" if ones != others else "no question was scored in both"


def count_failed(first: Result, second: Result, place: Place) -> tuple[int, tuple[int, int]]:
    """Count the questions of the larger of two runs, and how many of those that both have failed in either."""
    sides = [_find_items(one, place, "corrected") for one in (first, second)]  # what can be read is what it reads
    asked = max(len({item.question for item in side if item.reason != NOT_APPLICABLE}) for side in sides)
    both = {item.question for item in sides[0] if is_same(first, second, item.question)}
    both &= {item.question for item in sides[1]}
    one, other = (len({item.question for item in side if item.reason in FAILED} & both) for side in sides)
    return asked, (one, other)


def list_values(first: Result, second: Result, place: Place, profile: str) -> Values:
    """Return what each question counts as in two runs, its samples' mean, of those that both have."""
    found = _find_sides(first, second, place, profile)
    if found is None:
        return {}, {}
    one, other = (average_samples(side, choose_fill(profile, found.worst)) for side in found.items)
    return one, other


def list_differences(first: Result, second: Result, place: Place, profile: str = "official") -> dict[Any, float]:
    """Return what each question that both have and scored gained in the second run, its samples' mean, by its key.

    It is above 0 where the second is better, also where a lower value is; arguments as of `pair_results`.
    """
    ones, others = list_values(first, second, place, profile)
    sign = -1 if is_lower(place) else 1
    return {question: sign * (others[question] - one) for question, one in ones.items() if question in others}


def count_changes(first: Result, second: Result, place: Place, profile: str) -> Changes | None:
    """Count on how many questions the second is better, worse and equal; None where nothing says which is better."""
    gained = list_differences(first, second, place, profile).values() if has_better(place) else ()
    return _count_gains(gained) if gained else None


def _count_gains(gained: Collection[float]) -> Changes:
    better, worse = sum(one > 0 for one in gained), sum(one < 0 for one in gained)
    return Changes(better, worse, len(gained) - better - worse)


def _doubt(first: Result, second: Result, place: Place) -> str:
    return doubt_verdicts(first, second, f"{place[2]}.{place[3].removesuffix(WEIGHTED)}")


def _find_sides(first: Result, second: Result, place: Place, profile: str) -> _Sides | None:
    if _doubt(first, second, place):
        return None
    for row in (*select_whole(first.scores), *select_whole(second.scores)):
        if row.profile == profile and row.place == place and row.status is Status.INVALID:
            return None
    asked = first.asked or second.asked
    units = {question: one.unit for question, one in asked.items() if one.unit}
    sides = []
    for here, other in ((first, second), (second, first)):
        items = _find_items(here, place, profile, units)
        sides.append([one for one in items if is_same(here, other, one.question)])
    worst = metric_record(place[2]).key(place[3].removesuffix(WEIGHTED)).worst
    return _Sides((sides[0], sides[1]), asked, worst) if all(sides) else None


def _find_items(one: Result, place: Place, profile: str, units: Mapping[Any, str] | None = None) -> list[Item]:
    rows = [row for row in one.items if (row["config"], row["split"]) == place[:2]]
    return items_of(rows, f"{place[2]}.{place[3].removesuffix(WEIGHTED)}", profile, units)


def _by_slice(items: Sequence[Item], known: Mapping[Any, Asked], name: str) -> dict[str, list[Item]]:
    found: dict[str, list[Item]] = {}
    for item in items:
        if item.question in known and (value := known[item.question].slices.get(name)) is not None:
            found.setdefault(value, []).append(item)
    return found


def _pair_strata(found: _Sides, profile: str) -> Pair | None:
    """Pair weighted means: on the questions that count in both, so that these have the same strata."""
    strata = {question: one.stratum for question, one in found.asked.items() if one.stratum}
    counting = [{item.question for item in side if counts(item, profile)} for side in found.items]
    shared = counting[0] & counting[1]
    if not shared <= strata.keys():
        return None
    (ones, weights), (others, _) = (
        stratify([item for item in side if item.question in shared], strata, profile) for side in found.items
    )
    return paired_difference(ones, others, weights=weights, profile=profile, worst=found.worst)


def pool_splits(
    first: Result, second: Result, places: Sequence[Place], compared: Container[Place], profile: str
) -> dict[Place, Overall]:
    """Compare two runs over all splits of a config together; arguments as of `pool_each`."""
    (found,) = pool_each(first, [second], places, [compared], profile)
    return found


def pool_each(
    first: Result, others: Sequence[Result], places: Sequence[Place], compared: Sequence[Container[Place]], profile: str
) -> list[dict[Place, Overall]]:
    """Compare runs with a first one over all splits of a config together; p is adjusted for these differences alone.

    What is drawn is the question: it counts as the mean over the splits in which both runs scored it, so that what
    recurs in every split, as RGB's questions do with other passages, is counted once.

    Args:
        first: a run.
        others: each is compared with it.
        places: of the metrics that are compared by split.
        compared: of each of the others those that have a difference; a metric that lacks one of a split is left out.
        profile: ``official`` or ``corrected``.
    """
    asked: dict[tuple[str, str, str], list[Place]] = {}
    for place in places:
        if place[1] in first.run.splits and has_better(place) and not place[3].endswith(WEIGHTED):
            asked.setdefault((place[0], *place[2:]), []).append(place)
    known: dict[Place, list[Place]] = {
        (config, name_whole(len(here)), metric, key): here
        for (config, metric, key), here in asked.items()
        if len(here) > 1
    }
    sides = {
        (at, place): [_average(first, second, here, name) for name in (profile, _turn(profile))]
        for at, (second, pairs) in enumerate(zip(others, compared, strict=True))
        for place, here in known.items()
        if all(one in pairs for one in here)
    }
    shown, family = _pair_all({where: both[0] for where, both in sides.items()})
    turned, _ = _pair_all({where: both[1] for where, both in sides.items()})
    parts = {place for here in known.values() for place in here}
    own, *theirs = (_pool_own(result, parts, profile) for result in (first, *others))
    found: list[dict[Place, Overall]] = [{} for _ in others]
    for (at, place), pair in shown.items():
        if pair:
            ones, twos = sides[at, place][0]
            sign = -1 if is_lower(place) else 1
            found[at][place] = Overall(
                (own.get(place, fmean(ones.values())), theirs[at].get(place, fmean(twos.values()))),
                Compared(pair, turned[at, place], pair.n, (0, 0), family, splits=len(known[place])),
                _count_gains([sign * (twos[question] - one) for question, one in ones.items()]),
            )
    return found


def _pool_own(result: Result, places: Container[Place], profile: str) -> dict[Place, float]:
    """Return what a run alone has over all splits by the metrics of some places."""
    rows = [row for row in select_whole(result.scores) if row.profile == profile and row.place in places]
    return {row.place: float(row) for row in pool_rows(result, rows, profile)}


def _pair_all(sides: Mapping[tuple[int, Place], Values]) -> tuple[dict[tuple[int, Place], Pair | None], int]:
    pairs = {
        where: _widen(
            where[1], paired_difference(*([[Item(question, value) for question, value in one.items()]] for one in both))
        )
        for where, both in sides.items()
    }

    def find_shape(where: tuple[int, Place]) -> Hashable:
        ones, others = sides[where]
        return where[0], where[1][0], shape({question: others[question] - one for question, one in ones.items()})

    return adjust(pairs, find_shape)


def _widen(place: Place, pair: Pair | None) -> Pair | None:
    """Give a difference that is the same on every question an interval with a width, which resamples have not.

    One of nil gets that of a share; of another, as many questions as Wilson's interval of "all" leaves open may differ
    by nothing, or by the whole range of the metric the same way.
    """
    if pair is None or pair.spread > 1e-12:
        return pair
    if not pair.difference:
        return replace(pair, interval=share_difference(0, 0, pair.n))
    low, high = metric_record(place[2]).key(place[3]).range
    if low is None or high is None:
        return pair
    known = wilson(pair.n, pair.n).low
    near = known * pair.difference
    far = near + math.copysign((1 - known) * (high - low), pair.difference)
    return replace(pair, interval=Interval(min(near, far), max(near, far)))


def _average(first: Result, second: Result, places: Sequence[Place], profile: str) -> Values:
    """Return what each question counts as in two runs, the mean over its splits."""
    asked = first.asked or second.asked
    found: dict[Any, list[tuple[float, float]]] = {}
    for place in places:
        ones, others = list_values(first, second, place, profile)
        for at, one in ones.items():
            if at in others:
                found.setdefault(name_question(asked, at), []).append((one, others[at]))
    before, after = ({what: fmean(pair[at] for pair in pairs) for what, pairs in found.items()} for at in range(2))
    return before, after
