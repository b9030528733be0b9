"""How our values and the printed ones stand in the lines of a table.

Ours come with their 95% intervals, with how many items they are over, and with the second profile where it differs.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from quadrag.results.note import Note, NoteCode
from quadrag.results.score import Score

from .cells import NOTHING, RATE, count_both, value_cell
from .published import Published
from .table import COUNT, Cell, Figure, Row

UNDER = Note(NoteCode.UNDER_VALUES)
Name = Callable[[Any], Hashable]  # of a row: the column, or the line, that it stands in


def our_lines(
    label: str,
    scores: Iterable[Score],
    columns: Sequence[Hashable],
    profiles: Sequence[str],
    place: Name = attrgetter("key.key"),
    *,
    rule: bool = False,
) -> list[Row]:
    """Make our lines: the first profile's values and over how many items they are, and another's where they differ.

    Args:
        label: of the first line.
        scores: those that stand in the lines, among others.
        columns: the place of each.
        profiles: those shown.
        place: of a score.
        rule: whether a line is drawn above.
    """
    by_place = {(score.profile, place(score)): score for score in scores}
    lines: list[Row] = []
    shown: list[list[Cell]] = []
    for profile in profiles:
        rows = [by_place.get((profile, column)) for column in columns]
        cells = [value_cell(row) for row in rows]
        if cells in shown:
            continue
        if shown:  # charts show one profile
            lines.append(Row(f"  {profile}", [replace(cell, figure=None) for cell in cells]))
        else:
            lines += [Row(label, cells, rule=rule), count_line(rows)]
        shown.append(cells)
    return lines


def count_line(rows: Sequence[Score | None]) -> Row:
    """Make the line of how many items values are over, as ``9/12`` where some of those that count have none."""
    return Row(COUNT, [Cell(_count(row)) for row in rows])


def _count(row: Score | None) -> str:
    if row is None or not row.ran:
        return NOTHING
    count, total = count_both(row)
    return f"{count}/{total}" if count < total else str(count)


def printed_lines(
    rows: Iterable[Published],
    columns: Sequence[Hashable],
    name: Callable[[Published], str] = attrgetter("model"),
    place: Name = attrgetter("key"),
) -> list[Row]:
    """Make a line of printed numbers for each name; ? stands behind a doubtful one, a dash where none is printed."""
    named: dict[str, dict[Hashable, Cell]] = {}
    for row in rows:
        figure = Figure(float(row.printed), unit="%" if row.unit == RATE else "")
        named.setdefault(name(row), {})[place(row)] = Cell(row.printed + "?" * row.doubtful, figure=figure)
    return [Row(label, [cells.get(c, Cell(NOTHING)) for c in columns], "published") for label, cells in named.items()]
