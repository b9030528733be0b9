"""Two runs paired metric by metric on the questions that both have: over all of them, by slices, over groups."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from quadrag.metric_record import metric_record
from quadrag.stats import Item, Pair, paired_difference, paired_macro
from quadrag.stats.items import choose_fill, counted

from ...core.result import Asked, Result
from ...scoring.groups import counts, stratify
from ...scoring.rows import items_of
from ...scoring.validity import is_invalid
from ...tables.cells import Row, difference_cell
from ...tables.grid import Cell
from ...tables.slices import select_whole

Place = tuple[str, str, str, str]  # config, split, metric, key
_WEIGHTED = "_weighted"


class _Sides(NamedTuple):
    """The items of two runs on the questions that both have, what is known of these, and an unscored item's value."""

    items: tuple[list[Item], list[Item]]
    asked: Mapping[Any, Asked]
    worst: float


def pair_results(
    first: Result, second: Result, place: Place, profile: str = "official", grouping: str | None = None
) -> Pair | None:
    """Pair two runs on the questions that both have and scored; None where nothing can be paired, or one is invalid.

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
    if place[3].endswith(_WEIGHTED):
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
    if found is None or place[3].endswith(_WEIGHTED):
        return {}
    ones, others = (_by_slice(side, found.asked, grouping) for side in found.items)
    pairs = {
        value: paired_difference(side, others[value], profile=profile, worst=found.worst)
        for value, side in ones.items()
        if value in others
    }
    return {value: pair for value, pair in pairs.items() if pair}


def list_differences(first: Result, second: Result, place: Place, profile: str = "official") -> dict[Any, float]:
    """Return what each question that both have and scored gained in the second run, its samples' mean, by its key.

    It is above 0 where the second is better, also where a lower value is; arguments as of `pair_results`.
    """
    found = _find_sides(first, second, place, profile)
    if found is None:
        return {}
    fill = choose_fill(profile, found.worst)
    means: list[dict[Any, float]] = []
    for side in found.items:
        values: dict[Any, list[float]] = {}
        for item in side:
            if (value := counted(item, fill)) is not None:
                values.setdefault(item.question, []).append(value)
        means.append({question: fmean(one) for question, one in values.items()})
    sign = -1 if metric_record(place[2]).key(place[3]).direction == "lower" else 1
    return {question: sign * (means[1][question] - one) for question, one in means[0].items() if question in means[1]}


def pair_cell(pair: Pair, place: Place, p: float | None = None) -> Cell:
    """Make the cell of a paired difference; `p` is the test's, adjusted for others beside it."""
    return difference_cell(pair, metric_record(place[2]).key(place[3]).unit, p)


def place_of(row: Row) -> Place:
    """Return where a row of scores belongs."""
    return (row["config"], row["split"], row["metric"], row["key"])


def _find_sides(first: Result, second: Result, place: Place, profile: str) -> _Sides | None:
    config, split, metric, key = place
    for row in (*select_whole(first.scores), *select_whole(second.scores)):
        if row["profile"] == profile and place_of(row) == place and is_invalid(row):
            return None
    plain = key.removesuffix(_WEIGHTED)
    asked = first.asked or second.asked
    units = {question: one.unit for question, one in asked.items() if one.unit}
    sides = []
    for here, other in ((first, second), (second, first)):
        rows = [row for row in here.items if (row["config"], row["split"]) == (config, split)]
        items = items_of(rows, f"{metric}.{plain}", profile, units)
        sides.append([one for one in items if is_same(here, other, one.question)])
    return _Sides((sides[0], sides[1]), asked, metric_record(metric).key(plain).worst) if all(sides) else None


def is_same(first: Result, second: Result, question: Any) -> bool:
    """Whether a question of two runs is the same by its text and gold; where a folder does not say so, by its id."""
    here, there = first.asked, second.asked
    if not (here and there):
        return True
    return question in there and question in here and here[question].sha256 == there[question].sha256


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
