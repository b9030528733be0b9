"""Bars beside the few numbers of a summary: SVG of a few lines, which needs no library, no script and no style."""

import math

from ..tables.grid import Figure, Grid, Line


def draw_bars(grid: Grid) -> list[str]:
    """Draw the figure of each line of a table that `find_figure` finds, with its interval; "" for the others.

    They are shares from 0 to 100, and figures of further cells are published ones. Where the table's form is ``forest``
    they are differences, those of one unit on one scale with 0 in its middle; where it is ``runs`` a dot stands for
    each, on the scale of `find_least`.
    """
    bars = []
    start = find_least(grid)
    ends = find_ends(grid)
    for line in grid.lines:
        ours, least, most = find_figure(grid, line), start, 100.0
        if ours and grid.form == "forest":
            most = ends[ours.unit]
            least = -most
        published = [one.value for cell in line.cells[1:] if (one := cell.figure) and grid.form != "forest"]
        bars.append(_draw(ours, least, most, published, grid.form == "runs") if ours and most else "")
    return bars


def find_figure(grid: Grid, line: Line) -> Figure | None:
    """Return the figure of a line that is drawn: its first cell's or, of a ``forest``, its difference's."""
    cells = line.cells if grid.form == "forest" else line.cells[:1]
    return next((cell.figure for cell in cells if cell.figure), None)


def find_ends(grid: Grid) -> dict[str, float]:
    """Return where the scale of a table's differences ends on either side of 0, a full ten, by their unit."""
    ends: dict[str, float] = {}
    for line in grid.lines:
        if one := find_figure(grid, line):
            most = max(abs(end) for end in (one.value, *(one.interval or ())))
            ends[one.unit] = max(ends.get(one.unit, 0.0), 10.0 * math.ceil(most / 10))
    return ends


def find_least(grid: Grid) -> float:
    """Return where the scale of a table's bars begins: at 0, or at -100 where runs have values below 0."""
    figures = [figure for line in grid.lines if grid.form == "runs" and (figure := line.cells[0].figure)]
    return -100.0 if any(end < 0 for one in figures for end in (one.value, *(one.interval or ()))) else 0.0


def _draw(ours: Figure, least: float, most: float, published: list[float], dot: bool) -> str:
    """Draw a bar from 0 to a value, or a dot there, its interval as a line, published values as upright strokes."""

    def place(value: float) -> float:
        return round(100 * (value - least) / (most - least), 1)

    def line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
        return f'<line x1="{x1}%" y1="{y1}" x2="{x2}%" y2="{y2}" stroke="{colour}" stroke-width="2"/>'

    low, high = sorted((place(0), place(ours.value)))
    drawn = f'<rect y="{5 if dot else 3}" width="100%" height="{2 if dot else 6}" fill="var(--rule, #8883)"/>'
    bar = 'height="6" fill="var(--s1, #4a7fb5)" fill-opacity=".6"'
    drawn += "" if dot else f'<rect x="{low}%" y="3" width="{round(high - low, 1)}%" {bar}/>'
    drawn += line(place(0), 0, place(0), 12, "var(--faint, #888)") if least else ""
    if ours.interval:
        left, right = map(place, ours.interval)
        drawn += line(left, 6, right, 6, "var(--s1, #4a7fb5)" if dot else "var(--ink, currentColor)")
    drawn += f'<circle cx="{place(ours.value)}%" cy="6" r="5" fill="var(--s1, #4a7fb5)"/>' if dot else ""
    drawn += "".join(line(place(one), 0, place(one), 12, "var(--s2, #b3530a)") for one in published)
    return f'<svg class="bar" width="128" height="12" aria-hidden="true">{drawn}</svg>'
