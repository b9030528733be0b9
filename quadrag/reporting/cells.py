"""How numbers are written, and how our values and the printed ones stand in the cells and lines of a table.

A rate is in percent, a length in characters, as the record of its metric says; a dash is in the place of none.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from quadrag.results.compare import Difference
from quadrag.results.score import Score, Status

from .published import Published
from .table import CHARACTERS as CHARACTERS
from .table import NOTHING as NOTHING
from .table import RATE as RATE
from .table import Cell, Figure, Row

ALPHA = 0.05  # of differences that are none, the share that is taken for one
INVALID = "INVALID"  # in the place of a value of which too many items failed
ALIKE = "!"  # behind what rests on verdicts that say nothing of the answers
FEW = 5  # items, below which a value has no interval: a resample of them says nothing
MANY = 400  # items, beyond which a rate has two decimals
Name = Callable[[Any], Hashable]  # of a row: the column, or the line, that it stands in


def write_number(value: float, decimals: int, sign: str = "") -> str:
    """Write a number, with ``+`` as the sign the greater ones too; what is 0 in these decimals has none."""
    text = f"{value:{sign}.{decimals}f}"
    return text if float(text) else text.lstrip("+-")


def format_value(value: float | None, unit: str = RATE, n: int | None = None, sign: str = "") -> str:
    """Write a rate over n items in percent, with the decimals that n has earned, or a length; ``+`` a difference."""
    if value is None:
        return NOTHING
    if unit == CHARACTERS:
        return write_number(value, 1, sign)
    return write_number(value * 100, 2 if (n or 0) > MANY else 1, sign)


def format_interval(bounds: Sequence[float | None] | None, unit: str = RATE) -> str:
    """Write an interval, as ``1.2–3.4``; beside a minus a dash would be taken for another: ``-1.2 to 3.4``."""
    sides = [format_value(side, unit) for side in bounds or () if side is not None]
    return (" to " if any(side.startswith("-") for side in sides) else "–").join(sides)


# Cells.


def interval_cell(value: float | None, interval: Sequence[float] | None, n: int | None, unit: str = RATE) -> Cell:
    """Make a cell of a value over n items with its interval under it, where they are not too few."""
    bounds = interval if interval and (n or 0) >= FEW else None
    return Cell(format_value(value, unit, n), format_interval(bounds, unit), _figure(value, bounds, n, unit))


def _figure(value: float | None, bounds: Sequence[float] | None, n: int | None, unit: str) -> Figure | None:
    scale = 1 if unit == CHARACTERS else 100
    between = (bounds[0] * scale, bounds[1] * scale) if bounds else None
    return None if value is None else Figure(value * scale, between, n, unit="" if unit == CHARACTERS else "%")


def value_cell(row: Score | None) -> Cell:
    """Make the cell of a score: a dash where there is none, or its metric did not run, which a note says.

    What rests on verdicts that say nothing of the answers is marked, and in no chart.
    """
    if row is None or not row.ran:
        return Cell(NOTHING)
    if row.status is Status.INVALID:
        return Cell(INVALID)
    cell = interval_cell(row.value, row.interval, row.n, row.record.unit)
    marked = row.status is Status.UNTRUSTED_JUDGE and row.value is not None
    return Cell(cell.text + ALIKE, cell.sub) if marked else cell


def difference_cell(one: Difference, better: bool = True) -> Cell:
    """Write a difference with its interval below, and as it stands in a chart.

    Args:
        one: the difference, of runs that are compared.
        better: whether one end of the metric is the better one.
    """
    unit = one.record.unit
    text = format_value(one.delta, unit, one.n, "+")
    if one.n < FEW:
        return Cell(text)
    figure = _figure(one.delta, one.interval, one.n, unit) if better else None
    units = "characters" if unit == CHARACTERS else "percent points"
    figure = figure and figure._replace(sure=one.decisive < ALPHA, unit=units)
    return Cell(text, format_interval(one.interval, unit), figure)


def count_both(row: Score) -> tuple[int, int]:
    """Count the items that a score's value is over, and those that its metric is about.

    Over all splits of a config these are questions or, where some of their answers are left out, answers.
    """
    total = count_all(row)
    if row.counts.left_out:
        return total - row.counts.left_out, total
    return row.n or 0, total - row.counts.n_not_applicable


def count_all(row: Score) -> int:
    """Count the items that a score's metric was tried on: of a value over all splits as `count_both` does."""
    return row.counts.n_answers if row.counts.left_out else row.counts.n_total


# Lines.


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
    first, *others = ([by_place.get((profile, column)) for column in columns] for profile in profiles)
    cells = [value_cell(row) for row in first]
    lines = [Row(label, cells, rule=rule), count_line(first)]
    for profile, rows in zip(profiles[1:], others, strict=True):
        other = [replace(value_cell(row), figure=None) for row in rows]  # charts show one profile
        lines += [Row(f"  {profile}", other)] if other != cells else []
    return lines


def count_line(rows: Sequence[Score | None]) -> Row:
    """Make the line of how many items values are over, as ``9/12`` where some of those that count have none."""
    counts = [count_both(row) if row and row.ran else None for row in rows]
    texts = [each and "/".join(map(str, dict.fromkeys(each))) for each in counts]
    return Row("  n", [Cell(text or NOTHING) for text in texts])


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
        named.setdefault(name(row), {})[place(row)] = Cell(row.printed + "?" * bool(row.doubt), figure=figure)
    return [Row(label, [cells.get(c, Cell(NOTHING)) for c in columns], "published") for label, cells in named.items()]
