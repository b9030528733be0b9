"""Questions as dots, as large as there are questions of a place, with means over them."""

from collections.abc import Sequence

from .layers import INK, Room, View, axis_of, colour_of, find_ticks, layer, put_together


def view_dots(
    dots: Sequence[tuple[float, float, int]],
    means: Sequence[tuple[float, float, tuple[float, float] | None]],
    axes: tuple[str, str],
    width: int,
) -> View:
    """Show dots as large as there are questions, and means with their intervals, both by places across and up."""
    height, left = 300, 52
    plot = width - left - 14
    x = axis_of("x", find_ticks([0.0, *(across for across, *_ in dots)], 5), "x", axes[0], 0.07)
    y = axis_of("value", find_ticks([0.0, *(up for _, up, _ in dots)], 5), "y", axes[1], 0.07)
    most = max(count for *_, count in dots)
    rows = [{"x": across, "value": up, "size": 14 + 700 * count / most} for across, up, count in dots]
    middle = [
        {"x": across, "value": up, "low": low, "high": high}
        for across, up, both in means
        for low, high in [both or (up, up)]
    ]
    size = {"field": "size", "type": "quantitative", "scale": None, "legend": None}
    dot = {
        "type": "point",
        "shape": "circle",
        "filled": True,
        "fillOpacity": 0.3,
        "color": colour_of(0),
        "stroke": colour_of(0),
        "strokeWidth": 1,
    }
    bounds = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    layers = [
        layer(rows, dot, {"x": x, "y": y, "size": size}),
        layer(middle, {"type": "line", "color": INK, "strokeWidth": 2}, {"x": x, "y": y}),
        layer(middle, {"type": "rule", "color": INK, "strokeWidth": 2}, bounds),
        layer(
            middle, {"type": "point", "shape": "diamond", "filled": True, "color": INK, "size": 70}, {"x": x, "y": y}
        ),
    ]
    return put_together(layers, [], plot, height, Room(left, 14, 12, 42))
