"""Rows of a chart: a label, a value with its interval as a sign and as text; values side by side, or differences."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from .layers import (
    BOLD,
    FAINT,
    INK,
    PAPER,
    PIXELS,
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


class Row(NamedTuple):
    """A row of a chart; without a value it is a heading. `sure` fills its sign, as one with an interval is."""

    label: str
    kind: str
    value: float | None = None
    interval: tuple[float, float] | None = None
    text: str = ""
    sure: bool = True


def view_rows(
    rows: Sequence[Row], width: int, aside: int, stacked: bool = False, difference: bool = False, unit: str = ""
) -> View:
    """Show rows: label, value with its interval, and the value as text, for which `aside` pixels are kept on the right.

    `stacked` puts label and text above a row, for narrow pages; `difference` draws a line at 0.
    """
    longest = max(cut_text(row.label, 1000)[1] for row in rows if row.value is not None)
    left = 18 if stacked else min(longest + 18, width * 2 // 5)
    plot = width - left - (14 if stacked else aside)
    placed: list[dict[str, Any]] = []
    y = 0
    for row in rows:
        head = row.value is None
        y += 18 + (6 + 8 * stacked) * (head and bool(placed)) + 12 * (stacked and not head)
        room = int(width / BOLD) - 8 if head else width - aside - 8 if stacked else left - 16
        placed.append({**row._asdict(), "y": y, "above": y - 14 * stacked, "label": cut_text(row.label, room)[0]})
        y += 6
    values = [one for one in placed if one["value"] is not None]
    ends = [end for one in values for end in (one["value"], *(one["interval"] or ()))]
    ticks = find_ticks([*ends, *([0.0] if difference else [])], plot // 55)
    x = axis_of("value", ticks, "x", unit=unit)
    for one in values:
        one["low"], one["high"] = one["interval"] or (one["value"], one["value"])
    inks = {"head": INK, "ours": INK, "published": FAINT}
    heads = [Text(-left, one["y"], one["label"], INK, weight=600) for one in placed if one["value"] is None]
    texts = [Text(-left, one["above"], one["label"], inks[one["kind"]]) for one in values]
    texts += [Text(width - left - 2, one["above"], one["text"], inks[one["kind"]], "end") for one in values]
    layers = []
    if difference:
        zero = {"x": {"datum": 0, "type": "quantitative"}}
        layers.append(layer([{}], {"type": "rule", "color": FAINT}, zero))
    layers.append(_clear_under([*heads, *(texts if stacked else ())]))
    place = {"y": {"field": "y", **PIXELS}}
    for kind, colour in (("ours", colour_of(0)), ("published", FAINT)):
        own = [one for one in values if one["kind"] == kind]
        bounds = {**place, "x": {**x, "field": "low"}, "x2": {"field": "high"}}
        rule = {"type": "rule", "color": colour, "strokeWidth": 2}
        layers.append(layer([one for one in own if one["interval"]], rule, bounds))
        layers += mark_values(own, kind, colour, {**place, "x": x})
    return put_together(layers, [*heads, *texts], plot, y, Room(left, width - left - plot, 4, 22))


def _clear_under(texts: Sequence[Text]) -> View:
    """Take the lines of the plot away under texts that stand in it."""
    boxes = []
    for one in texts:
        wide = cut_text(one.text, 1000)[1] * (BOLD if one.weight > 400 else 1) + 4
        start = one.x - wide if one.anchor == "end" else one.x
        boxes.append({"x": start, "x2": start + wide, "y": one.y - 8, "y2": one.y + 8})
    ends = {name: {"field": name} for name in ("x2", "y2")}
    sides = {name: {"field": name, **PIXELS} for name in "xy"}
    return layer(boxes, {"type": "rect", "color": PAPER}, {**sides, **ends})
