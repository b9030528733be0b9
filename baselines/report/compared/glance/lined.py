"""Three runs or more, a line each: the value by a metric, and the difference from the first run's, by which they stand.

Of other metrics and splits a second table has the values alone; those that no run differs by are in a sentence.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from quadrag.metric_record import metric_record, show_key
from quadrag.stats import Pair

from ....core.result import Result
from ....scoring.validity import is_alike, is_invalid
from ....tables.cells import INVALID, NOTHING, Row, count_items, mark_cell, value_cell
from ....tables.grid import Cell, Grid, Line
from ....tables.names import is_whole
from ....tables.slices import select_whole
from ...failing import count_left_out, count_wrong, tell_failing, tell_order
from ...pooled import pool_rows
from ...summary import pick_headlines
from ..names import Place, join_labels, name_columns, name_places, tell_apart
from ..paired.overall import pool_each
from ..paired.pairs import Compared, compare_each, has_better, list_places, pick_places, place_of
from ..said.verdict import BETTER, EQUAL, WORSE, find_verdict, verdict_cells

_MOST = 24  # metrics and splits of which a terminal has the values
_WIDE = 80  # columns of a terminal
_DECIDED = {BETTER: "↑", WORSE: "↓"}  # behind a value that is so than the first run's
_APART = "not compared"
_MORE = "More of them: --verbose, and the page"


class Side(NamedTuple):
    """What a run came to by a metric, its row and what is shown of it, and what it differs by from the first one."""

    row: Row | None
    shown: Cell
    pair: Pair | None

    @property
    def value(self) -> float | None:
        """None where there is none."""
        return self.row["value"] if self.row else None

    @property
    def n(self) -> int:
        """Over how many questions."""
        return (self.row and count_items(self.row)) or 0


def head_differences(pairs: Iterable[Pair | None]) -> list[str]:
    """Return the heads of the cells of differences; p is named after Holm's rule where that raises one."""
    raised = any(pair and pair.p_holm is not None and pair.p_holm > pair.p for pair in pairs)
    return ["difference", "its interval", "n", "p (Holm)" if raised else "p", "verdict"]


def difference_cells(place: Place, pair: Pair | None, n: int = 0) -> list[Cell]:
    """Make the cells of a difference: it, its interval, over how many questions, p and verdict; or `n` alone."""
    if pair is None:
        return [*[Cell(NOTHING)] * 2, Cell(str(n) if n else NOTHING), *[Cell(NOTHING)] * 2]
    difference, verdict = verdict_cells(place, pair)
    texts = [
        difference.sub or NOTHING,
        str(pair.n),
        verdict.sub.removeprefix("Holm ").removeprefix("p ") or NOTHING,
        verdict.text,
    ]
    return [Cell(difference.text, figure=difference.figure), *map(Cell, texts)]


