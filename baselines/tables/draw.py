"""A table as text, for a terminal or a log: it decides nothing about what stands in it."""

import io
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO, Any

from quadrag.printing import is_terminal, wrap, write

from .broken import break_label, break_names, measure_lines
from .grid import COUNT, NOTHING, Alarm, Cell, Detail, Grid, Line, Verdict

_WIDTH = 80  # columns of a narrow terminal
_HEADING = 0xE000  # the first of the signs that stand for headings while a table is laid out: they widen no column
_BLANKS = re.compile(r"(?m) +((?:\x1b\[[0-9;]*m)*)$")  # at the ends of lines, also before what ends a style
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([?*!↑↓]*)")


def print_grids(grids: Sequence[Grid], file: IO[str] | None = None, verbose: bool = False) -> None:
    """Print tables as text, as wide as the terminal, but not narrower than 80 columns: numbers are never cut.

    Args:
        grids: the tables.
        file: where to; stdout when None.
        verbose: with the notes that a specialist needs.
    """
    from rich.console import Console

    for grid in grids:
        canvas, terminal = io.StringIO(), is_terminal(file or sys.stdout) or None
        # In a notebook too it is text: the library would make a display of its own of every line.
        console = Console(file=canvas, force_terminal=terminal, highlight=False, soft_wrap=False, force_jupyter=False)
        console.width = max(console.width, _WIDTH)
        _draw(console, grid, verbose)
        text = canvas.getvalue()
        for at, label in enumerate(_list_headings(grid)):
            text = text.replace(chr(_HEADING + at), label)
        write(strip_ends(text), file=file, end="")


def _list_headings(grid: Grid) -> list[str]:
    """List what stands above groups of lines, without cells of its own."""
    return list(dict.fromkeys(line.label for line in grid.lines if not any(cell.text for cell in line.cells)))


def strip_ends(drawn: str) -> str:
    """Return what was drawn for a terminal without the blanks that fill its lines."""
    return _BLANKS.sub(r"\1", drawn)


def spread_subs(grid: Grid, names: Mapping[str, str]) -> Grid:
    """Give the texts under the cells of some columns columns of their own, and leave out all others.

    Args:
        grid: the table.
        names: of the new columns by those of the old ones; a word of theirs that a text begins with is left out.
    """

    def spread(column: str, cell: Cell) -> list[Cell]:
        if column not in names:
            return [replace(cell, sub="")]
        first, _, rest = cell.sub.partition(" ")
        own = rest if first in re.findall(r"\w+", names[column]) else cell.sub
        return [replace(cell, sub=""), Cell(own or NOTHING)]

    lines = [
        replace(line, cells=[one for pair in zip(grid.columns, line.cells, strict=True) for one in spread(*pair)])
        for line in grid.lines
    ]
    heads = [name for column in grid.columns for name in (column, names.get(column)) if name]
    return replace(grid, columns=heads, lines=lines)


def write_plainly(grid: Grid) -> Iterator[str]:
    """Yield a table as plain lines: verdicts, title, alarms, head and lines without rules, other notes for everyone."""
    from rich.cells import cell_len

    for note in (*_pick(grid, Verdict), grid.title):
        yield from wrap(note, _WIDTH)
    for note in _pick(grid, Alarm):
        yield from _mark(note, "!", _WIDTH)
    labels = [grid.corner, *(line.label for line in grid.lines)]
    headings = _list_headings(grid)
    width = max(cell_len(label) for label in labels if label not in headings)
    columns = [[head, *(cell.text for cell in cells)] for head, cells in _justify(grid)]
    whole = width + sum(2 + cell_len(texts[0]) for texts in columns)
    gap = "  " if whole <= _WIDTH else " "  # narrower, and then its labels stand above their lines
    above = whole - len(columns) > _WIDTH
    for label, *texts in zip(labels, *columns, strict=True):
        begin = f"{label}\n" if above else label + " " * (width - cell_len(label))
        yield gap.join((begin, *texts)).rstrip()
    plain = (note for note in grid.notes if not isinstance(note, Alarm | Detail | Verdict))
    yield from (line for note in plain for line in _mark(note, "-", _WIDTH))


