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

from .table import Figure, Row, Table

INK, FAINT, RULE, PAPER, _OURS = (f"var(--{name})" for name in ("ink", "faint", "rule", "paper", "s1"))
# Cividis, which every kind of colour vision tells apart; on the first five white is read best, on the others black.
HEAT = ("#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838")
_SERIES = 6  # colours of curves, after which they begin anew
_CIRCLE, _DIAMOND = "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0Z", "M0-5.5L4.5 0L0 5.5L-4.5 0Z"
_WIDE, _NARROW, _BOLD = 12.0, 6.7, 1.12  # pixels of a character, of 12 pixels' type; bold type by so much more
_WIDTH, _MATRIX = 420, 700  # pixels of a chart: a telephone shows it a little smaller, a matrix is pushed sideways
_EDGE, _NAME = 14, 13  # pixels: beside the outermost points, of a curve's name from the next
_HEIGHT, _ASIDE = 220, 120  # of curves: their height, and the room of their names

Interval = tuple[float, float] | None
_NUMBER = re.compile(r"(\w*?)_?(\d+(?:\.\d+)?)")
Panel = tuple[str, Callable[[str], str]]  # its heading, and what draws it with a label


class Mark(NamedTuple):
    """A row of a chart; without a value it is a heading. `sure` fills its sign, as one with an interval is."""

    label: str
    kind: str
    value: float | None = None
    interval: Interval = None
    text: str = ""
    sure: bool = True


class Curve(NamedTuple):
    """A curve: at each of its places a value, with its interval where there is one."""

    name: str
    kind: str
    points: Sequence[tuple[int, float, Interval]]


class Tile(NamedTuple):
    """A cell of a matrix: its row and column from 0, its value, what is written there."""

    row: int
    column: int
    value: float
    text: str
    under: str


class Axis(NamedTuple):
    """Round numbers along a side of so many pixels; it runs from the first to the last of them."""

    ticks: Sequence[float]
    pixels: float

    def place(self, value: float) -> float:
        """Return how far from the first tick a value lies, in pixels."""
        return self.pixels * (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])


# Which figures stand in which panel.


def draw_table(table: Table) -> list[tuple[str, str]]:
    """Draw a table: its panels by what heads each; none where it has no form, or too few cells have figures."""
    panels = _FORMS[table.chart](table) if table.chart in _FORMS else ()
    return [(title, draw(" · ".join(filter(None, (table.title, title))))) for title, draw in panels]


def _points(table: Table) -> Iterator[Panel]:
    """Yield a panel for each column, a row of it for each line."""
    for at, title in enumerate(_titles(table)):
        rows = list(_rows(table, at))
        if any(row.kind == "ours" for row in rows) and sum(row.value is not None for row in rows) > 1:
            yield title, partial(draw_rows, rows, unit=_unit(line.cells[at].figure for line in table.rows))


def _rows(table: Table, at: int) -> Iterator[Mark]:
    """Yield the rows of a column, under those headings that have any."""
    heading: list[Mark] = []
    for line in table.rows:
        if _is_heading(line):
            heading = [Mark(line.label.strip(), "head")]
        elif figure := line.cells[at].figure:
            yield from heading
            heading = []
            text, sure = line.cells[at].text, bool(figure.interval)
            yield Mark(_name(line), line.kind, figure.value, figure.interval, text, sure)


def _curves(table: Table) -> Iterator[Panel]:
    """Yield a panel for each group of columns, all of one axis; without numbers in the heads, points."""
    groups: dict[str, list[tuple[int, str]]] = {}
    last = axis = ""
    for at, head in enumerate(table.columns):
        group, _, own = head.rpartition("\n")
        last = group or last
        if (number := _NUMBER.fullmatch(own)) is None:
            yield from _points(table)
            return
        groups.setdefault(last, []).append((at, number[2]))
        axis = number[1] or table.row_header
    every = [figure for line in table.rows for figure in _figures(line)]
    ends = [end for figure in every for end in (figure.value, *(figure.interval or ()))]
    for group, columns in groups.items():
        curves = []
        for line in sorted(table.rows, key=lambda line: line.kind):  # ours first
            figures = [(place, line.cells[at].figure) for place, (at, _) in enumerate(columns)]
            points = [(place, figure.value, figure.interval) for place, figure in figures if figure]
            curves += [Curve(_name(line), line.kind, points)] if points else []
        if any(curve.kind == "ours" and len(curve.points) > 1 for curve in curves):
            names = [number for _, number in columns]
            yield group, partial(draw_curves, curves, names, ends=ends, title=axis, unit=_unit(every))


