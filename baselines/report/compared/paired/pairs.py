"""Two runs paired metric by metric on the questions that both have: over all of them, by slices, over groups."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from quadrag.hub.record import hub_record
from quadrag.metric_record import metric_record
from quadrag.stats import NOT_APPLICABLE, Item, Pair, paired_difference, paired_macro
from quadrag.stats.items import choose_fill, counted

from ....core.result import PROFILES, Asked, Result
from ....scoring.faults import FAILED
from ....scoring.groups import counts, stratify
from ....scoring.rows import items_of
from ....scoring.validity import is_invalid
from ....tables.cells import Row, difference_cell
from ....tables.grid import Cell
from ....tables.slices import select_whole
from ...pooled import WEIGHTED, average_samples
from ...summary import pick_headlines
from ..names import Place
from .family import adjust, shape
from .shared import doubt_verdicts, is_same


class _Sides(NamedTuple):
    """The items of two runs on the questions that both have, what is known of these, and an unscored item's value."""

    items: tuple[list[Item], list[Item]]
    asked: Mapping[Any, Asked]
    worst: float


class Compared(NamedTuple):
    """One metric of two runs, the second minus the first, with all that says how far a verdict holds.

    Attributes:
        pair: the paired difference under the profile that is shown.
        other: the same under the other one; None where nothing can be paired there.
        asked: how many questions the metric applies to, in the run that has more of them.
        failed: how many of those that both have failed in either run.
        family: for how many differences, of metrics and of runs, p is adjusted.
        left: how many questions of the split the larger run did not have; None where nobody knows.
        splits: over how many splits together it is; 0 of one of one split.
    """

    pair: Pair
    other: Pair | None
    asked: int
    failed: tuple[int, int]
    family: int = 1
    left: int | None = None
    splits: int = 0


def pick_places(results: Iterable[Result], profile: str) -> list[Place]:
    """Pick the metrics that runs are compared by: the headlines of each."""
    return list(dict.fromkeys(place_of(row) for one in results for row in pick_headlines(one.scores, profile)))


def list_places(results: Iterable[Result], profile: str) -> list[Place]:
    """List all metrics that ran in any of the runs."""
    rows = (row for one in results for row in select_whole(one.scores) if row["profile"] == profile)
    return list(dict.fromkeys(place_of(row) for row in rows if "not_run" not in row))


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
            failed = count_failed(first, others[at], place)
            found[at][place] = Compared(pair, turned[at, place], *failed, family, _count_left(first, others[at], place))
    return found


def _count_left(first: Result, second: Result, place: Place) -> int | None:
    """Count the questions of a split that neither of two runs had: of the authors', or of the data of a part of one."""
    config, split, *_ = place
    whole = hub_record(first.run.inputs.benchmark).rows.get(config, {}).get(split)
    inputs = first.run.inputs
    if first.run.coverage and (inputs.config, inputs.splits) == (config, [split]):
        number = int(first.run.coverage.split(" of ")[1])
    elif not whole or not whole.number or whole.about or not first.run.whose.theirs:
        return None
    else:
        number = whole.number
    sizes = [
        len({row["id"] for row in one.items if (row["config"], row["split"]) == (config, split)})
        for one in (first, second)
    ]
    return max(number - max(sizes), 0)


def shape_of(first: Result, second: Result, place: Place, profile: str, apart: Hashable) -> Hashable:
    """Return the shape of the difference of two runs by a metric (`family.py`); None where it has no better end.

    Those that differ in what is `apart` are never of one shape.
    """
    if not has_better(place):
        return None
    return apart, place[3].endswith(WEIGHTED), shape(list_differences(first, second, place, profile))


def has_better(place: Place) -> bool:
    """Whether one end of a metric is the better one, so that a difference asks for a verdict; of lengths neither is."""
    return metric_record(place[2]).key(place[3]).direction != "none"


def _pair_profiles(first: Result, second: Result, place: Place, profile: str) -> tuple[Pair | None, Pair | None]:
    """Pair two runs under a profile and under the other one."""
    pair = pair_results(first, second, place, profile)
    values = []
    for name in PROFILES:
        found = _find_sides(first, second, place, name)
        values.append(found and [counted(one, choose_fill(name, found.worst)) for side in found.items for one in side])
    # Most metrics are the same under both, and the tests of a pair take long.
    return pair, pair if values[0] == values[1] else pair_results(first, second, place, _turn(profile))


def _turn(profile: str) -> str:
    return next(name for name in PROFILES if name != profile)


