"""Charts of tables as SVG that stands in a page: rows of values with intervals, curves, and a matrix.

Which figures stand in which panel says the table's `chart`. Colours are variables of the page's style, so a chart
follows its theme. What a font measures differs from machine to machine: every text has its own room, reckoned from the
number and width of its characters.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple
from unicodedata import category, east_asian_width
from xml.sax.saxutils import escape, quoteattr

from .table import Cell, Figure, Row, Table

INK, FAINT, RULE, PAPER, _OURS = (f"var(--{name})" for name in ("ink", "faint", "rule", "paper", "s1"))
# Cividis, which every kind of colour vision tells apart; on the first five white is read best, on the others black.
HEAT = ("#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838")
_SERIES = 6  # colours of curves, after which they begin anew
_CIRCLE, _DIAMOND = "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0Z", "M0-5.5L4.5 0L0 5.5L-4.5 0Z"
_WIDE, _NARROW, _BOLD = 12.0, 6.7, 1.12  # pixels of a character, of 12 pixels' type; bold type by so much more
_WIDTH, _MATRIX = 420, 700  # pixels of a chart: a telephone shows it a little smaller, a matrix is pushed sideways
_EDGE, _NAME = 14, 13  # pixels: beside the outermost points, of a curve's name from the next
_HEIGHT, _ASIDE = 220, 120  # of curves: their height, and the room of their names

_NUMBER = re.compile(r"(\w*?)_?(\d+(?:\.\d+)?)")
Panel = tuple[str, Callable[[str], str]]  # its heading, and what draws it with a label


class Axis(NamedTuple):
    """Round numbers along a side of so many pixels; it runs from the first to the last of them."""

    ticks: Sequence[float]
    pixels: float

    def place(self, value: float) -> float:
        return self.pixels * (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])


# Which figures stand in which panel.


def draw_table(table: Table) -> list[tuple[str, str]]:
    """Draw a table: its panels by what heads each; none where it has no form, or too few cells have figures."""
    panels = _FORMS[table.chart](table) if table.chart in _FORMS else ()
    return [(title, draw(" · ".join(filter(None, (table.title, title))))) for title, draw in panels]


def _points(table: Table) -> Iterator[Panel]:
    for column, (group, name) in enumerate(_split_heads(table)):
        rows = _select_rows((line, line.cells[column]) for line in table.rows)
        shown = [line for line, cell in rows if cell.figure]
        if len(shown) > 1 and any(line.kind == "ours" for line in shown):
            named = "\n" in table.columns[column]
            yield f"{group if named else ''} {name}".strip(), partial(draw_rows, rows)


def _curves(table: Table) -> Iterator[Panel]:
    """Yield a panel for each group of columns, all of one axis; without numbers in the heads, points."""
    groups: dict[str, list[tuple[int, str]]] = {}
    axis = ""
    for column, (group, name) in enumerate(_split_heads(table)):
        if (number := _NUMBER.fullmatch(name)) is None:
            yield from _points(table)
            return
        groups.setdefault(group, []).append((column, number[2]))
        axis = number[1] or table.row_header
    every = [figure for line in table.rows for figure in _figures(line)]
    for group, columns in groups.items():
        curves = []
        for line in sorted(table.rows, key=lambda line: line.kind):  # ours first
            figures = [(place, line.cells[column].figure) for place, (column, _) in enumerate(columns)]
            points = [(place, figure) for place, figure in figures if figure]
            curves += [(line, points)] if points else []
        if any(line.kind == "ours" and len(points) > 1 for line, points in curves):
            yield group, partial(draw_curves, curves, [number for _, number in columns], every=every, title=axis)


def _matrix(table: Table) -> Iterator[Panel]:
    rows: list[tuple[str, Row]] = []
    for line in table.rows:
        kind = "head" if _is_heading(line) else "whole" if line.rule else "cell" if line.label.startswith(" ") else ""
        if kind == "head" or (kind and _figures(line)):
            rows.append((kind, line))
    if any(_figures(line) for _, line in rows):
        yield "", partial(draw_matrix, rows, [head.split("\n") for head in table.columns])


def _forest(table: Table) -> Iterator[Panel]:
    lines = [(line, next((cell for cell in line.cells if cell.figure), Cell(""))) for line in table.rows]
    for unit in dict.fromkeys(cell.figure.unit for _, cell in lines if cell.figure):
        within = ((line, cell) for line, cell in lines if cell.figure is None or cell.figure.unit == unit)
        yield unit, partial(draw_rows, _select_rows(within), difference=True)


_FORMS = {"points": _points, "curves": _curves, "heat": _matrix, "forest": _forest}


def _select_rows(lines: Iterable[tuple[Row, Cell]]) -> list[tuple[Row, Cell]]:
    """Leave out the lines whose cell has no figure, and the headings under which none is left."""
    rows: list[tuple[Row, Cell]] = []
    heading: list[tuple[Row, Cell]] = []
    for line, cell in lines:
        if _is_heading(line):
            heading = [(line, cell)]
        elif cell.figure:
            rows += [*heading, (line, cell)]
            heading = []
    return rows


def _split_heads(table: Table) -> Iterator[tuple[str, str]]:
    """Yield of each column its group, which the head of the first one alone may name, and its own name."""
    group = ""
    for head in table.columns:
        above, _, name = head.replace("-\n", "").replace("_\n", "_").rpartition("\n")
        group = above or group
        yield group, name


def _common_unit(figures: Iterable[Figure]) -> str:
    units = {figure.unit for figure in figures}
    return units.pop() if len(units) == 1 else ""


def _ends(figures: Iterable[Figure]) -> list[float]:
    return [end for figure in figures for end in (figure.value, *(figure.interval or ()))]


def _name(line: Row) -> str:
    return line.label.strip().removesuffix(" (ours)").removesuffix("（本次）")


def _is_heading(line: Row) -> bool:
    return not any(cell.text for cell in line.cells)


def _figures(line: Row) -> list[Figure]:
    return [cell.figure for cell in line.cells if cell.figure]


# Drawing.


class _Canvas:
    """What is drawn, part by part; `x` and `y` are pixels from the plot's upper left corner, which is at `corner`."""

    def __init__(self, corner: tuple[float, float]) -> None:
        self._corner = corner
        self._parts: list[str] = []

    def add(self, tag: str, content: str = "", **attributes: Any) -> None:
        written = " ".join(
            f"{name.replace('_', '-')}={quoteattr(_number(value) if isinstance(value, float | int) else value)}"
            for name, value in attributes.items()
            if value not in (None, "")
        )
        self._parts.append(f"<{tag} {written}>{content}</{tag}>")

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> None:
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour, stroke_width=width)

    def sign(self, x: float, y: float, colour: str, ours: bool, filled: bool) -> None:
        look = {"fill": colour} if filled else {"fill": PAPER, "stroke": colour, "stroke_width": 1.5}
        self.add("path", d=_CIRCLE if ours else _DIAMOND, transform=f"translate({_number(x)},{_number(y)})", **look)

    def text(
        self, x: float, y: float, text: str, colour: str = INK, anchor: str = "", size: int = 12, weight: int = 400
    ) -> None:
        """Write a text whose middle is at `y`."""
        place = {"x": x, "y": y + 0.3 * size, "text_anchor": anchor}
        self.add("text", escape(_clean(text)), **place, fill=colour, font_size=size, font_weight=weight)

    def render(self, width: float, height: float, label: str) -> str:
        (left, top), size = self._corner, f'width="{_number(width)}" height="{_number(height)}"'
        view = f'viewBox="{_number(-left)} {_number(-top)} {_number(width)} {_number(height)}"'
        return f'<svg role="img" aria-label={quoteattr(_clean(label))} {size} {view}>{"".join(self._parts)}</svg>'


