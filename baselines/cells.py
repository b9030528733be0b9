"""How one number is written in a table: rates in percent, a dash for none, a question mark behind a doubtful one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .grid import Cell, Line
from .published import Published

NOTHING = "–"


def percent(value: float | None) -> str:
    """Show a rate in percent with two decimals, as the papers do; a dash for none."""
    if value is None:
        return NOTHING
    # As wide as 99.99: Table 1 fits into 80 columns to the character.
    return "100.0" if value == 1 else f"{value * 100:.2f}"


def bound(value: float) -> str:
    """Show a bound of an interval in percent with one decimal; 100 without, so that columns stay narrow."""
    return "100" if value == 1 else f"{value * 100:.1f}"


def value_cell(row: Mapping[str, Any] | None) -> Cell:
    """Show one row of ``scores.json``."""
    if row is None:
        return Cell(NOTHING)
    if "not_run" in row:
        return Cell("not run")
    return Cell(percent(row["value"]), "–".join(bound(side) for side in row["interval"] or ()))


def published_line(label: str, rows: Sequence[Published | None], rule: bool = False) -> Line:
    """Make a line of printed numbers; a question mark stands behind a doubtful one."""
    cells = [
        Cell(NOTHING) if row is None else Cell(percent(row.value) + ("?" if row.note.startswith("suspect") else ""))
        for row in rows
    ]
    return Line(label, cells, "published", rule)
