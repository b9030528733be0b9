"""A metric of two runs over all splits of a config together: a question of several splits counts once."""

from collections.abc import Container, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from quadrag.metric_record import metric_record
from quadrag.stats import Item, Pair, paired_difference, share_difference

from ...core.result import PROFILES, Result
from ...tables.cells import format_value
from ..pooled import WEIGHTED, name_question
from .family import adjust, shape
from .names import Place
from .pairs import Compared, has_better, list_values

_Sides = tuple[dict[Any, float], dict[Any, float]]  # what a question counts as in either run, its splits' mean


class Overall(NamedTuple):
    """A metric over all splits: both runs' means over the questions, and the difference of these."""

    values: tuple[float, float]
    compared: Compared

    def show(self, place: Place) -> list[str]:
        """Write both means."""
        unit = metric_record(place[2]).key(place[3]).unit
        return [format_value(value, unit, self.compared.pair.n) for value in self.values]


def pool_splits(
    first: Result, second: Result, places: Sequence[Place], compared: Container[Place], profile: str
) -> dict[Place, Overall]:
    """Compare two runs over all splits of a config together; p is adjusted for these differences alone.

    What is drawn is the question: it counts as the mean over the splits in which both runs scored it, so that what
    recurs in every split, as RGB's questions do with other passages, is counted once.

    Args:
        first: a run.
        second: another one.
        places: of the metrics that are compared by split.
        compared: those of them that have a difference; a metric that lacks one of a split is left out.
        profile: ``official`` or ``corrected``.
    """
    (other,) = (name for name in PROFILES if name != profile)
    asked: dict[tuple[str, str, str], list[Place]] = {}
    for place in places:
        if place[1] in first.run.inputs.splits and has_better(place) and not place[3].endswith(WEIGHTED):
            asked.setdefault((place[0], *place[2:]), []).append(place)
    known = {
        (config, f"all {len(here)} splits", metric, key): here
        for (config, metric, key), here in asked.items()
        if len(here) > 1 and all(place in compared for place in here)
    }
    sides = {place: [_average(first, second, here, name) for name in (profile, other)] for place, here in known.items()}
    shown, family = _pair_all({place: both[0] for place, both in sides.items()})
    turned, _ = _pair_all({place: both[1] for place, both in sides.items()})
    return {
        place: Overall(
            (fmean(sides[place][0][0].values()), fmean(sides[place][0][1].values())),
            Compared(pair, turned[place], pair.n, (0, 0), family, splits=len(known[place])),
        )
        for place, pair in shown.items()
        if pair
    }


def _pair_all(sides: Mapping[Place, _Sides]) -> tuple[dict[Place, Pair | None], int]:
    pairs = {
        place: _widen(paired_difference(*([Item(question, value) for question, value in one.items()] for one in both)))
        for place, both in sides.items()
    }

    def shape_of(place: Place) -> Any:
        ones, others = sides[place]
        return place[0], shape({question: others[question] - one for question, one in ones.items()})

    return adjust(pairs, shape_of)


def _widen(pair: Pair | None) -> Pair | None:
    """Give a difference that is nil on every question the interval of a share that is: a resample has no width."""
    nil = pair is not None and pair.difference == 0 == pair.spread
    return pair._replace(interval=share_difference(0, 0, pair.n)) if pair and nil else pair


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
