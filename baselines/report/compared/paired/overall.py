"""A metric of two runs over all splits of a config together: a question of several splits counts once."""

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, NamedTuple

from quadrag.metric_record import metric_record
from quadrag.stats import Interval, Item, Pair, paired_difference, share_difference, wilson

from ....core.result import PROFILES, Result
from ....tables.cells import format_value
from ....tables.names import name_whole
from ....tables.slices import select_whole
from ...pooled import WEIGHTED, name_question, pool_rows
from ..names import Place
from .counts import Changes, count_gains
from .family import adjust, shape
from .pairs import Compared, has_better, list_values, place_of

_Sides = tuple[dict[Any, float], dict[Any, float]]  # what a question counts as in either run, its splits' mean
_Where = tuple[int, Place]  # which of the runs, and by what it is compared with the first


class Overall(NamedTuple):
    """A metric over all splits: each run's own value, their difference on the questions of both, how many changed."""

    values: tuple[float, float]
    compared: Compared
    changes: Changes

    def show(self, place: Place) -> list[str]:
        """Write both values."""
        unit = metric_record(place[2]).key(place[3]).unit
        return [format_value(value, unit, self.compared.pair.n) for value in self.values]


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
    (other,) = (name for name in PROFILES if name != profile)
    asked: dict[tuple[str, str, str], list[Place]] = {}
    for place in places:
        if place[1] in first.run.inputs.splits and has_better(place) and not place[3].endswith(WEIGHTED):
            asked.setdefault((place[0], *place[2:]), []).append(place)
    known = {
        (config, name_whole(len(here)), metric, key): here
        for (config, metric, key), here in asked.items()
        if len(here) > 1
    }
    sides = {
        (at, place): [_average(first, second, here, name) for name in (profile, other)]
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
            found[at][place] = Overall(
                (own.get(place, fmean(ones.values())), theirs[at].get(place, fmean(twos.values()))),
                Compared(pair, turned[at, place], pair.n, (0, 0), family, splits=len(known[place])),
                count_gains(_list_gains(place, (ones, twos))),
            )
    return found


def _pool_own(result: Result, places: Container[Place], profile: str) -> dict[Place, float]:
    """Return what a run alone has over all splits by the metrics of some places."""
    rows = [row for row in select_whole(result.scores) if row["profile"] == profile and place_of(row) in places]
    return {place_of(row): row["value"] for row in pool_rows(result, rows, profile)}


def _pair_all(sides: Mapping[_Where, _Sides]) -> tuple[dict[_Where, Pair | None], int]:
    pairs = {
        where: _widen(
            where[1], paired_difference(*([Item(question, value) for question, value in one.items()] for one in both))
        )
        for where, both in sides.items()
    }

    def shape_of(where: _Where) -> Any:
        ones, others = sides[where]
        gains = {question: others[question] - one for question, one in ones.items()}
        return where[0], where[1][0], shape(gains)

    return adjust(pairs, shape_of)


def _list_gains(place: Place, sides: _Sides) -> list[float]:
    sign = -1 if metric_record(place[2]).key(place[3]).direction == "lower" else 1
    return [sign * (sides[1][question] - one) for question, one in sides[0].items()]


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
    bounds = (
        known * pair.difference,
        known * pair.difference + math.copysign((1 - known) * (high - low), pair.difference),
    )
    return replace(pair, interval=Interval(min(bounds), max(bounds)))


def _average(first: Result, second: Result, places: Sequence[Place], profile: str) -> _Sides:
    """Return what each question counts as in two runs, whatever its split."""
    asked = first.asked or second.asked
    found: dict[Any, list[tuple[float, float]]] = {}
    for place in places:
        ones, others = list_values(first, second, place, profile)
        for at, one in ones.items():
            if at in others:
                found.setdefault(name_question(asked, at), []).append((one, others[at]))
    before, after = ({what: fmean(pair[at] for pair in pairs) for what, pairs in found.items()} for at in range(2))
    return before, after