def align_cells(grid: Grid, blank: str = " ") -> list[list[Cell]]:
    """Return the cells of a table line by line, with `blank` behind numbers so that points stand under points."""
    columns = [_align_points(grid, at, blank) for at in range(len(grid.columns))]
    return [
        [Cell(column[row], cell.sub) for column, cell in zip(columns, line.cells, strict=True)]
        for row, line in enumerate(grid.lines)
    ]


def _pick(grid: Grid, kind: type) -> list[str]:
    return [note for note in grid.notes if isinstance(note, kind)]


def _draw(console: Any, grid: Grid, verbose: bool) -> None:
    from rich.text import Text

    console.print()
    blocks = [_pick(grid, Verdict), [grid.title] * bool(grid.title)]
    heads = ["\n".join(line for note in block for line in wrap(note, console.width)) for block in blocks if block]
    if heads:
        console.print(Text("\n\n".join(heads), style="bold"))
    for note in _pick(grid, Alarm):
        console.print(Text("\n".join(_mark(note, "!", console.width))))
    for at, table in enumerate(_fit_width(console, join_counts(grid))):
        console.print(*[""] * bool(at), table, sep="\n")
    for note in grid.notes:
        if not isinstance(note, Alarm | Verdict) and (verbose or not isinstance(note, Detail)):
            console.print(Text("\n".join(_mark(note, "-", console.width)), style="dim"))


def join_counts(grid: Grid) -> Grid:
    """Put a count that is the same in its whole line under the label above, beside the intervals."""
    lines: list[Line] = []
    for line in grid.lines:
        counts = {cell.text for cell in line.cells} - {NOTHING}
        if line.label == COUNT and len(counts) == 1 and lines and any(cell.sub for cell in lines[-1].cells):
            lines[-1] = replace(lines[-1], label=f"{lines[-1].label}\n{COUNT} {counts.pop()}")
        else:
            lines.append(line)
    return replace(grid, lines=lines)


def _mark(note: str, sign: str, width: int) -> list[str]:
    """Break a note into lines behind a sign, so that it is told from the next."""
    first, *rest = wrap(note, width - 2)
    return [f"{sign} {first}", *(f"  {line}" for line in rest)]


def _fit_width(console: Any, grid: Grid) -> list[Any]:
    """Make a table that the terminal holds or, of many columns, several: no number is cut.

    From wide to narrow: words of the last column, long names in heads and then labels, these too behind their joints,
    are broken before columns are put into a table below.
    """
    manners = [(True, 1), (True, 0), (False, 0)]
    wide = console.options.update(max_width=1000)
    narrow = []
    for shown in (grid, replace(grid, columns=[break_names(head) for head in grid.columns])):
        plain, whole = ([_lay_out(shown, *manner, labels) for manner in manners] for labels in (False, True))
        spare = _count_spare(shown)
        narrow += [table for table in plain if console.measure(table, options=wide).maximum <= console.width]
        narrow += [table for table in whole if console.measure(table, options=wide).maximum - spare <= console.width]
    for names in (False, True):
        for manner in manners:
            table = _lay_out(shown, *manner, False)
            room = console.width - console.measure(table, options=wide).maximum + _measure_labels(shown)
            if lines := _break_labels(shown, room, names):
                narrow.append(_lay_out(replace(shown, lines=lines), *manner, False))
    if narrow or len(grid.columns) == 1:
        return narrow[:1] or [_lay_out(shown, *manners[-1], False)]
    half = (len(grid.columns) + 1) // 2
    parts = []
    for part in (slice(half), slice(half, None)):
        lines = [replace(line, cells=line.cells[part]) for line in grid.lines]
        parts += _fit_width(console, replace(grid, columns=grid.columns[part], lines=lines))
    return parts


def _measure_labels(grid: Grid) -> int:
    """Measure the widest label; a heading widens no column."""
    headings = _list_headings(grid)
    return measure_lines([grid.corner, *(line.label for line in grid.lines if line.label not in headings)])


