"""Three kinds of charts as SVG that stands in a page: rows of values with intervals, curves, and a matrix.

Colours are variables of the page's style, so a chart follows its theme. What a font measures differs from machine to
machine: every text has its place and its own room, reckoned from the number and width of its characters.
"""

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import Any, NamedTuple
from unicodedata import category, east_asian_width
from xml.sax.saxutils import escape, quoteattr

INK, FAINT, RULE, PAPER = (f"var(--{name})" for name in ("ink", "faint", "rule", "paper"))
# Cividis, which every kind of colour vision tells apart.
HEAT = ("#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838")
_SERIES = 6  # colours and signs of curves, after which they begin anew
_SIGNS = (
    "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0Z",
    "M-4-4h8v8h-8Z",
    "M0-5L4.7 3.5H-4.7Z",
    "M0-5.5L4.5 0L0 5.5L-4.5 0Z",
    "M0 5L4.7-3.5H-4.7Z",
    "M-4.7-1.6h3.1v-3.1h3.2v3.1h3.1v3.2h-3.1v3.1h-3.2v-3.1h-3.1Z",
)
_DIAMOND = 3
_WIDE, _NARROW, _BOLD = 12.0, 6.7, 1.12  # pixels of a character, of 12 pixels' type; bold type by so much more
_INSET, _NAME = 12, 13  # pixels: beside the outermost points, of a curve's name from the next


class Row(NamedTuple):
    """A row of a chart; without a value it is a heading. `sure` fills its sign, as one with an interval is."""

    label: str
    kind: str
    value: float | None = None
    interval: tuple[float, float] | None = None
    text: str = ""
    sure: bool = True


class Curve(NamedTuple):
    """A curve: at each of its places a value, with its interval where there is one."""

    name: str
    kind: str
    points: Sequence[tuple[int, float, tuple[float, float] | None]]


class Tile(NamedTuple):
    """A cell of a matrix: its row and column from 0, its value, what is written there."""

    row: int
    column: int
    value: float
    text: str
    under: str


class _Canvas:
    """What is drawn, part by part; `x` and `y` are pixels from the plot's upper left corner, which is at `corner`."""

    def __init__(self, corner: tuple[float, float]) -> None:
        self._corner = corner
        self._parts: list[str] = []

    def _add(self, tag: str, content: str = "", **attributes: Any) -> None:
        written = " ".join(
            f"{name.replace('_', '-')}={quoteattr(_number(value) if isinstance(value, float | int) else value)}"
            for name, value in attributes.items()
            if value not in (None, "")
        )
        self._parts.append(f"<{tag} {written}>{content}</{tag}>")

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> None:
        self._add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour, stroke_width=width)

    def curve(self, points: Sequence[tuple[float, float]], colour: str, ours: bool) -> None:
        drawn = "M" + "L".join(f"{_number(x)},{_number(y)}" for x, y in points)
        broken = "" if ours else "4,3"
        self._add("path", d=drawn, fill="none", stroke=colour, stroke_width=1 + ours, stroke_dasharray=broken)

    def box(self, x: float, y: float, width: float, height: float, colour: str, opacity: float = 1) -> None:
        drawn = f"M{_number(x)},{_number(y)}h{_number(width)}v{_number(height)}h-{_number(width)}Z"
        self._add("path", d=drawn, fill=colour, fill_opacity=None if opacity == 1 else opacity)

    def sign(self, x: float, y: float, colour: str, filled: bool, shape: int = 0) -> None:
        place = f"translate({_number(x)},{_number(y)})"
        look = {"fill": colour} if filled else {"fill": PAPER, "stroke": colour, "stroke_width": 1.5}
        self._add("path", d=_SIGNS[shape % _SERIES], transform=place, **look)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        colour: str = INK,
        anchor: str = "",
        size: int = 12,
        weight: int = 400,
        above: bool = False,
    ) -> None:
        """Write a text whose middle is at `y`; one `above` the plot lets no line of it show through."""
        halo = {"stroke": PAPER, "stroke_width": 4, "paint_order": "stroke"} if above else {}
        place = {"x": x, "y": y + 0.3 * size, "text_anchor": anchor}
        if text:
            self._add("text", escape(_clean(text)), **place, fill=colour, font_size=size, font_weight=weight, **halo)

    def render(self, width: float, height: float, label: str, name: str) -> str:
        """Return the drawing as an image of a page, with its label and the class `name`."""
        (left, top), size = self._corner, f'width="{_number(width)}" height="{_number(height)}"'
        head = f'<svg class={quoteattr(name)} role="img" aria-label={quoteattr(_clean(label))} {size}'
        view = f'viewBox="{_number(-left)} {_number(-top)} {_number(width)} {_number(height)}"'
        return f"{head} {view}>{''.join(self._parts)}</svg>"