def _matrix(table: Table) -> Iterator[Panel]:
    """Yield the one panel: topics under their fields, and what is over all of them."""
    rows: list[tuple[str, str]] = []
    tiles: list[Tile] = []
    for line in table.rows:
        kind = "head" if _is_heading(line) else "whole" if line.rule else "cell" if line.label.startswith(" ") else ""
        if kind == "head" or (kind and _figures(line)):
            for at, cell in enumerate(line.cells):
                if one := cell.figure:
                    tiles.append(Tile(len(rows), at, one.value, cell.text, f"n {one.n}"))
            rows.append((line.label.strip(), kind))
    if tiles:
        columns = [head.split("\n") for head in table.columns]
        yield "", partial(draw_matrix, tiles, rows, columns)


def _forest(table: Table) -> Iterator[Panel]:
    """Yield a panel for each unit, with every difference in it."""
    panels: dict[str, list[Mark]] = {}
    heading: list[Mark] = []
    for line in table.rows:
        cell = next((cell for cell in line.cells if cell.figure), None)
        if _is_heading(line):
            heading = [Mark(line.label.strip(), "head")]
        elif cell and (figure := cell.figure):
            rows = panels.setdefault(figure.unit, [])
            rows += [mark for mark in heading if mark not in rows]
            text = f"{cell.text} ({cell.sub})" if cell.sub else cell.text
            rows.append(Mark(_name(line), "ours", figure.value, figure.interval, text, figure.sure))
    for unit, rows in panels.items():
        yield unit, partial(draw_rows, rows, difference=True)


_FORMS = {"points": _points, "curves": _curves, "heat": _matrix, "forest": _forest}


def _titles(table: Table) -> list[str]:
    titles = []
    last = ""
    for head in table.columns:
        group, mark, own = head.replace("-\n", "").replace("_\n", "_").rpartition("\n")
        last = group or last
        titles.append(" ".join(filter(None, (last if mark else "", own))))
    return titles


def _unit(figures: Iterable[Figure | None]) -> str:
    units = {figure.unit for figure in figures if figure}
    return units.pop() if len(units) == 1 else ""


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
        """Return the drawing as an image of a page, with its label."""
        (left, top), size = self._corner, f'width="{_number(width)}" height="{_number(height)}"'
        view = f'viewBox="{_number(-left)} {_number(-top)} {_number(width)} {_number(height)}"'
        return f'<svg role="img" aria-label={quoteattr(_clean(label))} {size} {view}>{"".join(self._parts)}</svg>'


def draw_rows(rows: Sequence[Mark], label: str, difference: bool = False, unit: str = "") -> str:
    """Draw rows: label and text, and under them the value with its interval; a `difference` has a line at 0."""
    heights = []
    y = 0
    for row in rows:
        y += 22 if row.value is None else 34
        heights.append(y - 8)
    ends = [end for row in rows if row.value is not None for end in (row.value, *(row.interval or ()))]
    axis = Axis(find_ticks([*ends, 0.0] if difference else ends, 7), _WIDTH - 2 * _EDGE)
    canvas = _Canvas((_EDGE, 4))
    for tick in axis.ticks:
        colour = FAINT if difference and not tick else RULE
        canvas.line(axis.place(tick), 0, axis.place(tick), y, colour)
        canvas.text(axis.place(tick), y + 12, f"{tick:g}{unit}", FAINT, "middle", 11)
    for row, height in zip(rows, heights, strict=True):
        if row.value is None:
            canvas.text(-_EDGE, height, cut_text(row.label, _WIDTH / _BOLD)[0], weight=600)
            continue
        ours = row.kind == "ours"
        ink, colour = (INK, _OURS) if ours else (FAINT, FAINT)
        room = _WIDTH - cut_text(row.text, 1000)[1] - 8
        canvas.text(-_EDGE, height - 15, cut_text(row.label, room)[0], ink)
        canvas.text(_WIDTH - _EDGE, height - 15, row.text, ink, "end")
        if row.interval:
            canvas.line(*(axis.place(row.interval[0]), height, axis.place(row.interval[1]), height), colour, 2)
        canvas.sign(axis.place(row.value), height, colour, ours, ours and row.sure)
    return canvas.render(_WIDTH, y + 26, label)