def count_failed(first: Result, second: Result, place: Place) -> tuple[int, tuple[int, int]]:
    """Count the questions of the larger of two runs, and how many of those that both have failed in either."""
    sides = [_find_items(one, place, "corrected") for one in (first, second)]  # what can be read is what it reads
    asked = max(len({item.question for item in side if item.reason != NOT_APPLICABLE}) for side in sides)
    both = {item.question for item in sides[0] if is_same(first, second, item.question)}
    both &= {item.question for item in sides[1]}
    one, other = (len({item.question for item in side if item.reason in FAILED} & both) for side in sides)
    return asked, (one, other)


def pair_results(
    first: Result, second: Result, place: Place, profile: str = "official", grouping: str | None = None
) -> Pair | None:
    """Pair two runs on the questions that both have and scored; None where nothing can be paired, or one is invalid.

    Nor is there a pair of judged metrics whose verdicts do not tell which answers are better (`shared.py`).

    They are the same questions where their ids, texts and gold agree; where a folder does not say so, the runs must
    have the same ids.

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
        return paired_difference(*found.items, profile=profile, worst=found.worst)
    ones, others = (_by_slice(side, found.asked, grouping) for side in found.items)
    if ones.keys() != others.keys():
        return None
    both = list(ones.values()), [others[value] for value in ones]
    return paired_macro(*both, profile=profile, worst=found.worst)


def pair_slices(first: Result, second: Result, place: Place, profile: str, grouping: str) -> dict[str, Pair]:
    """Pair two runs on each slice of a grouping, by the slice's value; arguments as of `pair_results`."""
    found = _find_sides(first, second, place, profile)
    if found is None or place[3].endswith(WEIGHTED):
        return {}
    ones, others = (_by_slice(side, found.asked, grouping) for side in found.items)
    pairs = {
        value: paired_difference(side, others[value], profile=profile, worst=found.worst)
        for value, side in ones.items()
        if value in others
    }
    return {value: pair for value, pair in pairs.items() if pair}


def say_unpaired(first: Result, second: Result, place: Place, profile: str) -> str:
    """Say why two runs that both have a valid metric have no pair of it."""
    if why := _doubt(first, second, place):
        return why
    found = _find_sides(first, second, place, profile)
    if found is None:
        return "no question is in both"
    ones, others = ({item.question for item in side} for side in found.items)
    return "the questions are not the same" if ones != others else "no question was scored in both"


def list_differences(first: Result, second: Result, place: Place, profile: str = "official") -> dict[Any, float]:
    """Return what each question that both have and scored gained in the second run, its samples' mean, by its key.

    It is above 0 where the second is better, also where a lower value is; arguments as of `pair_results`.
    """
    ones, others = list_values(first, second, place, profile)
    sign = -1 if metric_record(place[2]).key(place[3]).direction == "lower" else 1
    return {question: sign * (others[question] - one) for question, one in ones.items() if question in others}


def list_values(
    first: Result, second: Result, place: Place, profile: str
) -> tuple[Mapping[Any, float], Mapping[Any, float]]:
    """Return what each question counts as in two runs, its samples' mean, of those that both have."""
    found = _find_sides(first, second, place, profile)
    if found is None:
        return {}, {}
    one, other = (average_samples(side, choose_fill(profile, found.worst)) for side in found.items)
    return one, other


def pair_cell(pair: Pair, place: Place) -> Cell:
    """Make the cell of a paired difference."""
    return difference_cell(pair, metric_record(place[2]).key(place[3]).unit, has_better(place))


def place_of(row: Row) -> Place:
    """Return where a row of scores belongs."""
    return (row["config"], row["split"], row["metric"], row["key"])


def _doubt(first: Result, second: Result, place: Place) -> str:
    """Say why a difference of two runs is not the answers'; "" where it is."""
    return doubt_verdicts(first, second, f"{place[2]}.{place[3].removesuffix(WEIGHTED)}")


def _find_sides(first: Result, second: Result, place: Place, profile: str) -> _Sides | None:
    if _doubt(first, second, place):
        return None
    for row in (*select_whole(first.scores), *select_whole(second.scores)):
        if row["profile"] == profile and place_of(row) == place and is_invalid(row):
            return None
    asked = first.asked or second.asked
    units = {question: one.unit for question, one in asked.items() if one.unit}
    sides = []
    for here, other in ((first, second), (second, first)):
        items = _find_items(here, place, profile, units)
        sides.append([one for one in items if is_same(here, other, one.question)])
    return _Sides((sides[0], sides[1]), asked, _find_worst(place)) if all(sides) else None


def _find_worst(place: Place) -> float:
    return metric_record(place[2]).key(place[3].removesuffix(WEIGHTED)).worst


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
    counted = [{item.question for item in side if counts(item, profile)} for side in found.items]
    shared = counted[0] & counted[1]
    if not shared <= strata.keys():
        return None
    (ones, weights), (others, _) = (
        stratify([item for item in side if item.question in shared], strata, profile) for side in found.items
    )
    return paired_macro(ones, others, weights=weights, profile=profile, worst=found.worst)
