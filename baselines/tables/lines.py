"""How our values and the printed ones stand in the lines of a table.

Ours come with their 95% intervals, with how many items they are over, and with the second profile where it differs.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, Literal

from ..results.score import Score, Status
from .cells import NOTHING, RATE, count_both, value_cell
from .grid import COUNT, Cell, Figure, Line
from .published import Published

BOUNDS = ("  95% from", "  95% to")  # the labels of lines of bounds
Name = Callable[[Any], Hashable]  # of a row: the column, or the line, that it stands in


def our_lines(
    label: str,
    scores: Iterable[Score],
    columns: Sequence[Hashable],
    profiles: Sequence[str],
    place: Name = attrgetter("key.key"),
    *,
    rule: bool = False,
    bounds: bool = False,
    counts: Literal["always", "fewer", "each", "never"] = "always",
) -> list[Line]:
    """Make our lines: the first profile's values, and another's where they differ.

    Args:
        label: of the first line.
        scores: rows of ``scores.json``.
        columns: the place of each.
        profiles: those shown.
        place: of a row.
        rule: whether a line is drawn above.
        bounds: the interval as two lines of bounds, in place of under each value: for narrow columns.
        counts: a line of how many items the values are over: ``always`` under the first profile; ``fewer``, the same
            where some items do not count; ``each``, under every profile where some do not; or ``never``.
    """
    found = {(row.profile, place(row)): row for row in scores}
    lines: list[Line] = []
    shown: list[list[Cell]] = []
    for profile in profiles:
        rows = [found.get((profile, column)) for column in columns]
        cells = [value_cell(row) for row in rows]
        if bounds:
            cells = [replace(cell, sub="") for cell in cells]
        if cells in shown:
            continue
        first = not shown
        shown.append(cells)
        if not first:  # charts show one profile
            cells = [replace(cell, figure=None) for cell in cells]
        lines.append(Line(label if first else f"  {profile}", cells, rule=rule and first))
        if bounds:
            lines += [_bound_line(label, rows, side) for side, label in enumerate(BOUNDS)]
        fewer = any(row and (row.status is Status.INVALID or row.n not in (None, row.counts.n_total)) for row in rows)
        if {"always": first, "fewer": first and fewer, "each": fewer, "never": False}[counts]:
            lines.append(count_line(rows))
    return lines


def count_line(rows: Sequence[Score | None]) -> Line:
    """Make the line of how many items values are over, as ``9/12`` where some of those that count have none."""
    return Line(COUNT, [Cell(_count(row)) for row in rows])


def _count(row: Score | None) -> str:
    count = None if row is None else row.n
    if row is None or count is None:
        return NOTHING
    count, total = count_both(row)
    return f"{count}/{total}" if count < total else str(count)


def printed_lines(
    rows: Iterable[Published],
    columns: Sequence[Hashable],
    name: Callable[[Published], str] = attrgetter("model"),
    place: Name = attrgetter("key"),
) -> list[Line]:
    """Make a line of printed numbers for each name; ? stands behind a doubtful one, a dash where none is printed."""
    named: dict[str, dict[Hashable, Cell]] = {}
    for row in rows:
        cell = Cell(
            row.printed + "?" * row.doubtful, figure=Figure(float(row.printed), unit="%" if row.unit == RATE else "")
        )
        named.setdefault(name(row), {})[place(row)] = cell
    return [Line(label, [cells.get(c, Cell(NOTHING)) for c in columns], "published") for label, cells in named.items()]


def _bound_line(label: str, rows: Sequence[Score | None], side: int) -> Line:
    bounds = [re.split("–| to ", value_cell(row).sub) for row in rows]
    return Line(label, [Cell(both[side] if len(both) > 1 else NOTHING) for both in bounds])
