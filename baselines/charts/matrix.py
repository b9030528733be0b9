"""A matrix: value and count in every cell, coloured by size or, of differences, by sign."""

from collections.abc import Sequence
from typing import NamedTuple

from .layers import FAINT, INK, PIXELS, RULE, View, colour_of, layer, put_together, write
from .palette import HEAT, blend, cut_text, ink_on


class Tile(NamedTuple):
    """A cell of a matrix: its row and column from 0, its value, what is written there."""

    row: int
    column: int
    value: float
    text: str
    under: str


def view_matrix(
    tiles: Sequence[Tile],
    rows: Sequence[tuple[str, str]],
    columns: Sequence[Sequence[str]],
    width: int,
    change: bool = False,
) -> View:
    """Show a matrix: value and count in every cell, the last column and row apart from the others.

    Args:
        tiles: its cells.
        rows: label of each, with its kind: ``head``, ``cell`` or ``whole``.
        columns: the lines of each one's heading.
        width: of all in pixels.
        change: colours by sign, the stronger the larger; else by size.
    """
    left = min(max(cut_text(label, 1000)[1] for label, _ in rows) + 10, width // 3)
    step = (width - left - 6) / len(columns)
    tops, y = [], 0
    for _, kind in rows:
        y += 6 * (kind == "whole")
        tops.append(y)
        y += 24 if kind == "head" else 34
    values = [tile.value for tile in tiles]
    most = max(map(abs, values)) or 1
    low, high = min(values), max(values)
    shown = []
    for tile in tiles:
        if change:  # the page shines through, so that its ink can be read
            hue = RULE if not tile.value else colour_of(tile.value < 0)
            fill, ink, strength = hue, INK, 0.08 + 0.38 * abs(tile.value) / most
        else:
            fill = blend(HEAT, (tile.value - low) / ((high - low) or 1))
            ink, strength = ink_on(fill), 1.0
        start = round(tile.column * step + 6 * (tile.column == len(columns) - 1), 1)
        place = {"x": start, "x2": start + step - 2, "y": tops[tile.row], "y2": tops[tile.row] + 32}
        middle = {"middle": start + step / 2 - 1, "up": place["y"] + 12, "down": place["y"] + 25}
        shown.append(
            {**place, **middle, "label": tile.text, "under": tile.under, "fill": fill, "ink": ink, "strength": strength}
        )
    pixels = {name: {"field": name, **PIXELS} for name in ("x", "y", "middle", "up", "down")}
    own = {"field": "ink", "type": "nominal", "scale": None, "legend": None}
    through = {"field": "strength", "type": "quantitative", "scale": None, "legend": None}
    rect = {"x": pixels["x"], "x2": {"field": "x2"}, "y": pixels["y"], "y2": {"field": "y2"}}
    texts = [
        {"label": cut_text(label, left - 8)[0], "y": top + (14 if kind == "head" else 17), "kind": kind}
        for (label, kind), top in zip(rows, tops, strict=True)
    ]
    heads = [
        {"label": list(lines), "x": round(at * step + step / 2 + 6 * (at == len(columns) - 1), 1), "y": -6}
        for at, lines in enumerate(columns)
    ]
    deep = max(map(len, columns))
    layers = [
        layer(shown, {"type": "rect"}, {**rect, "color": {**own, "field": "fill"}, "fillOpacity": through}),
        write(shown, pixels["middle"], pixels["up"], own, "label", align="center", fontWeight=600),
        write(shown, pixels["middle"], pixels["down"], own, "under", align="center", fontSize=10),
        write([one for one in texts if one["kind"] == "head"], {"value": -left}, pixels["y"], INK, fontWeight=600),
        write([one for one in texts if one["kind"] != "head"], {"value": -left}, pixels["y"], INK),
        *(
            write(
                [
                    {"label": head["label"][line], "x": head["x"], "y": -6 - 14 * (len(head["label"]) - 1 - line)}
                    for head in heads
                    if line < len(head["label"])
                ],
                pixels["x"],
                pixels["y"],
                FAINT,
                align="center",
                fontSize=11,
            )
            for line in range(deep)
        ),
    ]
    return put_together(layers, width - left, y, left, 0, top=14 * deep + 8, bottom=2)
