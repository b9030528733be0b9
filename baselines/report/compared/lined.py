"""Three runs or more, a line each, the best first: the value by a metric, and the difference from the first run's.

Metrics that no run differs by are folded into a sentence, and of many lines the first metrics' alone are shown.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from quadrag.metric_record import metric_record, show_key
from quadrag.stats import Pair

from ...core.result import Result
from ...tables.cells import NOTHING, value_cell
from ...tables.grid import Cell, Grid, Line, Verdict
from ...tables.slices import select_whole
from .names import Place, join_labels, name_columns, name_places, tell_apart
from .overall import pool_splits
from .pairs import compare_each, has_better, list_places, pick_places, place_of
from .verdict import EQUAL, find_verdict, verdict_cells

FEW_RUNS = 3  # of which each is told of in words
_MOST = 60  # lines of a terminal
_MORE = "More of them: --verbose, and the page"


class Side(NamedTuple):
    """What a run came to by a metric, and what it differs by from the first one."""

    value: float | None
    shown: Cell
    pair: Pair | None


_NONE = Side(None, Cell(NOTHING), None)


def difference_cells(place: Place, pair: Pair | None) -> list[Cell]:
    """Make the cells of a difference: it, its interval, over how many questions, p and verdict."""
    if pair is None:
        return [Cell(NOTHING)] * 5
    difference, verdict = verdict_cells(place, pair)
    texts = [difference.sub, str(pair.n), verdict.sub.removeprefix("p ") or NOTHING, verdict.text]
    return [Cell(difference.text, figure=difference.figure), *map(Cell, texts)]


def line_up(runs: Sequence[tuple[str, Result]], profile: str) -> Grid:
    """Make the table of the headlines of runs, without a head of its title: what all lines share of their places.

    Args:
        runs: name and result of each; the others are compared with the first.
        profile: ``official`` or ``corrected``.
    """
    results = [result for _, result in runs]
    found = find_sides(results, profile)
    found = {place: sides for place, sides in found.items() if any(map(_is_shown, sides))} or found
    names = [name for name, _ in runs]
    called = [" ".join(dict.fromkeys(both)) for both in zip(name_columns(names), tell_apart(names), strict=True)]
    alike = [place for place, sides in found.items() if _is_same(place, sides)]
    alike = alike if len(alike) < len(found) else alike[1:]
    left = {place: sides for place, sides in found.items() if place not in alike}
    lead = next(iter(left))
    sign = -1 if metric_record(lead[2]).key(lead[3]).direction == "lower" else 1
    values = [-sign * side.value if side.value is not None else float("inf") for side in left[lead]]
    order = sorted(range(len(runs)), key=values.__getitem__)
    labels = name_places(left)
    lines: list[Line] = []
    hidden: list[str] = []
    for place, sides in left.items():
        here = [
            Line(
                " " * (len(left) > 1) + called[at],
                [sides[at].shown, *difference_cells(place, sides[at].pair)],
            )
            for at in order
            if _is_shown(sides[at])
        ]
        if not here:
            continue
        if hidden or (lines and len(lines) + len(here) > _MOST):
            hidden.append(labels[place])
            continue
        lines += [Line(labels[place], [Cell("")] * 6, rule=bool(lines))] * (len(left) > 1)
        lines += here
    shared = [*dict.fromkeys(place[0] for place in left)], [*dict.fromkeys(place[1] for place in left)]
    title = " ".join(one[0] for one in shared if len(one) == 1)
    title += f" {show_key(*lead[2:])}" * (len(left) == 1)
    pairs = [side.pair for side in left[lead][1:] if side.pair]
    counts = Counter(find_verdict(lead, pair) for pair in pairs if len(runs) > FEW_RUNS and has_better(lead))
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    notes: list[str] = [Verdict(f"Compared with {name_columns(names)[0]} on {labels[lead]}: {told}.")] * bool(told)
    notes += [f"The same in every run that has it: {_list_same(found, alike)}."] * bool(alike)
    notes += [f"Not in this table: {len(hidden)} more, as {hidden[0]}. {_MORE}."] if hidden else []
    columns = ["value", "difference", "95% interval", "n", "p", "verdict"]
    return Grid(f", {title}" * bool(title), "run", columns, lines, notes, names=called)


def find_sides(results: Sequence[Result], profile: str, every: bool = False) -> dict[Place, list[Side]]:
    """Find what each run came to by each headline, of several splits over all of them first; or by `every` metric."""
    first, *others = results
    heads = pick_places(results, profile)
    compared = compare_each(first, others, heads, profile)
    pooled = [pool_splits(first, other, heads, pairs, profile) for other, pairs in zip(others, compared, strict=True)]
    found: dict[Place, list[Side]] = {}
    for place in dict.fromkeys(place for one in pooled for place in one):
        # The first run's is over the questions that the other one has too: said where that is one value.
        firsts = {one[place].show(place)[0]: one[place].values[0] for one in pooled if place in one}
        own = [Side(value, Cell(shown), None) for shown, value in firsts.items()]
        found[place] = own if len(own) == 1 else [_NONE]
        for one in pooled:
            there = one.get(place)
            side = Side(there.values[1], Cell(there.show(place)[1]), there.compared.pair) if there else _NONE
            found[place].append(side)
    if every:
        rest = [place for place in list_places(results, profile) if place not in heads]
        others_too = compare_each(first, others, rest, profile)
        compared = [shown | more for shown, more in zip(compared, others_too, strict=True)]
        heads = [*heads, *rest]
    for place in heads:
        found[place] = []
        for at, result in enumerate(results):
            rows = (row for row in select_whole(result.scores) if row["profile"] == profile and place_of(row) == place)
            row = next(rows, None)
            pair = compared[at - 1].get(place) if at else None
            cell = value_cell(row)
            cell = cell if len(results) <= FEW_RUNS else replace(cell, sub="")
            found[place].append(Side(row["value"] if row else None, cell, pair and pair.pair))
    return found


def _is_shown(side: Side) -> bool:
    return side.shown.text != NOTHING


def _is_same(place: Place, sides: Sequence[Side]) -> bool:
    """Whether no question of any run that has a metric differs by it."""
    pairs = [side.pair for side in sides[1:] if _is_shown(side)]
    return bool(pairs) and all(pair is not None and find_verdict(place, pair) == EQUAL for pair in pairs)


def _list_same(found: dict[Place, list[Side]], alike: Sequence[Place]) -> str:
    labels = name_places(found)
    return join_labels(f"{labels[place]} {found[place][0].shown.text}" for place in alike)
