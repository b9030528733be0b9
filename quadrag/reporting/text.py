"""A table as text, for a terminal or a log: it decides nothing about what stands in it."""

import io
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO, Any

from quadrag.printing import is_terminal, wrap, write
from quadrag.results.note import Level

from .language import pick_notes, translate_table
from .messages import ENGLISH
from .table import COUNT, NOTHING, Cell, Row, Table

_WIDTH = 80  # columns of a narrow terminal
_LABEL = 20  # columns, to which a wider label may be broken
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([?*!↑↓]*)")
_WORDS = re.compile(r"[^\W\d_]{3,}.* ")  # of a cell that may be broken at blanks
_BLANKS = re.compile(r"(?m) +((?:\x1b\[[0-9;]*m)*)$")  # at the ends of lines, also before what ends a style


def print_tables(
    grids: Sequence[Table],
    file: IO[str] | None = None,
    verbose: bool = False,
    language: str = ENGLISH,
    python: bool = False,
) -> None:
    """Print tables as text, as wide as the terminal, but not narrower than 80 columns: numbers are never cut.

    Args:
        grids: the tables.
        file: where to; stdout when None.
        verbose: with the notes that a specialist needs.
        language: of heads, labels and notes.
        python: whether options in notes are arguments.
    """
    for grid in grids:
        shown = translate_table(grid, language, python)
        write(to_text(shown, verbose, is_terminal(file or sys.stdout)), file=file, end="")


def to_text(grid: Table, verbose: bool = False, styled: bool = False) -> str:
    """Return a translated table as text, with a line's end before and behind; `styled` as a terminal shows it."""
    from rich.console import Console

    canvas = io.StringIO()
    # In a notebook too it is text: the library would make a display of its own of every line.
    console = Console(file=canvas, force_terminal=styled or None, highlight=False, force_jupyter=False)
    console.width = max(console.width, _WIDTH)
    _draw(console, grid, verbose)
    return _BLANKS.sub(r"\1", canvas.getvalue())


def _draw(console: Any, grid: Table, verbose: bool) -> None:
    from rich.text import Text

    console.print()
    above = pick_notes(grid.notes, Level.HEADLINE)
    blocks = ["\n".join(wrapped) for block in ("\n".join(above), grid.title) if (wrapped := _wrap(block, console))]
    if blocks:
        console.print(Text("\n\n".join(blocks), style="bold"))
    for text in pick_notes(grid.notes, Level.WARNING):
        console.print(Text(_mark(text, "!", console.width)))
    for at, table in enumerate(_fit_width(console.width, join_counts(grid))):
        console.print(*[""] * bool(at), table, sep="\n")
    for text in pick_notes(grid.notes, Level.INFO, *[Level.DETAIL] * verbose):
        console.print(Text(_mark(text, "-", console.width), style="dim"))


def _wrap(block: str, console: Any) -> list[str]:
    return [part for line in block.splitlines() for part in wrap(line, console.width)]


def _mark(note: str, sign: str, width: int) -> str:
    """Break a note into lines behind a sign, so that it is told from the next."""
    return f"{sign} " + "\n  ".join(wrap(note, width - 2))


def join_counts(grid: Table) -> Table:
    """Put a count that is the same in its whole line under the label above, beside the intervals."""
    lines: list[Row] = []
    for line in grid.rows:
        counts = {cell.text for cell in line.cells} - {NOTHING}
        if line.label == COUNT and len(counts) == 1 and lines and any(cell.sub for cell in lines[-1].cells):
            lines[-1] = replace(lines[-1], label=f"{lines[-1].label}\n{COUNT} {counts.pop()}")
        else:
            lines.append(line)
    return replace(grid, rows=lines)


