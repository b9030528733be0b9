"""Curves over named places, ours before the printed ones, each with its name at its end."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from .layers import (
    FAINT,
    PIXELS,
    SERIES,
    SHAPES,
    Room,
    Text,
    View,
    axis_of,
    colour_of,
    find_ticks,
    layer,
    mark_values,
    put_together,
)
from .palette import cut_text

_INSET = 12  # pixels


class Curve(NamedTuple):
    """A curve: at each of its places a value, with its interval where there is one."""

    name: str
    kind: str
    points: Sequence[tuple[int, float, tuple[float, float] | None]]


def view_curves(
    curves: Sequence[Curve],
    names: Sequence[str],
    width: int,
    height: int,
    aside: int,
    ends: Sequence[float] = (),
    title: str = "",
    unit: str = "",
) -> View:
    """Show curves over named places, ours before those of others, each with its name at its end where `aside` has room.

    `height` is of the curves alone; `ends` are values that the axis is to reach, as those of panels beside.
    """
    values = [*ends, *(end for one in curves for _, value, both in one.points for end in (value, *(both or ())))]
    ticks = find_ticks(values, 5)
    left, right = 34 + 8 * len(unit), aside + 12
    plot = width - left - right
    y = axis_of("value", ticks, "y", unit=unit)
    ours = [one for one in curves if one.kind == "ours"]
    layers = []
    for curve in reversed(curves):  # ours on top
        mine = curve.kind == "ours"
        rank = ours.index(curve) if mine else 0
        colour = colour_of(rank) if mine else FAINT
        shift = 4 * (rank - (len(ours) - 1) / 2) if mine else 0  # intervals beside each other
        rows = [
            {"x": _across(plot, at, names) + shift, "value": value, "low": low, "high": high}
            for at, value, both in curve.points
            for low, high in [both or (None, None)]
        ]
        place = {"x": {"field": "x", **PIXELS}, "y": y}
        line = {
            "type": "line",
            "color": colour,
            "strokeWidth": 2 if mine else 1,
            "strokeDash": [1, 0] if mine else [4, 3],
        }
        bounds = {**place, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
        layers += [
            layer(rows, line, place),
            layer([one for one in rows if one["low"] is not None], {"type": "rule", "color": colour}, bounds),
            *mark_values([{**one, "sure": True} for one in rows], curve.kind, colour, place, SHAPES[rank % SERIES]),
        ]
    texts = [Text(_across(plot, at, names), height + 16, name, FAINT, "middle", 11) for at, name in enumerate(names)]
    texts.append(Text(plot / 2, height + 34, title, FAINT, "middle", 11))
    if aside:
        ends_layers, ends_texts = _name_ends(curves, ours, y, ticks, plot, height, aside)
        layers += ends_layers
        texts += ends_texts
    return put_together(layers, texts, plot, height, Room(left, right, 8, 44 if title else 24))


def _across(plot: int, at: int, names: Sequence[str]) -> float:
    return round(_INSET + (plot - 2 * _INSET) * at / max(len(names) - 1, 1), 1)


def _name_ends(
    curves: Sequence[Curve], ours: Sequence[Curve], y: View, ticks: Sequence[float], plot: int, height: int, aside: int
) -> tuple[list[View], list[Text]]:
    """Write each curve's name behind its end; where ends are too near to each other, names are moved apart."""
    line = (ticks[-1] - ticks[0]) * 13 / height
    ended = sorted((one.points[-1][1], at) for at, one in enumerate(curves))
    places = [value for value, _ in ended]
    for _ in range(200):
        for at, (below, above) in enumerate(pairwise(places)):
            if above - below < line:
                middle = (below + above) / 2
                places[at], places[at + 1] = middle - line / 2, middle + line / 2
        low, high = places[0] - ticks[0], places[-1] - ticks[-1]
        places = [place - min(low, 0) - (max(high, 0) if low > 0 else 0) for place in places]
    layers, texts = [], []
    for (value, at), place in zip(ended, places, strict=True):
        curve = curves[at]
        mine = curve.kind == "ours"
        colour = colour_of(ours.index(curve)) if mine else FAINT
        leader = [{"x": plot + 6, "value": value}, {"x": plot + 16, "value": place}]
        mark = {"type": "line", "color": colour, "strokeWidth": 1}
        layers.append(layer(leader, mark, {"x": {"field": "x", **PIXELS}, "y": y}))
        up = height * (ticks[-1] - place) / (ticks[-1] - ticks[0])
        texts.append(
            Text(plot + 20, up, cut_text(curve.name, aside - 10)[0], colour, "start", 11, 600 if mine else 400)
        )
    return layers, texts
