"""A table as data: cells, lines, notes of a kind each."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ..results.note import Level, Note, NoteCode

Form = Literal["", "points", "curves", "sweep", "heat", "forest"]
NOTHING = "–"  # in the place of a value
COUNT = "  n"  # the label of a line of how many items the values above it are over


class Alarm(str):
    """A note without which a table misleads: it stands on top."""


class Loud(Alarm):
    """An alarm about numbers that nobody may use as they are."""


class Detail(str):
    """A note that a specialist needs: on the page, and where all is asked for."""


class Verdict(str):
    """A note that says in words what a chart shows: it stands above the chart."""


def level_of(note: Note | str) -> Level:
    """Say who needs a note."""
    if isinstance(note, Note):
        return note.level
    kinds = {Alarm: Level.WARNING, Detail: Level.DETAIL, Verdict: Level.HEADLINE}
    return next((level for kind, level in kinds.items() if isinstance(note, kind)), Level.INFO)


def is_loud(note: Note | str) -> bool:
    """Whether a note is about numbers that nobody may use as they are."""
    codes = (NoteCode.INVALID, NoteCode.UNRELIABLE)
    return note.code in codes if isinstance(note, Note) else isinstance(note, Loud)


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
class Line:
    """A row: `kind` is ``ours`` or ``published``; `rule` draws a line above it."""

    label: str
    cells: list[Cell]
    kind: str = "ours"
    rule: bool = False


@dataclass(slots=True)
class Grid:
    """A table: a column's first line names its group where it has two.

    `form` says how its figures are drawn; "" not at all:

    - ``points``: every column is a panel, every line a row of it;
    - ``curves``: along the numbers in the columns' heads, a curve a line;
    - ``sweep``: along the numbers that the lines' labels begin with, behind which a comma and the curve's name stand;
    - ``heat``: a matrix;
    - ``forest``: differences with their intervals.

    `names` are longer heads, for charts.
    """

    title: str
    corner: str
    columns: list[str]
    lines: list[Line]
    notes: list[Any] = field(default_factory=list)
    form: Form = ""
    names: Sequence[str] = ()