def draw_rows(rows: Sequence[tuple[Row, Cell]], label: str, difference: bool = False) -> str:
    heights = []
    y = 0
    for _, cell in rows:
        y += 34 if cell.figure else 22
        heights.append(y - 8)
    figures = [cell.figure for _, cell in rows if cell.figure]
    unit = "" if difference else _common_unit(figures)
    axis = Axis(find_ticks(_ends(figures) + [0.0] * difference, 7), _WIDTH - 2 * _EDGE)
    canvas = _Canvas((_EDGE, 4))
    for tick in axis.ticks:
        colour = FAINT if difference and not tick else RULE
        canvas.line(axis.place(tick), 0, axis.place(tick), y, colour)
        canvas.text(axis.place(tick), y + 12, f"{tick:g}{unit}", FAINT, "middle", 11)
    for (line, cell), height in zip(rows, heights, strict=True):
        figure = cell.figure
        if figure is None:
            canvas.text(-_EDGE, height, cut_text(line.label.strip(), _WIDTH / _BOLD)[0], weight=600)
            continue
        ours = line.kind == "ours"
        ink, colour = (INK, _OURS) if ours else (FAINT, FAINT)
        text = f"{cell.text} ({cell.sub})" if difference and cell.sub else cell.text
        room = _WIDTH - cut_text(text, 1000)[1] - 8
        canvas.text(-_EDGE, height - 15, cut_text(_name(line), room)[0], ink)
        canvas.text(_WIDTH - _EDGE, height - 15, text, ink, "end")
        if figure.interval:
            low, high = map(axis.place, figure.interval)
            canvas.line(low, height, high, height, colour, 2)
        sure = figure.sure if difference else bool(figure.interval)
        canvas.sign(axis.place(figure.value), height, colour, ours, ours and sure)
    return canvas.render(_WIDTH, y + 26, label)