class Axis(NamedTuple):
    """Round numbers along a side of so many pixels; it runs from the first to the last of them."""

    ticks: Sequence[float]
    pixels: float

    def place(self, value: float) -> float:
        """Return how far from the first tick a value lies, in pixels."""
        return self.pixels * (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])


def draw_rows(
    rows: Sequence[Row], width: int, aside: int, label: str, name: str, difference: bool = False, unit: str = ""
) -> str:
    """Draw rows: label, value with its interval, and the value as text, for which `aside` pixels are kept on the right.

    A `difference` has a line at 0. On a narrow page, class ``narrow``, its label and text stand above a row.
    """
    stacked = difference and name == "narrow"
    longest = max(cut_text(row.label, 1000)[1] for row in rows if row.value is not None)
    left = 18 if stacked else min(longest + 18, width * 2 // 5)
    plot = width - left - (14 if stacked else aside)
    heights: list[int] = []
    y = 0
    for row in rows:
        head = row.value is None
        y += 18 + (6 + 8 * stacked) * (head and bool(heights)) + 12 * (stacked and not head)
        heights.append(y)
        y += 6
    ends = [end for row in rows if row.value is not None for end in (row.value, *(row.interval or ()))]
    axis = Axis(find_ticks([*ends, *([0.0] if difference else [])], plot // 55), plot)
    canvas = _Canvas((left, 4))
    for tick in axis.ticks:
        canvas.line(axis.place(tick), 0, axis.place(tick), y, RULE)
        canvas.text(axis.place(tick), y + 12, f"{tick:g}{unit}", FAINT, "middle", 11)
    if difference:
        canvas.line(axis.place(0), 0, axis.place(0), y, FAINT)
    for row, height in zip(rows, heights, strict=True):
        if row.value is None:
            canvas.text(-left, height, cut_text(row.label, int(width / _BOLD) - 8)[0], weight=600, above=True)
            continue
        ours = row.kind == "ours"
        ink, colour = (INK, colour_of(0)) if ours else (FAINT, FAINT)
        above = height - 14 * stacked
        label_room = width - aside - 8 if stacked else left - 16
        canvas.text(-left, above, cut_text(row.label, label_room)[0], ink, above=stacked)
        canvas.text(width - left - 2, above, row.text, ink, "end", above=stacked)
        if row.interval:
            canvas.line(*(axis.place(row.interval[0]), height, axis.place(row.interval[1]), height), colour, 2)
        canvas.sign(axis.place(row.value), height, colour, ours and row.sure, 0 if ours else _DIAMOND)
    return canvas.render(width, y + 26, label, name)


def draw_curves(
    curves: Sequence[Curve],
    names: Sequence[str],
    width: int,
    label: str,
    name: str,
    ends: Sequence[float] = (),
    title: str = "",
    unit: str = "",
) -> str:
    """Draw curves over named places; on a page with room each has its name at its end.

    `ends` are values that the axis is to reach, as those of panels beside.
    """
    height, aside = (120, 0) if not name else (max(240, 14 * len(curves) + 40), 70 + width // 8)
    values = [*ends, *(end for curve in curves for _, value, both in curve.points for end in (value, *(both or ())))]
    left = 34 + 8 * len(unit)
    plot = width - left - aside - 12
    axis = Axis(find_ticks(values, 5), height)
    across = [_INSET + (plot - 2 * _INSET) * at / max(len(names) - 1, 1) for at in range(len(names))]
    canvas = _Canvas((left, 8))
    for tick in axis.ticks:
        canvas.line(0, height - axis.place(tick), plot, height - axis.place(tick), RULE)
        canvas.text(-6, height - axis.place(tick), f"{tick:g}{unit}", FAINT, "end", 11)
    ours = [curve for curve in curves if curve.kind == "ours"]
    colours = [colour_of(ours.index(curve)) if curve.kind == "ours" else FAINT for curve in curves]
    for curve, colour in reversed([*zip(curves, colours, strict=True)]):  # ours on top
        mine = curve.kind == "ours"
        rank = ours.index(curve) if mine else 0
        shift = 4 * (rank - (len(ours) - 1) / 2) if mine else 0  # intervals beside each other
        points = [(across[at] + shift, height - axis.place(value)) for at, value, _ in curve.points]
        canvas.curve(points, colour, mine)
        for (x, y), (_, _, interval) in zip(points, curve.points, strict=True):
            if interval:
                canvas.line(x, height - axis.place(interval[0]), x, height - axis.place(interval[1]), colour)
            canvas.sign(x, y, colour, mine, rank if mine else _DIAMOND)
    for x, place in zip(across, names, strict=True):
        canvas.text(x, height + 16, place, FAINT, "middle", 11)
    canvas.text(plot / 2, height + 34, title, FAINT, "middle", 11)
    if aside:
        _name_ends(canvas, curves, colours, axis, plot, aside)
    return canvas.render(width, height + (52 if title else 32), label, name)


def _name_ends(
    canvas: _Canvas, curves: Sequence[Curve], colours: Sequence[str], axis: Axis, plot: float, aside: int
) -> None:
    """Write each curve's name behind its end; where ends are too near to each other, names are moved apart."""
    ended = sorted((axis.pixels - axis.place(curve.points[-1][1]), at) for at, curve in enumerate(curves))
    places: list[float] = []
    for y, _ in ended:
        places.append(max(y, places[-1] + _NAME) if places else y)
    lowest = axis.pixels
    for at in reversed(range(len(places))):
        places[at] = min(places[at], lowest)
        lowest = places[at] - _NAME
    for (y, at), place in zip(ended, places, strict=True):
        canvas.line(plot + 6, y, plot + 16, place, colours[at])
        weight = 600 if curves[at].kind == "ours" else 400
        canvas.text(plot + 20, place, cut_text(curves[at].name, aside - 10)[0], colours[at], "", 11, weight)


def draw_matrix(
    tiles: Sequence[Tile],
    rows: Sequence[tuple[str, str]],
    columns: Sequence[Sequence[str]],
    width: int,
    label: str,
    name: str,
    change: bool = False,
) -> str:
    """Draw value and count in every cell, the last column and row apart from the others.

    A row is its label and kind, ``head``, ``cell`` or ``whole``; a column the lines of its heading. `change` colours by
    sign, the stronger the larger; else the size does.
    """
    left = min(max(cut_text(text, 1000)[1] for text, _ in rows) + 14, width // 3)
    step = (width - left - 6) / len(columns)
    columns = [_fit_heading(lines, step) for lines in columns]
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
    low, high, most = min(values), max(values), max(map(abs, values)) or 1
    for tile in tiles:
        if change:  # the page shines through, so that its ink can be read
            fill, ink = RULE if not tile.value else colour_of(tile.value < 0), INK
            strength = 0.08 + 0.38 * abs(tile.value) / most
        else:
            fill = blend(HEAT, (tile.value - low) / ((high - low) or 1))
            ink, strength = ink_on(fill), 1.0
        x, upper = edges[tile.column], tops[tile.row]
        canvas.box(x, upper, step - 2, 32, fill, strength)
        canvas.text(x + step / 2 - 1, upper + 11, tile.text, ink, "middle", 12, 600)
        canvas.text(x + step / 2 - 1, upper + 24, tile.under, ink, "middle", 10)
    return canvas.render(width, top + y + 2, label, name)


def _fit_heading(lines: Sequence[str], room: float) -> Sequence[str]:
    """Break a heading of Chinese characters into more lines where one is wider than its column."""
    if max(cut_text(line, 1000)[1] for line in lines) <= room or "".join(lines).isascii():
        return lines
    return wrap("".join(lines), max(int(room // 12), 1))


def find_ticks(values: Sequence[float], most: int) -> list[float]:
    """Find round numbers around values, at most so many steps apart."""
    low, high = min(values), max(values)
    if low == high:
        low, high = sorted((0.0, low or 100.0))
    most = max(most, 2)
    size = 10.0 ** math.floor(math.log10((high - low) / most))
    steps = [size * by for by in (1, 2, 5, 10, 20, 50)]
    step = next(step for step in steps if math.ceil(high / step) - math.floor(low / step) <= most)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(at * step, 9) for at in range(first, max(last, first + 1) + 1)]


def colour_of(rank: int) -> str:
    """Return the colour of the curve of this rank."""
    return f"var(--s{rank % _SERIES + 1})"


def blend(colours: Sequence[str], share: float) -> str:
    """Return the colour at a share, 0 to 1, of the way through a scale."""
    place = min(max(share, 0.0), 1.0) * (len(colours) - 1)
    first = min(int(place), len(colours) - 2)
    sides = zip(_parts(colours[first]), _parts(colours[first + 1]), strict=True)
    return "#" + "".join(f"{round(low + (high - low) * (place - first)):02x}" for low, high in sides)


def ink_on(colour: str) -> str:
    """Return black or white, whichever is read better on a colour."""
    return max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, colour))


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours as WCAG defines it, 1 to 21."""
    low, high = sorted(map(_luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


def cut_text(text: str, room: int) -> tuple[str, int]:
    """Cut a text to a room in pixels; return it with the room that it takes."""
    widths = [_WIDE if east_asian_width(sign) in "WF" else _NARROW for sign in text]
    if sum(widths) <= room:
        return text, round(sum(widths))
    while widths and sum(widths) + _WIDE > room:
        widths.pop()
    return text[: len(widths)].rstrip() + "…", room


def _parts(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def _luminance(colour: str) -> float:
    parts = [part / 255 for part in _parts(colour)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _number(value: float) -> str:
    return f"{round(value, 1):g}"


def _clean(text: str) -> str:
    """Put blanks in place of characters that no drawing can hold."""
    return "".join(" " if category(sign).startswith("C") else sign for sign in text)
