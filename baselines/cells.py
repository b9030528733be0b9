"""How a number is written in a table: rates in percent, lengths in characters, a dash for none, ? where doubtful."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .grid import Cell, Line
from .published import Published

NOTHING = "–"
# Long names broken where a column is to be narrow.
_BROKEN = {"hallucination": "halluci-\nnation", "truthfulness": "truthful-\nness"}
_CHARACTERS = ("length",)  # keys that are no rates


def shown(key: str, value: float | None) -> str:
    """Show a value of a metric's key: a rate in percent, a length in characters with one decimal."""
    return percent(value) if value is None or key not in _CHARACTERS else f"{value:.1f}"


def heading(key: str) -> str:
    """Return a metric's key as the head of a narrow column, in two lines where it is long."""
    return _BROKEN.get(key, key.replace("_", "_\n", 1) if len(key) > 13 else key)


def percent(value: float | None) -> str:
    """Show a rate in percent with two decimals, as the papers do; a dash for none."""
    if value is None:
        return NOTHING
    # As wide as 99.99: Table 1 fits into 80 columns to the character.
    return "100.0" if value == 1 else f"{value * 100:.2f}"


def bound(key: str, value: float) -> str:
    """Show a bound of an interval: percent with one decimal, from 100 on none, for narrow columns; a length none."""
    if key in _CHARACTERS:
        return f"{value:.0f}"
    # A judge's verdict beyond its scale, which OmniEval's official values keep, is above 100.
    return f"{value * 100:.{0 if value >= 1 else 1}f}"


def value_cell(row: Mapping[str, Any] | None) -> Cell:
    """Show one row of ``scores.json``."""
    if row is None:
        return Cell(NOTHING)
    if "not_run" in row:
        return Cell("not run")
    return Cell(shown(row["key"], row["value"]), "–".join(bound(row["key"], side) for side in row["interval"] or ()))


def difference_cell(key: str, value: float, low: float, high: float, mark: str = "") -> Cell:
    """Show a difference of two values of a key with its interval, as `value_cell` shows the values."""
    if key in _CHARACTERS:
        return Cell(f"{value:+.1f}{mark}", f"{low:+.0f} to {high:+.0f}")
    return Cell(f"{value * 100:+.2f}{mark}", f"{low * 100:+.1f} to {high * 100:+.1f}")


def published_line(label: str, rows: Sequence[Published | None], rule: bool = False) -> Line:
    """Make a line of printed numbers; a question mark stands behind a doubtful one."""

    def cell(row: Published | None) -> Cell:
        doubt = "?" if row and row.note.startswith("suspect") else ""
        return Cell(NOTHING if row is None else shown(row.key, row.value) + doubt)

    return Line(label, [cell(row) for row in rows], "published", rule)