def align_cells(grid: Table) -> list[list[Cell]]:
    """Return the cells of a table line by line, with blanks behind numbers so that points stand under points.

    Of whole numbers only the papers' stand with the others: ours are counts.
    """
    cells = [list(line.cells) for line in grid.rows]
    for at in range(len(grid.columns)):
        found = [(row, _NUMBER.fullmatch(line.cells[at].text)) for row, line in enumerate(grid.rows)]
        numbers = [(row, one) for row, one in found if one and (one[1] or grid.rows[row].kind == "published")]
        behind = {row: len((one[1] or "") + one[2]) for row, one in numbers}
        for row, width in behind.items():
            cell = cells[row][at]
            cells[row][at] = Cell(cell.text + " " * (max(behind.values()) - width), cell.sub)
    return cells


def _fit_width(width: int, grid: Table) -> Iterator[Any]:
    """Make a table that the width holds, with broken heads, labels and words, or several, each of some columns."""
    heads = [head.replace("_", "_\n", 1) if len(head) > 13 and "\n" not in head else head for head in grid.columns]
    columns = [[cells[at] for cells in align_cells(grid)] for at in range(len(heads))]
    wide = [_widest(head) > _measure("", cells)[0] for head, cells in zip(heads, columns, strict=True)]
    parts = [re.sub(r" +|(?<=[-_])(?=\w)", "\n", head.strip(" ")) for head in heads]
    broken = [part if is_wide else head for head, part, is_wide in zip(heads, parts, wide, strict=True)]
    for names, gap in ((heads, 2), (broken, 2), (broken, 1)):
        sizes = [_measure(head, cells) for head, cells in zip(names, columns, strict=True)]
        label = min(_LABEL, max((_widest(line.label) for line in grid.rows), default=0))
        if label + sum(least + gap for least, _ in sizes) <= width:
            break
    else:
        if len(heads) > 1:
            for part in (slice((len(heads) + 1) // 2), slice((len(heads) + 1) // 2, None)):
                lines = [replace(line, cells=line.cells[part]) for line in grid.rows]
                yield from _fit_width(width, replace(grid, columns=grid.columns[part], rows=lines))
            return
    yield _lay_out(grid, names, columns, [least == most for least, most in sizes], gap)


def _measure(head: str, cells: Sequence[Cell]) -> tuple[int, int]:
    """Measure a column: as narrow as it may be, and as wide as it is; the same where numbers stand in it."""
    texts = [text for cell in cells for text in (cell.text, cell.sub)]
    most = max(map(_widest, (head, *texts)))
    if not any(_WORDS.search(text) for text in texts):
        return most, most
    return max(_widest(head), *(_widest(word) for text in texts for word in text.split(" "))), most


def _widest(text: str) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, text.split("\n")))


def _lay_out(
    grid: Table, heads: Sequence[str], columns: Sequence[Sequence[Cell]], whole: Sequence[bool], gap: int
) -> Any:
    from rich import box
    from rich.align import Align
    from rich.table import Table as Drawn
    from rich.text import Text

    table = Drawn(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, gap - 1, 0, 0), show_edge=False)
    table.add_column(Align.left(Text(grid.row_header), vertical="bottom"), overflow="fold")
    for head, is_whole in zip(heads, whole, strict=True):
        table.add_column(Align.right(Text(head, justify="right"), vertical="bottom"), no_wrap=is_whole, overflow="fold")
    pushed = []
    for head, cells, is_whole in zip(heads, columns, whole, strict=True):
        width = _measure(head, cells)[1] if is_whole else 0
        pushed.append([Cell(_push(cell.text, width), _push(cell.sub, width)) for cell in cells])
    for row, line in enumerate(grid.rows):
        if line.rule:
            table.add_section()
        texts = [_text(column[row]) for column in pushed]
        table.add_row(Text(line.label), *texts, style="dim" if line.kind == "published" else "")
    return table


def _push(text: str, width: int) -> str:
    """Push a text to its column's right end: the library would take blanks behind a number away."""
    return " " * (width - _widest(text)) + text if text else ""


def _text(cell: Cell) -> Any:
    from rich.text import Text

    text = Text(cell.text)
    return text.append(f"\n{cell.sub}", style="dim") if cell.sub else text
