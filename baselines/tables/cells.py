"""How a number is written in a table: rates in percent, lengths in characters, a dash for none.

What a key's unit is stands in its metric's record.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from quadrag.metric_record import metric_record

from .grid import Cell

Row = Mapping[str, Any]  # of ``scores.json``
NOTHING = "–"
RATE, CHARACTERS = "rate", "characters"
FEW = 5  # items, below which a slice has no interval
# Long words broken where a column is to be narrow.
_BROKEN = {
    "hallucination": "halluci-\nnation",
    "truthfulness": "truthful-\nness",
    "RAGQuestEval precision": "RAGQuest-\nEval\nprecision",
    "RAGQuestEval recall": "RAGQuest-\nEval\nrecall",
}


def unit_of(row: Row) -> str:
    """Return the unit of a row's values."""
    return metric_record(row["metric"]).key(row["key"]).unit


def format_value(value: float | None, unit: str = RATE) -> str:
    """Write a rate in percent with two decimals, as the papers do, a length with one; a dash for none."""
    if value is None:
        return NOTHING
    if unit == CHARACTERS:
        return f"{value:.1f}"
    # As wide as 99.99: Table 1 fits into 80 columns to the character.
    return "100.0" if value == 1 else f"{value * 100:.2f}"


def format_bound(value: float, unit: str = RATE) -> str:
    """Write a bound of an interval: percent with one decimal, from 100 on none, for narrow columns; a length none."""
    if unit == CHARACTERS:
        return f"{value:.0f}"
    # A judge's verdict beyond its scale, which OmniEval's official values keep, is above 100.
    return f"{value * 100:.{0 if value >= 1 else 1}f}"


def break_heading(key: str) -> str:
    """Return a metric's key as the head of a narrow column, in two lines where it is long."""
    return _BROKEN.get(key, key.replace("_", "_\n", 1) if len(key) > 13 else key)


def interval_cell(value: float | None, interval: Sequence[float] | None, unit: str = RATE) -> Cell:
    """Make a cell of a value with its interval under it."""
    return Cell(format_value(value, unit), "–".join(format_bound(side, unit) for side in interval or ()))


def value_cell(row: Row | None, lacking: str = "not run") -> Cell:
    """Make the cell of a row: `lacking` where its metric did not run, a dash where there is no row."""
    if row is None or "not_run" in row:
        return Cell(NOTHING if row is None else lacking)
    return interval_cell(row["value"], row["interval"], unit_of(row))


def slice_cell(row: Row | None) -> Cell:
    """Make the cell of a slice, of few items without an interval: a resample of them says nothing."""
    cell = value_cell(row)
    return Cell(cell.text) if row is not None and (count_items(row) or 0) < FEW else cell


def count_items(row: Row) -> int | None:
    """Return over how many items a row's value is; None where the metric did not run."""
    if "not_run" in row:
        return None
    if row["profile"] == "corrected":
        return int(row["n_total"] - row["n_not_applicable"])
    return int(row["n_scored"] + row.get("n_filled", 0))


def difference_cell(value: float, low: float, high: float, mark: str = "", unit: str = RATE) -> Cell:
    """Make the cell of a difference of two values with its interval, written as the values are."""
    if unit == CHARACTERS:
        return Cell(f"{value:+.1f}{mark}", f"{low:+.0f} to {high:+.0f}")
    return Cell(f"{value * 100:+.2f}{mark}", f"{low * 100:+.1f} to {high * 100:+.1f}")
