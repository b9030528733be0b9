"""A table as text, for a terminal or a log: it decides nothing about what stands in it."""

import io
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO

from rich import box
from rich.align import Align
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Drawn
from rich.text import Text

from quadrag.printing import is_terminal, wrap, write
from quadrag.results import Level

from .messages import ENGLISH, pick_notes, translate_table
from .table import Cell, Table

_WIDTH = 80  # columns of a narrow terminal
_LABEL = 20  # columns, to which a wider label may be broken
_WORDS = re.compile(r"[^\W\d_]{3,}.* ")  # of a cell that may be broken at blanks
_BLANKS = re.compile(r"(?m) +((?:\x1b\[[0-9;]*m)*)$")  # at the ends of lines, also before what ends a style


def print_tables(
    tables: Sequence[Table],
    file: IO[str] | None = None,
    verbose: bool = False,
    language: str = ENGLISH,
) -> None:
    """Print tables as text, as wide as the terminal, but not narrower than 80 columns: numbers are never cut.

    `verbose` adds the notes that a specialist needs.
    """
    for table in tables:
        shown = translate_table(table, language)
        write(to_text(shown, verbose, is_terminal(file or sys.stdout)), file=file, end="")


def to_text(table: Table, verbose: bool = False, styled: bool = False) -> str:
    """Return a translated table as text, with a line's end before and behind; `styled` as a terminal shows it."""
    canvas = io.StringIO()
    # In a notebook too it is text: the library would make a display of its own of every line.
    console = Console(file=canvas, force_terminal=styled or None, highlight=False, force_jupyter=False)
    width = console.width = max(console.width, _WIDTH)
    console.print()
    above = [*pick_notes(table.notes, Level.HEADLINE), *(["", table.title] if table.title else [])]
    lines = [part for text in above for line in text.split("\n") for part in wrap(line, width) or [""]]
    if lines:
        console.print(Text("\n".join(lines).strip("\n"), style="bold"))
    for text in pick_notes(table.notes, Level.WARNING):
        console.print(Text(_mark(text, "!", width)))
    for at, part in enumerate(_fit_width(width, table)):
        console.print(*[""] * bool(at), part, sep="\n")
    for text in pick_notes(table.notes, Level.INFO, *[Level.DETAIL] * verbose):
        console.print(Text(_mark(text, "-", width), style="dim"))
    return _BLANKS.sub(r"\1", canvas.getvalue())


def _mark(note: str, sign: str, width: int) -> str:
    return f"{sign} " + "\n  ".join(wrap(note, width - 2))


def _fit_width(width: int, table: Table) -> Iterator[Drawn]:
    """Make a table that the width holds, with broken heads, labels and words, or several, each of some columns."""
    heads = [head.replace("_", "_\n", 1) if len(head) > 13 and "\n" not in head else head for head in table.columns]
    columns = [[line.cells[at] for line in table.rows] for at in range(len(heads))]
    broken = [
        re.sub(r" +|(?<=[-_])(?=\w)", "\n", head.strip(" ")) if _widest(head) > _measure("", cells)[0] else head
        for head, cells in zip(heads, columns, strict=True)
    ]
    label = min(_LABEL, max((_widest(line.label) for line in table.rows), default=0))
    for names, gap in ((heads, 2), (broken, 2), (broken, 1)):
        sizes = [_measure(head, cells) for head, cells in zip(names, columns, strict=True)]
        if label + sum(least + gap for least, _ in sizes) <= width or (gap == 1 and len(heads) == 1):
            yield _lay_out(table, names, [least == most for least, most in sizes], gap)
            return
    half = (len(heads) + 1) // 2
    for part in (slice(half), slice(half, None)):
        lines = [replace(line, cells=line.cells[part]) for line in table.rows]
        yield from _fit_width(width, replace(table, columns=table.columns[part], rows=lines))


def _measure(head: str, cells: Sequence[Cell]) -> tuple[int, int]:
    """Measure a column: as narrow as it may be, and as wide as it is; the same where numbers stand in it."""
    texts = [text for cell in cells for text in (cell.text, cell.sub)]
    most = max(map(_widest, (head, *texts)))
    if not any(_WORDS.search(text) for text in texts):
        return most, most
    return max(_widest(head), *(_widest(word) for text in texts for word in text.split(" "))), most


def _widest(text: str) -> int:
    return max(map(cell_len, text.split("\n")))


def _lay_out(table: Table, heads: Sequence[str], whole: Sequence[bool], gap: int) -> Drawn:
    drawn = Drawn(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, gap - 1, 0, 0), show_edge=False)
    drawn.add_column(Align.left(Text(table.row_header), vertical="bottom"), overflow="fold")
    for head, is_whole in zip(heads, whole, strict=True):
        name = Align.right(Text(head, justify="right"), vertical="bottom")
        drawn.add_column(name, justify="right" if is_whole else "left", no_wrap=is_whole, overflow="fold")
    for line in table.rows:
        if line.rule:
            drawn.add_section()
        texts = [
            Text(cell.text).append(f"\n{cell.sub}", style="dim") if cell.sub else Text(cell.text) for cell in line.cells
        ]
        drawn.add_row(Text(line.label), *texts, style="dim" if line.kind == "published" else "")
    return drawn
