"""A table as data, and as text for a terminal or a log.

It decides nothing about what stands in a table.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any

_NUMBER = re.compile(r"[+-]?\d+\.(\d+[?*]?)")


@dataclass(slots=True)
class Cell:
    """A value as text, with a second, smaller text under it (an interval)."""

    text: str
    sub: str = ""


@dataclass(slots=True)
class Line:
    """A row: `kind` is ``ours`` or ``published``; `rule` draws a line above it."""

    label: str
    cells: list[Cell]
    kind: str = "ours"
    rule: bool = False


@dataclass(slots=True)
class Grid:
    """A table: a column's first line names its group where it has two."""

    title: str
    corner: str
    columns: list[str]
    lines: list[Line]
    notes: list[str] = field(default_factory=list)


def print_grids(grids: Sequence[Grid], file: IO[str] | None = None) -> None:
    """Print tables as text, as wide as the terminal, but not narrower than 80 columns: numbers are never cut."""
    from rich.console import Console

    class Terminal(Console):
        """Leaves a pipe whose reader has seen enough to the caller; the library would end the process with 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    console = Terminal(file=file, highlight=False, soft_wrap=False)
    console.width = max(console.width, 80)
    for grid in grids:
        _draw(console, grid)


def _draw(console: Any, grid: Grid) -> None:
    from rich.text import Text

    console.print()
    console.print(Text(grid.title, style="bold"))
    table = _lay_out(grid, aligned=True)
    if console.measure(table, options=console.options.update(max_width=1000)).maximum > console.width:
        table = _lay_out(grid, aligned=False)
    console.print(table)
    for note in grid.notes:
        console.print(Text(note, style="dim"))


def _lay_out(grid: Grid, aligned: bool) -> Any:
    """Make the table; where points are not aligned it is narrower."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # Ten columns of numbers and a model's name fit into 80 only with single blanks between them.
    gap = 0 if len(grid.columns) > 7 else 1
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, gap, 0, 0), show_edge=False)
    depth = max((column.count("\n") for column in grid.columns), default=0)
    table.add_column(Text("\n" * depth + grid.corner), overflow="fold")
    columns = []
    for at, column in enumerate(grid.columns):
        head, cells = _justify(column, [line.cells[at] for line in grid.lines], aligned)
        table.add_column(Text("\n" * (depth - column.count("\n")) + head), no_wrap=True)
        columns.append(cells)
    for at, line in enumerate(grid.lines):
        if line.rule:
            table.add_section()
        style = "dim" if line.kind == "published" else ""
        table.add_row(Text(line.label), *(_text(cells[at]) for cells in columns), style=style)
    return table


def _justify(head: str, cells: Sequence[Cell], aligned: bool) -> tuple[str, list[Cell]]:
    """Push a column to its right end, or its points to one place: the library would take blanks at the end away."""
    from rich.cells import cell_len

    texts = [cell.text for cell in cells]
    texts = _align_points(texts) if aligned else texts
    subs = [cell.sub for cell in cells]
    width = max(map(cell_len, [*head.split("\n"), *texts, *subs]))

    def push(text: str) -> str:
        return " " * (width - cell_len(text)) + text

    pushed = [Cell(push(text), push(sub) if sub else "") for text, sub in zip(texts, subs, strict=True)]
    return "\n".join(map(push, head.split("\n"))), pushed


def _align_points(texts: Sequence[str]) -> list[str]:
    """Put blanks behind numbers that have less behind their point than another, a mark counted."""
    behind = [len(found[1]) if (found := _NUMBER.fullmatch(text)) else None for text in texts]
    most = max((count for count in behind if count is not None), default=0)
    return [text if count is None else text + " " * (most - count) for text, count in zip(texts, behind, strict=True)]


def _text(cell: Cell) -> Any:
    from rich.text import Text

    text = Text(cell.text)
    return text.append(f"\n{cell.sub}", style="dim") if cell.sub else text
