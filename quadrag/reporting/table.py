"""A table as data: cells, lines, notes of a kind each."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Chart = Literal["", "points", "curves", "heat", "forest"]
NOTHING = "–"  # in the place of a value
COUNT = "  n"  # the label of a line of how many items the values above it are over


class Figure(NamedTuple):
    """The number behind a cell, in the unit in which it is shown, as a chart takes it.

    `sure` says of a difference whether it is more than chance, as the mark of its cell does; `unit` is what it is in,
    "" characters; `lower` says of a value that less is better.
    """

    value: float
    interval: tuple[float, float] | None = None
    n: int | None = None
    sure: bool = False
    unit: str = ""
    lower: bool = False


@dataclass(slots=True)
class Cell:
    """A value as text, with a second, smaller text under it (an interval); without a figure it stands in no chart."""

    text: str
    sub: str = ""
    figure: Figure | None = field(default=None, compare=False)


@dataclass(slots=True)
class Row:
    """A row: `kind` is ``ours`` or ``published``; `rule` draws a line above it."""

    label: str
    cells: list[Cell]
    kind: str = "ours"
    rule: bool = False


@dataclass(slots=True)
class Table:
    """A table: a column's first line names its group where it has two.

    `chart` says how its figures are drawn; "" not at all:

    - ``points``: every column is a panel, every line a row of it;
    - ``curves``: along the numbers in the columns' heads, a curve a line;
    - ``heat``: a matrix;
    - ``forest``: differences with their intervals.

    `notes` are `Note`s, or plain sentences for everyone. `names` are longer heads, for charts.
    """

    title: str
    row_header: str
    columns: list[str]
    rows: list[Row]
    notes: list[Any] = field(default_factory=list)
    chart: Chart = ""
    names: Sequence[str] = ()