Curve = tuple[Row, Sequence[tuple[int, Figure]]]  # a line, and its figures with the number of the place of each


def draw_curves(curves: Sequence[Curve], names: Sequence[str], label: str, every: Sequence[Figure], title: str) -> str:
    """Draw curves over named places, each with its name at its end; the axis reaches `every` figure of a table."""
    unit = _common_unit(every)
    left = 34 + 8 * len(unit)
    plot = _WIDTH - left - _ASIDE - 12
    height = max(_HEIGHT, _NAME * len(curves))
    axis = Axis(find_ticks(_ends(every), 5), height)
    across = [_EDGE + (plot - 2 * _EDGE) * at / max(len(names) - 1, 1) for at in range(len(names))]
    canvas = _Canvas((left, 8))
    for tick in axis.ticks:
        canvas.line(0, height - axis.place(tick), plot, height - axis.place(tick), RULE)
        canvas.text(-6, height - axis.place(tick), f"{tick:g}{unit}", FAINT, "end", 11)
    n_ours = sum(line.kind == "ours" for line, _ in curves)  # these come first
    colours = [f"var(--s{at % _SERIES + 1})" if at < n_ours else FAINT for at in range(len(curves))]
    for at, (line, figures) in reversed([*enumerate(curves)]):  # ours on top
        colour, ours = colours[at], line.kind == "ours"
        shift = 4 * (at - (n_ours - 1) / 2) if ours else 0  # intervals beside each other
        points = [(across[place] + shift, height - axis.place(figure.value)) for place, figure in figures]
        path = "M" + "L".join(f"{_number(x)},{_number(y)}" for x, y in points)
        broken = "" if ours else "4,3"
        canvas.add("path", d=path, fill="none", stroke=colour, stroke_width=1 + ours, stroke_dasharray=broken)
        for (x, y), (_, figure) in zip(points, figures, strict=True):
            if figure.interval:
                low, high = (height - axis.place(end) for end in figure.interval)
                canvas.line(x, low, x, high, colour)
            canvas.sign(x, y, colour, ours, ours)
    for x, name in zip(across, names, strict=True):
        canvas.text(x, height + 16, name, FAINT, "middle", 11)
    canvas.text(plot / 2, height + 34, title, FAINT, "middle", 11)
    _name_ends(canvas, curves, colours, axis, plot)
    return canvas.render(_WIDTH, height + 52, label)


