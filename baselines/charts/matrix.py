"""A matrix: value and count in every cell, coloured by size or, of differences, by sign."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any, NamedTuple

from .layers import FAINT, INK, PIXELS, RULE, Room, Text, View, colour_of, layer, put_together
from .palette import HEAT, blend, cut_text, ink_on

_WEIGHTS = {"head": 600, "cell": 400, "whole": 400}


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

    A row is its label and kind, ``head``, ``cell`` or ``whole``; a column the lines of its heading. `change` colours by
    sign, the stronger the larger; else the size does.
    """
    left = min(max(cut_text(label, 1000)[1] for label, _ in rows) + 14, width // 3)
    step = (width - left - 6) / len(columns)
    columns = [_fit_heading(lines, step) for lines in columns]
    tops, deep = [], 0
    for _, kind in rows:
        deep += 6 * (kind == "whole")
        tops.append(deep)
        deep += 24 if kind == "head" else 34
    values = [tile.value for tile in tiles]
    most = max(map(abs, values)) or 1
    low, high = min(values), max(values)
    shown: list[dict[str, Any]] = []
    texts = [
        Text(-left, top + (14 if kind == "head" else 17), cut_text(label, left - 8)[0], INK, weight=_WEIGHTS[kind])
        for (label, kind), top in zip(rows, tops, strict=True)
    ]
    apart = [6 * (at == len(columns) - 1) for at in range(len(columns))]
    for tile in tiles:
        if change:  # the page shines through, so that its ink can be read
            fill = RULE if not tile.value else colour_of(tile.value < 0)
            ink, strength = INK, 0.08 + 0.38 * abs(tile.value) / most
        else:
            fill = blend(HEAT, (tile.value - low) / ((high - low) or 1))
            ink, strength = ink_on(fill), 1.0
        x, y = round(tile.column * step + apart[tile.column], 1), tops[tile.row]
        shown.append({"x": x, "x2": x + step - 2, "y": y, "y2": y + 32, "fill": fill, "strength": strength})
        middle = round(x + step / 2 - 1, 1)
        texts.append(Text(middle, y + 11, tile.text, ink, "middle", 12, 600))
        texts.append(Text(middle, y + 24, tile.under, ink, "middle", 10))
    for at, lines in enumerate(columns):
        across = round((at + 0.5) * step + apart[at], 1)
        texts += [Text(across, -6 - 14 * up, line, FAINT, "middle", 11) for up, line in enumerate(reversed(lines))]
    literal = {"scale": None, "legend": None}
    encoding = {
        **{name: {"field": name, **PIXELS} for name in "xy"},
        **{name: {"field": name} for name in ("x2", "y2")},
        "color": {"field": "fill", "type": "nominal", **literal},
        "fillOpacity": {"field": "strength", "type": "quantitative", **literal},
    }
    room = Room(left, 0, 14 * max(map(len, columns)) + 8, 2)
    return put_together([layer(shown, {"type": "rect"}, encoding)], texts, width - left, deep, room)


def _fit_heading(lines: Sequence[str], room: float) -> Sequence[str]:
    """Break a heading of Chinese characters into more lines where one is wider than its column."""
    if max(cut_text(line, 1000)[1] for line in lines) <= room or "".join(lines).isascii():
        return lines
    return wrap("".join(lines), max(int(room // 12), 1))
