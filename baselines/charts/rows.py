"""Rows of a chart: a label, a value with its interval as a sign and as text; values side by side, or differences."""

from collections.abc import Sequence
from typing import NamedTuple

from .layers import (
    BOLD,
    FAINT,
    INK,
    PAPER,
    PIXELS,
    View,
    axis_of,
    colour_of,
    find_ticks,
    layer,
    mark_values,
    put_together,
    write,
)
from .palette import cut_text


class Row(NamedTuple):
    """A row of a chart; without a value it is a heading. `sure` fills the sign of a difference."""

    label: str
    kind: str
    value: float | None = None
    interval: tuple[float, float] | None = None
    text: str = ""
    sure: bool = True


def view_rows(rows: Sequence[Row], width: int, aside: int, stacked: bool = False, difference: bool = False) -> View:
    """Show rows: label, value with its interval, and the value as text.

    Args:
        rows: from above.
        width: of all in pixels.
        aside: of the texts on the right, or with `stacked` of none.
        stacked: puts label and text above a row, for narrow pages.
        difference: draws a line at 0.
    """
    longest = max(cut_text(row.label, 1000)[1] for row in rows if row.value is not None)
    left = 18 if stacked else min(longest + 12, width * 2 // 5)
    plot = width - left - (8 if stacked else aside)
    placed, y = [], 0
    for row in rows:
        head = row.value is None
        y += 18 + (6 + 8 * stacked) * (head and bool(placed)) + 12 * (stacked and not head)
        room = int(width / BOLD) - 8 if head else width - aside - 8 if stacked else left - 10
        placed.append({**row._asdict(), "y": y, "above": y - 14 * stacked, "label": cut_text(row.label, room)[0]})
        y += 6
    values = [one for one in placed if one["value"] is not None]
    ends = [end for one in values for end in (one["value"], *(one["interval"] or ()))]
    ticks = find_ticks([*ends, *([0.0] if difference else [])], plot // 55)
    x = axis_of("value", ticks, "x")
    for one in values:
        one["low"], one["high"] = one["interval"] or (one["value"], one["value"])
    text_y = {"field": "above", **PIXELS}
    layers = []
    if difference:
        zero = {"mark": {"type": "rule", "color": FAINT}, "encoding": {"x": {"datum": 0, "type": "quantitative"}}}
        layers.append({"data": {"values": [{}]}, **zero})
    heads = [{**one, "above": one["y"]} for one in placed if one["value"] is None]
    over = [*heads, *(values if stacked else ())]  # texts above the lines of the plot
    wide = [{"x": -left, "x2": cut_text(one["label"], width)[1] * BOLD + 4 - left, "y": one["above"]} for one in over]
    wide += [{"x": plot - cut_text(one["text"], width)[1], "x2": plot + 8, "y": one["above"]} for one in over]
    layers += [
        layer(
            [{**one, "y": one["y"] - 8, "y2": one["y"] + 8} for one in wide],
            {"type": "rect", "color": PAPER},
            {
                "x": {"field": "x", **PIXELS},
                "x2": {"field": "x2"},
                "y": {"field": "y", **PIXELS},
                "y2": {"field": "y2"},
            },
        ),
        write(heads, {"value": -left}, text_y, INK, fontWeight=600),
    ]
    for kind, colour in (("ours", colour_of(0)), ("published", FAINT)):
        own = [one for one in values if one["kind"] == kind]
        y_place = {"field": "y", **PIXELS}
        bounds = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y_place}
        layers += [
            layer([one for one in own if one["interval"]], {"type": "rule", "color": colour, "strokeWidth": 2}, bounds),
            *mark_values(own, kind, colour, {"x": x, "y": y_place}),
            write(own, {"value": -left}, text_y, INK if kind == "ours" else FAINT, "label"),
            write(own, {"value": width - left - 2}, text_y, INK if kind == "ours" else FAINT, "text", align="right"),
        ]
    return put_together(layers, plot, y, left, width - left - plot, top=4, bottom=22)
