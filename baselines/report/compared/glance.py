"""Two runs at a glance: a few differences, each with its interval, both values and a verdict of a few words."""

from collections.abc import Sequence

from quadrag.metric_record import show_key
from quadrag.stats import Pair

from ...core.result import Result
from ...scoring.validity import is_invalid
from ...tables.cells import NOTHING, format_value, unit_of
from ...tables.grid import Cell, Grid, Line
from ...tables.notes import name_units, note_directions
from ...tables.slices import select_whole
from ..summary import MOST, pick_headlines
from .names import name_columns, name_difference
from .overall import pool_splits
from .pairs import Place, compare_each, has_better, pair_cell, pick_places, place_of
from .words import name_places, say_missing, tell_shortly


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
    labels = name_places(places[:MOST])
    heads = pick_places([first, second], profile)
    (compared,) = compare_each(first, [second], heads, profile)

    def change_of(values: Sequence[str]) -> Cell:
        return Cell(" → ".join(map(" ".join, zip(columns, values, strict=True))))

    def make_line(place: Place, label: str, pair: Pair, values: Sequence[str]) -> Line:
        cell = pair_cell(pair, place)
        texts = [Cell(cell.text.rstrip("*"), figure=cell.figure), Cell(cell.sub or NOTHING)]
        return Line(label, [*texts, change_of(values), Cell(tell_shortly(place, pair, columns))])

    lines = [
        make_line(place, " ".join([place[1], show_key(*place[2:])]), one.compared.pair, one.show(place))
        for place, one in pool_splits(first, second, heads, compared, profile).items()
        if any(place[2:] == shown[2:] for shown in labels)
    ]
    for place, label in labels.items():
        rows = [table[place] for table in tables]
        values = [format_value(row.get("value"), unit_of(row), row.get("n_scored")) for row in rows]
        if place in compared and not any(map(is_invalid, rows)):
            lines.append(make_line(place, label, compared[place].pair, values))
        else:
            value = Cell("INVALID" if any(map(is_invalid, rows)) else NOTHING)
            verdict = Cell("not compared", say_missing(first, second, place, profile, columns))
            cells = [value, Cell(NOTHING), change_of(values), verdict]
            lines.append(Line(label, cells))
    shown = [tables[0][place] for place in labels]
    difference = name_difference(columns)
    notes = [f"{name_units(shown)}; {profile} profile; {difference} on questions scored in both."]
    notes += note_directions(place[2:] for place in labels)
    return Grid("", "", [difference, "95% interval", " → ".join(columns), "verdict"], lines, notes, "forest")
