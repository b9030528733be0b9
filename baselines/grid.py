"""A table as data, and its two pictures: text for a terminal or a log, and HTML.

It decides nothing about what stands in a table; `report.py` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any


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
    from rich import box
    from rich.table import Table
    from rich.text import Text

    console.print()
    console.print(Text(grid.title, style="bold"))
    # Ten columns of numbers and a model's name fit into 80 only with single blanks between them.
    gap = 0 if len(grid.columns) > 7 else 1
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, gap, 0, 0), show_edge=False)
    deep = any("\n" in column for column in grid.columns)
    table.add_column(Text("\n" * deep + grid.corner), overflow="fold")
    for column in grid.columns:
        table.add_column(Text(column, justify="right"), justify="right", no_wrap=True)
    for line in grid.lines:
        if line.rule:
            table.add_section()
        style = "dim" if line.kind == "published" else ""
        table.add_row(Text(line.label), *(_text(cell) for cell in line.cells), style=style)
    console.print(table)
    for note in grid.notes:
        console.print(Text(note, style="dim"))


def _text(cell: Cell) -> Any:
    from rich.text import Text

    text = Text(cell.text, justify="right")
    return text.append(f"\n{cell.sub}", style="dim") if cell.sub else text


def render_html(title: str, facts: Sequence[tuple[str, str]], grids: Sequence[Grid]) -> str:
    """Render a self-contained page: heading, facts as a list of name and value, tables."""
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("report.html").render(title=title, facts=facts, grids=grids)
