"""In which slices of the questions two runs differ, in words."""

from collections.abc import Iterable

from quadrag.stats import Pair

from ....core.result import Result
from ....tables.cells import ALPHA, FEW
from ..names import Place, name_places
from ..paired.family import adjust, shape
from ..paired.pairs import has_better, list_differences, pair_cell, pair_slices
from .verdict import find_verdict

_MANY = 20  # slices of a grouping beyond which nothing is told of them


def tell_slices(first: Result, second: Result, places: Iterable[Place], profile: str, name: str) -> list[str]:
    """Say in which slices two runs differ, grouping by grouping, the p values of each adjusted together.

    Args:
        first: a run.
        second: another one.
        places: of the metrics to tell of.
        profile: ``official`` or ``corrected``.
        name: what the second is called.
    """
    groupings: dict[str, set[str]] = {}
    for asked in first.asked.values():
        for grouping, value in asked.slices.items():
            groupings.setdefault(grouping, set()).add(value)
    labels = name_places(filter(has_better, places))
    gains = {place: list_differences(first, second, place, profile) for place in labels}
    notes = []
    for grouping in (grouping for grouping, values in groupings.items() if len(values) <= _MANY):
        groups = {question: asked.slices.get(grouping) for question, asked in first.asked.items()}
        pairs: dict[tuple[Place, str], Pair | None] = {}
        for place in labels:
            slices = pair_slices(first, second, place, profile, grouping)
            known = {(place, value): pair for value, pair in slices.items() if pair.n >= FEW}
            pairs |= known if len(known) > 1 else {}
        told: dict[str, dict[str, list[str]]] = {}
        shapes = {
            (place, value): shape({at: gain for at, gain in gains[place].items() if groups[at] == value})
            for place, value in pairs
        }
        for (place, value), pair in adjust(pairs, shapes.get)[0].items():
            if pair and pair.decisive < ALPHA:
                by_name = told.setdefault(find_verdict(place, pair), {})
                by_name.setdefault(labels[place], []).append(f"{value} {pair_cell(pair, place).text}")
        notes += [
            f"By {grouping.replace('_', ' ')}, p by Holm: {name} is {verdict} on "
            + "; ".join(f"{metric} ({', '.join(parts)})" for metric, parts in by_name.items())
            + "."
            for verdict, by_name in told.items()
        ]
    return notes