def line_up(runs: Sequence[tuple[str, Result]], profile: str, leading: Place | None = None) -> list[Grid]:
    """Make the table of one headline of runs, without the head of its title, and those of the others' values.

    Args:
        runs: name and result of each; the others are compared with the first.
        profile: ``official`` or ``corrected``.
        leading: the headline; the first one that tells runs apart when None.
    """
    results = [result for _, result in runs]
    found = find_sides(results, profile)
    found = {place: sides for place, sides in found.items() if any(map(_is_shown, sides))} or found
    names = [name for name, _ in runs]
    called = [" ".join(dict.fromkeys(both)) for both in zip(name_columns(names), tell_apart(names), strict=True)]
    alike = [place for place, sides in found.items() if _is_same(place, sides)]
    told = [place for place, sides in found.items() if place not in alike and not _is_marked(sides)]
    alike = alike if told else alike[1:]
    left = {place: sides for place, sides in found.items() if place not in alike}
    first = next((place for place, sides in left.items() if not _is_marked(sides)), next(iter(left)))
    lead = leading if leading in left else first
    order = _rank(lead, left[lead])
    labels = name_places(left)
    lines = []
    samples = len({row.get("sample", 0) for row in results[0].items}) or 1
    for at in order:
        side = left[lead][at]
        cells = [Cell(one.text) for one in difference_cells(lead, side.pair, 0 if at else side.n // samples)]
        cells = [_draw_share(lead, side.shown), *cells]
        if side.shown.text == INVALID:
            cells[-1] = Cell(INVALID)
        elif not _is_shown(side):
            cells[-1] = Cell(_APART)
        lines.append(Line(called[at], cells))
    base = name_columns(names)[0]
    notes: list[str] = []
    valued = {name: one.row for name, one in zip(called, left[lead], strict=True) if one.row and one.value is not None}
    notes += tell_failing(valued, label=labels[lead]) if has_better(lead) else []
    rows = [row for at in order if (row := left[lead][at].row) and left[lead][at].value is not None]
    notes += tell_order(rows) if has_better(lead) else []
    rest = [place for place in left if place != lead]
    shown, hidden = rest[:_MOST], rest[_MOST:]
    values = _list_values({place: left[place] for place in shown}, [(at, called[at]) for at in order])
    ends = {cell.text[-1:] for grid in values for line in grid.lines for cell in line.cells}
    notes += [f"Marked ↑: better than {base}, ↓: worse."] * (not ends.isdisjoint(_DECIDED.values()))
    notes += [f"The same in every run that has it: {_list_same(found, alike)}."] * bool(alike)
    notes += [f"Not in this table: {len(hidden)} more, as {labels[hidden[0]]}. {_MORE}."] if hidden else []
    columns = ["value", *head_differences(side.pair for side in left[lead])]
    title = f", {lead[0]} {lead[1]} {show_key(*lead[2:])}"
    return [Grid(title, "run", columns, lines, notes, names=called), *values]


def _list_values(found: dict[Place, list[Side]], runs: Sequence[tuple[int, str]]) -> list[Grid]:
    """List what runs, by rank and name, have by other metrics and splits: of each config in tables of its own."""
    configs = dict.fromkeys(place[0] for place in found)
    tables: list[Grid] = []
    for config in configs:
        here = {place: sides for place, sides in found.items() if place[0] == config}
        splits, metrics = ({place[part] for place in here} for part in (slice(1, 2), slice(2, 4)))
        head = " ".join([config, *next(iter(splits))] if len(splits) == 1 else [config]) * (len(configs) > 1)
        title, labels = head or "Other metrics", name_places(here)
        if len(metrics) == 1 < len(here):
            title = f"{head} {show_key(*next(iter(here))[2:])} by split".strip()
            labels = {place: place[1] for place in here}
        tables += _list_by_width(title, here, labels, runs)
    return tables


def _list_by_width(
    title: str, found: dict[Place, list[Side]], labels: Mapping[Place, str], runs: Sequence[tuple[int, str]]
) -> list[Grid]:
    """List values in tables that a terminal holds, the first of them with a title."""
    from rich.cells import cell_len

    tables: list[list[tuple[str, list[Cell]]]] = []
    left = 0
    for place, sides in found.items():
        cells = [_value_alone(place, sides[at]) for at, _ in runs]
        width = 2 + max(map(cell_len, (labels[place], *(cell.text for cell in cells))))
        if width > left:
            tables.append([])
            left = _WIDE - max(cell_len(name) for _, name in runs)
        left -= width
        tables[-1].append((labels[place], cells))
    return [
        Grid(
            title * (table is tables[0]),
            "run",
            [head for head, _ in table],
            [Line(name, [cells[at] for _, cells in table]) for at, (_, name) in enumerate(runs)],
        )
        for table in tables
    ]


def _value_alone(place: Place, side: Side) -> Cell:
    """Make the cell of a value, marked where it is better or worse than the first run's."""
    return Cell(side.shown.text + _DECIDED.get(find_verdict(place, side.pair) if side.pair else "", ""))


def find_sides(results: Sequence[Result], profile: str, every: bool = False) -> dict[Place, list[Side]]:
    """Find what each run came to by each headline, of several splits over all of them first; or by `every` metric."""
    first, *others = results
    heads = pick_places(results, profile)
    rest = [place for place in list_places(results, profile) if place not in heads] if every else []
    pairs: list[dict[Place, Compared]] = [{} for _ in others]  # of each of the others, those over all splits first
    for places in (heads, rest):
        compared = compare_each(first, others, places, profile)
        pooled = pool_each(first, others, places, compared, profile)
        for own, whole, here in zip(pairs, pooled, compared, strict=True):
            own |= {place: one.compared for place, one in whole.items()} | here
    found: dict[Place, list[Side]] = {}
    rows = [_list_rows(result, profile, every) for result in results]
    overall = dict.fromkeys(place for own in pairs for place, one in own.items() if one.splits)
    # Over all splits a first run without a value hides no other's.
    overall |= dict.fromkeys(
        place for one in rows for place in one if is_whole(place[1]) and _is_lost(first, place, profile)
    )
    for place in [*overall, *heads, *rest]:
        found[place] = []
        for result, row, own in zip(results, (one.get(place) for one in rows), ({}, *pairs), strict=True):
            cell = replace(value_cell(row), sub="")
            if place in overall:
                cell = mark_cell(cell, row) if row else Cell(INVALID if _is_lost(result, place, profile) else NOTHING)
            pair = own[place].pair if row and place in own else None
            found[place].append(Side(row, cell, pair))
    return found


def _list_rows(result: Result, profile: str, every: bool) -> dict[Place, Row]:
    """Return the rows of a run by their places, over all splits too, of the headlines or of `every` metric."""
    rows = [row for row in select_whole(result.scores) if row["profile"] == profile]
    pooled = pool_rows(result, rows if every else pick_headlines(result.scores, profile), profile)
    return {place_of(row): row for row in (*reversed(rows), *pooled)}


def _draw_share(place: Place, cell: Cell) -> Cell:
    """Leave a figure, which a notebook draws as a bar to 100, to shares alone."""
    return cell if metric_record(place[2]).key(place[3]).range == (0, 1) else replace(cell, figure=None)


def _is_lost(result: Result, place: Place, profile: str) -> bool:
    """Whether a run has no value by a metric, of a split or over all of them, since too many of its items failed."""
    rows = [row for row in select_whole(result.scores) if row["profile"] == profile and is_invalid(row)]
    at = {place_of(row) for row in rows}
    return place in at or (is_whole(place[1]) and any((one[0], *one[2:]) == (place[0], *place[2:]) for one in at))


def _is_shown(side: Side) -> bool:
    return side.shown.text not in (NOTHING, INVALID)


def _rank(place: Place, sides: Sequence[Side]) -> list[int]:
    """Rank runs, the best first, by their differences from the first one: their values may be over other questions.

    Where either failed on some it is the difference of their values with these as wrong ones.
    """
    sign = -1 if metric_record(place[2]).key(place[3]).direction == "lower" else 1
    known = [side.row if side.value is not None else None for side in sides]
    wrong = [count_wrong(row) if row else None for row in known]
    failed = [count_left_out(row) if row else 0 for row in known]

    def gain(at: int) -> float:
        mine, pair = wrong[at], sides[at].pair
        if pair and not (failed[0] or failed[at]):
            return sign * pair.difference
        return float("-inf") if mine is None else sign * (mine - (wrong[0] or 0.0))

    return sorted(range(len(sides)), key=lambda at: (-gain(at), failed[at]))


def _is_same(place: Place, sides: Sequence[Side]) -> bool:
    """Whether no question of any run that has a metric differs by it, nor the value, as over other questions it may."""
    pairs = [side.pair for side in sides[1:] if _is_shown(side)]
    return (
        bool(pairs)
        and all(side.shown.text != INVALID for side in sides)
        and len({side.shown.text for side in sides if _is_shown(side)}) == 1
        and all(pair is not None and find_verdict(place, pair) == EQUAL for pair in pairs)
    )


def _is_marked(sides: Sequence[Side]) -> bool:
    """Whether what runs have of a metric rests on verdicts that say nothing of the answers, and none is compared."""
    rows = [side.row for side in sides if side.row and side.value is not None]
    return bool(rows) and all(map(is_alike, rows)) and not any(side.pair for side in sides)


def _list_same(found: dict[Place, list[Side]], alike: Sequence[Place]) -> str:
    labels = name_places(found)
    return join_labels(f"{labels[place]} {found[place][0].shown.text}" for place in alike)
