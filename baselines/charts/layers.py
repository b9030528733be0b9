"""What all charts are made of: layers of Vega-Lite with texts, signs and axes, and the colours of the page.

The library draws marks and axes. Every other text has its place in pixels and its own room: what a font measures
differs from machine to machine, and measuring takes most of the library's time.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

View = dict[str, Any]
INK, FAINT, RULE, PAPER = (f"var(--{name})" for name in ("ink", "faint", "rule", "paper"))
SERIES = 6  # colours of curves, after which they begin anew
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
BOLD = 1.12  # how much wider bold type is
# Of a field that holds a place in pixels.
PIXELS = {"scale": None, "axis": None, "type": "quantitative"}


def colour_of(rank: int) -> str:
    """Return the colour of the curve of this rank."""
    return f"var(--s{rank % SERIES + 1})"


class Text(NamedTuple):
    """A text of a chart: its place in pixels, its middle high, and how it looks."""

    x: float
    y: float
    text: str
    colour: str
    anchor: str = "start"
    size: int = 12
    weight: int = 400


class Room(NamedTuple):
    """The room around the plot, in pixels."""

    left: int
    right: int
    top: int
    bottom: int


def put_together(layers: Sequence[View], texts: Sequence[Text], width: int, height: int, room: Room) -> View:
    """Put layers together, with room around them; `draw.py` writes the texts."""
    shown = [one for one in layers if one["data"]["values"]]
    size = {"width": width, "height": height, "padding": room._asdict(), "autosize": {"type": "none"}}
    return {**size, "layer": shown, "usermeta": {"texts": list(texts)}}


def layer(values: Sequence[Mapping[str, Any]], mark: View, encoding: View) -> View:
    """Make one layer: its values, how each is marked, and which of its fields says what."""
    return {"data": {"values": list(values)}, "mark": mark, "encoding": encoding}


def mark_values(
    values: Sequence[Mapping[str, Any]], kind: str, colour: str, place: View, shape: str = "circle"
) -> list[View]:
    """Make the signs of values: filled ours that are sure, hollow others, of published rows a diamond."""
    hollow = {"type": "point", "filled": False, "fill": PAPER, "stroke": colour, "strokeWidth": 1.5, "size": 55}
    if kind == "published":
        return [layer(values, {**hollow, "shape": "diamond"}, place)]
    filled = {"type": "point", "shape": shape, "filled": True, "color": colour, "size": 65}
    return [
        layer([one for one in values if one["sure"]], filled, place),
        layer([one for one in values if not one["sure"]], {**hollow, "shape": shape}, place),
    ]


def axis_of(
    field: str, ticks: Sequence[float], side: str, title: str | None = None, beyond: float = 0, unit: str = ""
) -> View:
    """Make an axis of values, `unit` behind each; `beyond` is the room at either end, as a share of it."""
    axis: View = {"values": list(ticks), "grid": True, "title": title, "format": "~r"}
    axis |= {"labelExpr": f"datum.label + '{unit}'"} if unit else {}
    if side == "x":
        axis |= {"labelFlush": False, "titlePadding": 6}
    else:
        axis |= {"titlePadding": 4}
    room = beyond * (ticks[-1] - ticks[0])
    scale = {"domain": [ticks[0] - room, ticks[-1] + room], "nice": False, "zero": False}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}


def find_ticks(values: Sequence[float], most: int) -> list[float]:
    """Find round numbers around values, at most so many steps apart."""
    low, high = min(values), max(values)
    if low == high:
        low, high = sorted((0.0, low or 100.0))
    size = 10.0 ** math.floor(math.log10((high - low) / max(most, 2)))
    step = next(
        size * by
        for by in (1, 2, 5, 10, 20, 50)
        if math.ceil(high / (size * by)) - math.floor(low / (size * by)) <= max(most, 2)
    )
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(at * step, 9) for at in range(first, max(last, first + 1) + 1)]
