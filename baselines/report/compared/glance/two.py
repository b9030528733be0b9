"""Two runs at a glance: a few differences, each with its interval, both values and a verdict of a few words."""

from collections.abc import Iterator, Mapping, Sequence

from quadrag.stats import Pair

from ....core.result import Result
from ....scoring.validity import is_alike, is_invalid
from ....tables.cells import ALIKE, NOTHING, Row, mark_cell, value_cell
from ....tables.grid import Cell, Grid, Line
from ....tables.notes import name_units, note_directions
from ....tables.slices import select_whole
from ...summary import MOST, pick_headlines
from ..names import Place, name_columns, name_difference, name_places
from ..paired.overall import pool_splits
from ..paired.pairs import Compared, compare_each, has_better, pick_places, place_of
from ..said.verdict import BETTER, WORSE, format_p, verdict_cells
from ..said.words import say_missing, tell_rule


def glance_pair(runs: Sequence[tuple[str, Result]], profile: str = "official") -> Grid:
    """Make the few differences that a page of two named runs begins with: of several splits the first headline of each.

    Args:
        runs: name and result of each.
        profile: ``official`` or ``corrected``.
    """
    (_, first), (_, second) = runs
    columns = name_columns([name for name, _ in runs])
    tables = [
        {place_of(row): row for row in select_whole(one.scores) if row["profile"] == profile} for one in (first, second)
    ]
    places = [
        place
        for place in dict.fromkeys(map(place_of, pick_headlines(first.scores, profile)))
        if place in tables[1] and has_better(place)
    ]
    by_split = {place[:2]: place for place in reversed(places)}
    if len(by_split) > 1:
        places = list(reversed(by_split.values()))
    places = places[:MOST]
    heads = pick_places([first, second], profile)
    (compared,) = compare_each(first, [second], heads, profile)
    overall = pool_splits(first, second, heads, compared, profile)
    overall = {place: one for place, one in overall.items() if any(place[2:] == shown[2:] for shown in places)}
    labels = name_places([*overall, *places])

    def change_of(values: Sequence[str]) -> Cell:
        return Cell(" → ".join(map(" ".join, zip(columns, values, strict=True))))

    def make_line(place: Place, label: str, one: Compared, values: Sequence[str], rows: Sequence[Row]) -> Line:
        cell, verdict = verdict_cells(place, one.pair)
        doubt = ALIKE * any(map(is_alike, rows))
        value = Cell(cell.text + doubt, figure=None if doubt else cell.figure)
        texts = [mark_cell(value, *rows), Cell(cell.sub or NOTHING)]
        whose = f"{columns[1]} is " * (verdict.text in (BETTER, WORSE))
        said = Cell(whose + verdict.text, verdict.sub and _tell_p(one.pair, one.family))
        return Line(label, [*texts, change_of(values), said])

    lines = [
        make_line(place, labels[place], one.compared, one.show(place), [*_list_rows(tables, place)])
        for place, one in overall.items()
    ]
    for place in places:
        label = labels[place]
        rows = [table[place] for table in tables]
        values = [value_cell(row).text for row in rows]
        if place in compared and not any(map(is_invalid, rows)):
            lines.append(make_line(place, label, compared[place], values, rows))
        else:
            value = mark_cell(Cell(NOTHING), *rows)
            verdict = Cell("not compared", say_missing(first, second, place, profile, columns))
            cells = [value, Cell(NOTHING), change_of(values), verdict]
            lines.append(Line(label, cells))
    shown = [tables[0][place] for place in places]
    difference = name_difference(columns)
    notes = tell_rule(compared.values())
    notes += [f"{name_units(shown)}; {profile} profile; {difference} on questions scored in both."]
    notes += note_directions(place[2:] for place in places)
    return Grid("", "", [difference, "95% interval", " → ".join(columns), "verdict"], lines, notes, "forest")


def _tell_p(pair: Pair, family: int) -> str:
    """Say the p that decides; where it is adjusted, for how many comparisons, and what it is alone."""
    adjusted = pair.p_holm is not None and family > 1
    return format_p(pair.decisive) + f" for {family} comparisons, {format_p(pair.p)} alone" * adjusted


def _list_rows(tables: Sequence[Mapping[Place, Row]], place: Place) -> Iterator[Row]:
    """Yield the rows of all splits of a metric and a config."""
    for table in tables:
        yield from (row for at, row in table.items() if (at[0], *at[2:]) == (place[0], *place[2:]))
