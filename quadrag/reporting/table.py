"""A table as data: cells, lines, notes of a kind each; and what a benchmark says of its paper's tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from quadrag import catalogue

if TYPE_CHECKING:
    from quadrag.results.run import Run, Score

Chart = Literal["", "points", "curves", "heat", "forest"]
NOTHING = "–"  # in the place of a value
RATE, CHARACTERS = "rate", "characters"  # units of values


class Figure(NamedTuple):
    """The number behind a cell, in the unit in which it is shown, as a chart takes it; `unit` "" is characters.

    `sure` says of a difference whether it is more than chance, as the mark of its cell does.
    """

    value: float
    interval: tuple[float, float] | None = None
    n: int | None = None
    sure: bool = False
    unit: str = ""


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
    """A table: a column's first line names its group where it has two. `notes` are `Note`s, or plain sentences.

    `chart` says how its figures are drawn; "" not at all:

    - ``points``: every column is a panel, every line a row of it;
    - ``curves``: along the numbers in the columns' heads, a curve a line;
    - ``heat``: a matrix;
    - ``forest``: differences with their intervals.
    """

    title: str
    row_header: str
    columns: list[str]
    rows: list[Row]
    notes: list[Any] = field(default_factory=list)
    chart: Chart = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTables:
    """What a benchmark says of its tables.

    Attributes:
        tabulate: makes the paper's tables, the printed rows with ours beside them, of runs with scores over all items;
            of the profiles the first is shown, the second where it differs. Raises QuadragError.
        matrices: makes the matrices of a run from its scores, slices among them; [] where there are no cells. Further
            arguments: its title, the profile, ``en`` or ``zh`` labels, whether for every metric or the main one alone.
        systems: makes the tables of one run as a whole system, rated by people or timed; [] where it was neither. A
            further argument: the profiles.
        blocks: what the paper calls runs of a config and a retriever, in its order.
        varies: by a table of the paper the setting that tells its rows apart, where it is not the model.
        mixing: whether the options mix the documents, so that beside such a run printed rows would say nothing.
    """

    tabulate: "Callable[[Sequence[Run], Sequence[str]], list[Table]] | None" = None
    matrices: "Callable[[Sequence[Score], str, str, str, bool], list[Table]]" = lambda *_: []
    systems: "Callable[[Run, Sequence[str]], list[Table]]" = lambda *_: []
    blocks: Mapping[tuple[str, str], str] = field(default_factory=dict)
    varies: Mapping[str, str] = field(default_factory=dict)
    mixing: bool = False


def load_tables(benchmark: str) -> PaperTables:
    """Return what a benchmark says of its tables: nothing, where no ``tables.py`` lies beside its record."""
    tables = catalogue.module_beside(benchmark, "tables")
    return tables.TABLES if tables else PaperTables()