def draw_curves(
    curves: Sequence[Curve],
    names: Sequence[str],
    label: str,
    ends: Sequence[float],
    title: str,
    unit: str,
) -> str:
    """Draw curves over named places, each with its name at its end; the axis reaches all `ends`."""
    left = 34 + 8 * len(unit)
    plot = _WIDTH - left - _ASIDE - 12
    height = max(_HEIGHT, _NAME * len(curves))
    axis = Axis(find_ticks(ends, 5), height)
    across = [_EDGE + (plot - 2 * _EDGE) * at / max(len(names) - 1, 1) for at in range(len(names))]
    canvas = _Canvas((left, 8))
    for tick in axis.ticks:
        canvas.line(0, height - axis.place(tick), plot, height - axis.place(tick), RULE)
        canvas.text(-6, height - axis.place(tick), f"{tick:g}{unit}", FAINT, "end", 11)
    ours = [curve for curve in curves if curve.kind == "ours"]
    colours = [f"var(--s{ours.index(curve) % _SERIES + 1})" if curve.kind == "ours" else FAINT for curve in curves]
    for curve, colour in reversed([*zip(curves, colours, strict=True)]):  # ours on top
        mine = curve.kind == "ours"
        shift = 4 * (ours.index(curve) - (len(ours) - 1) / 2) if mine else 0  # intervals beside each other
        points = [(across[at] + shift, height - axis.place(value)) for at, value, _ in curve.points]
        path = "M" + "L".join(f"{_number(x)},{_number(y)}" for x, y in points)
        broken = "" if mine else "4,3"
        canvas.add("path", d=path, fill="none", stroke=colour, stroke_width=1 + mine, stroke_dasharray=broken)
        for (x, y), (_, _, interval) in zip(points, curve.points, strict=True):
            if interval:
                canvas.line(x, height - axis.place(interval[0]), x, height - axis.place(interval[1]), colour)
            canvas.sign(x, y, colour, mine, mine)
    for x, place in zip(across, names, strict=True):
        canvas.text(x, height + 16, place, FAINT, "middle", 11)
    canvas.text(plot / 2, height + 34, title, FAINT, "middle", 11)
    _name_ends(canvas, curves, colours, axis, plot)
    return canvas.render(_WIDTH, height + 52, label)


def _name_ends(canvas: _Canvas, curves: Sequence[Curve], colours: Sequence[str], axis: Axis, plot: float) -> None:
    """Write each curve's name behind its end; where ends are too near to each other, names are moved apart."""
    ended = sorted((axis.pixels - axis.place(curve.points[-1][1]), at) for at, curve in enumerate(curves))
    places: list[float] = []
    for y, _ in ended:
        places.append(max(y, places[-1] + _NAME) if places else y)
    below = max(places[-1] - axis.pixels, 0)
    for (y, at), place in zip(ended, places, strict=True):
        canvas.line(plot + 6, y, plot + 16, place - below, colours[at])
        weight = 600 if curves[at].kind == "ours" else 400
        name = cut_text(curves[at].name, _ASIDE - 10)[0]
        canvas.text(plot + 20, place - below, name, colours[at], "", 11, weight)


def draw_matrix(
    tiles: Sequence[Tile], rows: Sequence[tuple[str, str]], columns: Sequence[Sequence[str]], label: str
) -> str:
    """Draw value and count in every cell, the last column and row apart from the others.

    A row is its label and kind, ``head``, ``cell`` or ``whole``; a column the lines of its heading.
    """
    left = min(max(cut_text(text, 1000)[1] for text, _ in rows) + 14, _MATRIX // 3)
    step = (_MATRIX - left - 6) / len(columns)
    top = 14 * max(map(len, columns)) + 8
    canvas = _Canvas((left, top))
    tops: list[int] = []
    y = 0
    for text, kind in rows:
        y += 6 * (kind == "whole")
        tops.append(y)
        head = kind == "head"
        canvas.text(-left, y + (14 if head else 17), cut_text(text, left - 8)[0], weight=600 if head else 400)
        y += 24 if head else 34
    edges = [at * step + 6 * (at == len(columns) - 1) for at in range(len(columns))]
    for edge, lines in zip(edges, columns, strict=True):
        for up, line in enumerate(reversed(lines)):
            canvas.text(edge + step / 2, -6 - 14 * up, line, FAINT, "middle", 11)
    values = [tile.value for tile in tiles]
    low, high = min(values), max(values)
    for tile in tiles:
        rank = round((len(HEAT) - 1) * (tile.value - low) / ((high - low) or 1))
        ink = "#ffffff" if rank < len(HEAT) / 2 else "#000000"
        x, upper = edges[tile.column], tops[tile.row]
        canvas.add("rect", x=x, y=upper, width=step - 2, height=32, fill=HEAT[rank])
        canvas.text(x + step / 2 - 1, upper + 11, tile.text, ink, "middle", 12, 600)
        canvas.text(x + step / 2 - 1, upper + 24, tile.under, ink, "middle", 10)
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