def _break_labels(grid: Grid, room: int, names: bool) -> list[Line]:
    """Break the labels of a table, long names in them too where asked; [] where they are too wide yet."""
    headings = _list_headings(grid)
    broken = [line.label if line.label in headings else break_label(line.label, room, names) for line in grid.lines]
    if any(measure_lines([label]) > room for label in broken if label not in headings):
        return []
    return [replace(line, label=label) for line, label in zip(grid.lines, broken, strict=True)]


def _count_spare(grid: Grid) -> int:
    """Count by how much the last column is narrower where its words are broken."""
    from rich.cells import cell_len

    texts = [text for line in grid.lines for text in (line.cells[-1].text, line.cells[-1].sub)]
    texts += grid.columns[-1].split("\n")
    return max(map(cell_len, texts)) - max(cell_len(word) for text in texts for word in text.split(" "))


def _lay_out(grid: Grid, aligned: bool, gap: int, whole: bool) -> Any:
    """Make the table; it is narrower where points are not aligned, and with a gap of 0 between columns, one blank.

    Labels are `whole`, and words of the last column may be broken, or the other way round.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, gap, 0, 0), show_edge=False)
    depth = max((column.count("\n") for column in grid.columns), default=0)
    table.add_column(Text("\n" * depth + grid.corner), overflow="fold", no_wrap=whole)
    columns = []
    for at, (head, cells) in enumerate(_justify(grid, aligned), 1):
        breaks = whole and at == len(grid.columns)
        if breaks:
            head = "\n".join(line.lstrip(" ") for line in head.split("\n"))
            cells = [Cell(cell.text.lstrip(" "), cell.sub.lstrip(" ")) for cell in cells]
        name = Text("\n" * (depth - head.count("\n")) + head)
        table.add_column(name, no_wrap=not breaks, justify="right" if breaks else "left")
        columns.append(cells)
    headings = {label: chr(_HEADING + at) for at, label in enumerate(_list_headings(grid))}
    for at, line in enumerate(grid.lines):
        if line.rule:
            table.add_section()
        style = "dim" if line.kind == "published" else ""
        table.add_row(Text(headings.get(line.label, line.label)), *(_text(cells[at]) for cells in columns), style=style)
    return table


def _justify(grid: Grid, aligned: bool = True) -> Iterator[tuple[str, list[Cell]]]:
    """Push every column to its right end, points to one place: the library would take blanks at the end away."""
    from rich.cells import cell_len

    lines = align_cells(grid) if aligned else [line.cells for line in grid.lines]
    for at, head in enumerate(grid.columns):
        cells = [line[at] for line in lines]
        width = max(
            cell_len(text) for text in (*head.split("\n"), *(part for cell in cells for part in (cell.text, cell.sub)))
        )

        def push(text: str, width: int = width) -> str:
            return " " * (width - cell_len(text)) + text

        pushed = [Cell(push(cell.text), push(cell.sub) if cell.sub else "") for cell in cells]
        yield "\n".join(map(push, head.split("\n"))), pushed


def _align_points(grid: Grid, at: int, blank: str) -> list[str]:
    """Return the texts of a column, with blanks behind those that have less behind their point, a mark counted.

    Of whole numbers only the papers' stand with the others: ours are counts. Of two bounds the second is so aligned.
    """
    texts = [line.cells[at].text for line in grid.lines]
    behind: list[int | None] = []
    for text, line in zip(texts, grid.lines, strict=True):
        bound = text.partition("–")[2]
        found = _NUMBER.fullmatch(text)
        number = found is not None and (found[1] or line.kind == "published")
        behind.append(len(bound) or (len((found[1] or "") + found[2]) if found and number else None))
    most = max((count for count in behind if count is not None), default=0)
    return [text if count is None else text + blank * (most - count) for text, count in zip(texts, behind, strict=True)]


def _text(cell: Cell) -> Any:
    from rich.text import Text

    text = Text(cell.text)
    return text.append(f"\n{cell.sub}", style="dim") if cell.sub else text
