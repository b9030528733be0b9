"""How a number is written in a table: rates in percent, lengths in characters, a dash for none.

What a key's unit is stands in its metric's record.
"""

from collections.abc import Sequence
from dataclasses import replace

from quadrag.stats import Pair

from ..results.score import Score, Status
from .grid import NOTHING as NOTHING
from .grid import Cell, Figure

RATE, CHARACTERS = "rate", "characters"
ALPHA = 0.05  # of differences that are none, the share that is taken for one
INVALID = "INVALID"  # in the place of a value of which too many items failed
ALIKE = "!"  # behind what rests on verdicts that say nothing of the answers
FEW = 5  # items, below which a value has no interval: a resample of them says nothing
MANY = 400  # items, beyond which a rate has two decimals
# Long words broken where a column is to be narrow.
_BROKEN = {
    "hallucination": "halluci-\nnation",
    "truthfulness": "truthful-\nness",
    "RAGQuestEval precision": "RAGQuest-\nEval\nprecision",
    "RAGQuestEval recall": "RAGQuest-\nEval\nrecall",
}


def format_value(value: float | None, unit: str, n: int | None) -> str:
    """Write a rate over n items in percent, with the decimals that n has earned, a length with one; a dash for none."""
    if value is None:
        return NOTHING
    if unit == CHARACTERS:
        return write_number(value, 1)
    # As wide as 99.99: Table 1 fits into 80 columns to the character.
    return "100.0" if value == 1 else write_number(value * 100, _decimals(n))


def write_number(value: float, decimals: int, sign: str = "") -> str:
    """Write a number, with ``+`` as the sign the greater ones too; what is 0 in these decimals has none."""
    text = f"{value:{sign}.{decimals}f}"
    return text if float(text) else text.lstrip("+-")


def _decimals(n: int | None) -> int:
    return 2 if n is not None and n > MANY else 1


def _format_bound(value: float, unit: str = RATE) -> str:
    """Write a bound of an interval with one decimal, a rate in percent; one above 1 with none.

    OmniEval's official values keep a judge's verdict beyond its scale, and their columns are narrow.
    """
    return write_number(value, 1) if unit == CHARACTERS else write_number(value * 100, 0 if value > 1 else 1)


def write_bounds(value: float | None, bounds: Sequence[float], unit: str) -> list[str]:
    """Write the bounds of a value; those of a length in whole characters where it lies between: columns are narrow."""
    whole = [write_number(side, 0) for side in bounds]
    if unit == CHARACTERS and value is not None and whole and float(whole[0]) <= round(value, 1) <= float(whole[1]):
        return whole
    return [_format_bound(side, unit) for side in bounds]


def join_bounds(bounds: Sequence[str]) -> str:
    """Write an interval, as ``1.2–3.4``; beside a minus a dash would be taken for another: ``-1.2 to 3.4``."""
    return (" to " if any(side.startswith("-") for side in bounds) else "–").join(bounds)


def break_heading(key: str) -> str:
    """Return a metric's key as the head of a narrow column, in two lines where it is long."""
    return _BROKEN.get(key, key.replace("_", "_\n", 1) if len(key) > 13 else key)


def interval_cell(value: float | None, interval: Sequence[float] | None, n: int | None, unit: str = RATE) -> Cell:
    """Make a cell of a value over n items with its interval under it, where they are not too few."""
    bounds = (interval or ()) if n is not None and n >= FEW else ()
    return Cell(
        format_value(value, unit, n),
        join_bounds(write_bounds(value, bounds, unit)),
        figure_of(value, bounds, n, unit),
    )


def figure_of(
    value: float | None, bounds: Sequence[float] = (), n: int | None = None, unit: str = RATE
) -> Figure | None:
    """Make the figure of a value, where there is one: a rate in percent."""
    scale = 1 if unit == CHARACTERS else 100
    between = (bounds[0] * scale, bounds[1] * scale) if bounds else None
    return None if value is None else Figure(value * scale, between, n, unit="" if unit == CHARACTERS else "%")


def value_cell(row: Score | None) -> Cell:
    """Make the cell of a row: a dash where there is none, or its metric did not run, which a note says.

    An invalid value is called so. What rests on verdicts that say nothing of the answers is marked, in no chart.
    """
    if row is None or not row.ran:
        return Cell(NOTHING)
    if row.status is Status.INVALID:
        return Cell(INVALID)
    cell = interval_cell(row.value, row.interval, row.n, row.record.unit)
    if cell.figure and row.record.direction == "lower":
        cell.figure = cell.figure._replace(lower=True)
    marked = row.status is Status.UNTRUSTED_JUDGE and row.value is not None
    return replace(cell, text=cell.text + ALIKE, figure=None) if marked else cell


def mark_cell(cell: Cell, *rows: Score) -> Cell:
    """Return the cell of a value that stands large with what nobody may overlook of the rows behind it."""
    if any(row.status is Status.INVALID for row in rows):
        return Cell(INVALID)
    return replace(cell, sub="NOT RELIABLE") if any(row.status is Status.UNRELIABLE for row in rows) else cell


def items_of(row: Score) -> str:
    """Write over how many items a row's value is, of those that the metric is about, or all in how many splits."""
    if row.counts.times:
        return f"{row.counts.n_total} × {row.counts.times} splits"
    scored, total = count_both(row)
    return f"{scored} of {total}"


def count_both(row: Score) -> tuple[int, int]:
    """Count the items that a row's value is over, and those that its metric is about.

    Over all splits of a config these are questions or, where some of their answers are left out, answers.
    """
    total = count_all(row)
    if row.counts.left_out:
        return total - row.counts.left_out, total
    return row.n or 0, total - row.counts.n_not_applicable


def count_all(row: Score) -> int:
    """Count the items that a row's metric was tried on: of a value over all splits as `count_both` does."""
    return row.counts.n_answers if row.counts.left_out else row.counts.n_total


def difference_cell(pair: Pair, unit: str = RATE, better: bool = True) -> Cell:
    """Make the cell of a difference of two values, written as the values are, its interval under it.

    Args:
        pair: the difference.
        unit: of the values.
        better: whether more or less is better; where it is not, no chart asks what is chance.
    """
    text = format_difference(pair.difference, unit, pair.n)
    if pair.n < FEW:
        return Cell(text)
    bounds = " to ".join(write_bounds(pair.difference, pair.interval, unit))
    bounds *= bool(pair.difference or any(pair.interval))  # where nothing differs one without width tells nothing
    figure = better and figure_of(pair.difference, pair.interval, pair.n, unit)
    said = "characters" if unit == CHARACTERS else "percent points"
    return Cell(text, bounds, figure._replace(sure=pair.decisive < ALPHA, unit=said) if figure else None)


def format_difference(value: float, unit: str, n: int) -> str:
    """Write a difference of two values over n items, with its sign and their decimals."""
    return write_number(value, 1, "+") if unit == CHARACTERS else write_number(value * 100, _decimals(n), "+")