def _name_ends(canvas: _Canvas, curves: Sequence[Curve], colours: Sequence[str], axis: Axis, plot: float) -> None:
    """Write each curve's name behind its end; where ends are too near to each other, names are moved apart."""
    ended = sorted((axis.pixels - axis.place(points[-1][1].value), at) for at, (_, points) in enumerate(curves))
    places: list[float] = []
    for y, _ in ended:
        places.append(max(y, places[-1] + _NAME) if places else y)
    overflow = max(places[-1] - axis.pixels, 0)
    for (y, at), place in zip(ended, places, strict=True):
        line = curves[at][0]
        canvas.line(plot + 6, y, plot + 16, place - overflow, colours[at])
        weight = 600 if line.kind == "ours" else 400
        canvas.text(plot + 20, place - overflow, cut_text(_name(line), _ASIDE - 10)[0], colours[at], "", 11, weight)


def draw_matrix(rows: Sequence[tuple[str, Row]], columns: Sequence[Sequence[str]], label: str) -> str:
    """Draw value and count in every cell, the last column and row apart from the others.

    A row has its kind, ``head``, ``cell`` or ``whole``; a column the lines of its heading.
    """
    labels = [line.label.strip() for _, line in rows]
    left = min(max(cut_text(text, 1000)[1] for text in labels) + 14, _MATRIX // 3)
    step = (_MATRIX - left - 6) / len(columns)
    top = 14 * max(map(len, columns)) + 8
    canvas = _Canvas((left, top))
    tops: list[int] = []
    y = 0
    for (kind, _), text in zip(rows, labels, strict=True):
        y += 6 * (kind == "whole")
        tops.append(y)
        head = kind == "head"
        canvas.text(-left, y + (14 if head else 17), cut_text(text, left - 8)[0], weight=600 if head else 400)
        y += 24 if head else 34
    edges = [at * step + 6 * (at == len(columns) - 1) for at in range(len(columns))]
    for edge, lines in zip(edges, columns, strict=True):
        for up, line in enumerate(reversed(lines)):
            canvas.text(edge + step / 2, -6 - 14 * up, line, FAINT, "middle", 11)
    values = [figure.value for _, row in rows for figure in _figures(row)]
    low, high = min(values), max(values)
    for (_, row), upper in zip(rows, tops, strict=True):
        for x, cell in zip(edges, row.cells, strict=True):
            if cell.figure:
                rank = round((len(HEAT) - 1) * (cell.figure.value - low) / ((high - low) or 1))
                ink = "#ffffff" if rank < len(HEAT) / 2 else "#000000"
                canvas.add("rect", x=x, y=upper, width=step - 2, height=32, fill=HEAT[rank])
                canvas.text(x + step / 2 - 1, upper + 11, cell.text, ink, "middle", 12, 600)
                canvas.text(x + step / 2 - 1, upper + 24, f"n {cell.figure.n}", ink, "middle", 10)
    return canvas.render(_MATRIX, top + y + 2, label)


def find_ticks(values: Sequence[float], most: int) -> list[float]:
    """Find round numbers around values, at most so many steps apart."""
    low, high = min(values), max(values)
    if low == high:
        low, high = sorted((0.0, low or 100.0))
    size = 10.0 ** math.floor(math.log10((high - low) / most))
    steps = [size * by for by in (1, 2, 5, 10, 20, 50)]
    step = next(step for step in steps if math.ceil(high / step) - math.floor(low / step) <= most)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(at * step, 9) for at in range(first, max(last, first + 1) + 1)]


def cut_text(text: str, room: float) -> tuple[str, int]:
    """Cut a text to a room in pixels; return it with the room that it takes."""
    widths = [_WIDE if east_asian_width(sign) in "WF" else _NARROW for sign in text]
    if sum(widths) <= room:
        return text, round(sum(widths))
    while widths and sum(widths) + _WIDE > room:
        widths.pop()
    return text[: len(widths)].rstrip() + "…", round(room)


def _number(value: float) -> str:
    return f"{round(value, 1):g}"


def _clean(text: str) -> str:
    """Put blanks in place of characters that no drawing can hold."""
    return "".join(" " if category(sign).startswith("C") else sign for sign in text)
