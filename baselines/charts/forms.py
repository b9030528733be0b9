"""Charts of tables: which figures of a grid stand in which panel, by the grid's form; drawn by `svg.py`."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ..tables.cells import write_number
from ..tables.draw import align_cells
from ..tables.grid import Cell, Figure, Grid, Line
from .svg import Curve, Row, Tile, draw_curves, draw_matrix, draw_rows

_NUMBER = re.compile(r"(\w*?)_?(\d+(?:\.\d+)?)")
_LEADING = re.compile(r"\s*(\d+(?:\.\d+)?)(?:, |，)(.+)")  # a comma, in either language
_COLON = re.compile(": |：")
NARROW = 350  # pixels, of a panel on a telephone
_WIDTHS = {1: 700, 2: 560}  # of one panel, of two beside each other; more are of one width everywhere
_SMALL, _MIDDLE = 164, 390
_ASIDE, _ASIDE_DIFFERENCE = 54, 150  # pixels of the texts on the right
Panel = tuple[str, Callable[..., str]]  # its heading, and what draws it at a width, with a label and a class
Words = Mapping[str, str]


class Chart(NamedTuple):
    """A chart: its panels by what heads each, and a line that explains its signs."""

    panels: Sequence[tuple[str, str]]
    legend: str


def draw_grid(grid: Grid, words: Words) -> Chart | None:
    """Draw a table with the `words` of a chart by name; None where it has no form, or too few cells have figures."""
    panels = list(_FORMS[grid.form](grid)) if grid.form else []
    if not panels:
        return None
    if len(panels) in _WIDTHS:
        widths = {"broad": _WIDTHS[len(panels)], "narrow": NARROW}
    else:
        widths = {"": _SMALL if grid.form == "sweep" else _MIDDLE}
    lower, drawn = _list_lower(grid), []
    for title, draw in panels:
        shown = words["lower"].replace("{0}", title) if title in lower else title
        label = " · ".join(filter(None, (grid.title, shown))) + words["below"]
        drawn.append((shown, "".join(draw(width=width, label=label, name=name) for name, width in widths.items())))
    return Chart(drawn, " · ".join(_explain(grid, words)))


def _explain(grid: Grid, words: Words) -> Iterator[str]:
    if grid.form in ("heat", "change", "forest"):
        yield words[grid.form]
        return
    yield f"● {words['ours']}"
    ours = [one for line in grid.lines if line.kind == "ours" for one in _figures(line)]
    if grid.form in ("points", "runs") and not all(one.interval for one in ours):
        yield f"○ {words['few']}"
    if any(line.kind == "published" and _figures(line) for line in grid.lines):
        yield f"◇ {words['published']}"


def _list_lower(grid: Grid) -> set[str]:
    figures = [(at, line, cell.figure) for line in grid.lines for at, cell in enumerate(line.cells)]
    below = [(at, line) for at, line, figure in figures if figure and figure.lower]
    titles = _titles(grid)
    return {titles[at] for at, _ in below} | {line.label.strip() for _, line in below if grid.form == "runs"}


def _points(grid: Grid) -> Iterator[Panel]:
    texts = align_cells(grid, "\u2007")
    for at, title in enumerate(_titles(grid)):
        rows = list(_group(grid.lines, at, [line[at].text for line in texts]))
        if any(row.kind == "ours" and row.value is not None for row in rows) and _count(rows) > 1:
            yield title, partial(draw_rows, rows, aside=_ASIDE, unit=_unit(line.cells[at] for line in grid.lines))


def _unit(cells: Iterable[Cell]) -> str:
    units = {cell.figure.unit for cell in cells if cell.figure}
    return units.pop() if len(units) == 1 else ""


def _count(rows: Sequence[Row]) -> int:
    return sum(row.value is not None for row in rows)


def _group(lines: Sequence[Line], at: int, texts: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of a column, under those headings that have any."""
    heading: Row | None = None
    for line, text in zip(lines, texts, strict=True):
        if _is_heading(line):
            heading = Row(line.label.strip(), "head")
        elif figure := line.cells[at].figure:
            if heading:
                yield heading
                heading = None
            yield Row(_name(line), line.kind, figure.value, figure.interval, text, bool(figure.interval))


def _runs(grid: Grid) -> Iterator[Panel]:
    names = grid.names or _titles(grid)
    for line in grid.lines:
        rows = [
            Row(name, line.kind, cell.figure.value, cell.figure.interval, cell.text, bool(cell.figure.interval))
            for name, cell in zip(names, line.cells, strict=False)
            if cell.figure
        ]
        if len(rows) > 1:
            yield line.label.strip(), partial(draw_rows, rows, aside=_ASIDE, unit=_unit(line.cells))


def _curves(grid: Grid) -> Iterator[Panel]:
    """Yield a panel for each group of columns; without numbers in the heads, points."""
    groups: dict[str, list[tuple[int, str, str]]] = {}
    last = ""
    for at, head in enumerate(grid.columns):
        group, _, own = head.rpartition("\n")
        last = group or last
        number = _NUMBER.fullmatch(own)
        if number is None:
            yield from _points(grid)
            return
        groups.setdefault(last, []).append((at, number[1], number[2]))
    ends = [end for line in grid.lines for figure in _figures(line) for end in (figure.value, *(figure.interval or ()))]
    for group, columns in groups.items():
        curves = [curve for line in grid.lines if (curve := _curve(line, [at for at, *_ in columns])).points]
        if any(one.kind == "ours" and len(one.points) > 1 for one in curves):
            curves.sort(key=lambda curve: curve.kind)  # ours first
            unit = _unit(cell for line in grid.lines for cell in line.cells)
            name = columns[0][1] or grid.corner
            numbers = [number for *_, number in columns]
            yield group, partial(draw_curves, curves, numbers, ends=ends, title=name, unit=unit)


def _curve(line: Line, columns: Sequence[int]) -> Curve:
    figures = [(rank, line.cells[at].figure) for rank, at in enumerate(columns)]
    return Curve(_name(line), line.kind, [(rank, one.value, one.interval) for rank, one in figures if one])


def _sweep(grid: Grid) -> Iterator[Panel]:
    """Yield a panel for each group of lines and each column; without numbers in the labels, points."""
    drawn = [line for line in grid.lines if _figures(line)]
    if not all(_LEADING.match(line.label) for line in drawn):
        yield from _points(grid)
        return
    heading = ""
    groups: dict[str, list[tuple[Line, str, str]]] = {}
    for line in grid.lines:
        if _is_heading(line):
            heading = line.label.strip()
        elif _figures(line) and (found := _LEADING.match(line.label)):
            groups.setdefault(heading, []).append((line, found[1], found[2]))
    for group, lines in groups.items():
        names = sorted({number for _, number, _ in lines}, key=float)
        for at, title in enumerate(_titles(grid)):
            points: dict[tuple[str, str], list[tuple[int, float, tuple[float, float] | None]]] = {}
            for line, number, name in lines:
                if one := line.cells[at].figure:
                    points.setdefault((line.kind, name), []).append((names.index(number), one.value, one.interval))
            curves = [Curve(name, kind, sorted(points[kind, name])) for kind, name in sorted(points)]
            if len(names) > 1 and any(curve.kind == "ours" for curve in curves):
                unit = _unit(line.cells[at] for line, *_ in lines)
                yield f"{group}: {title}".removeprefix(": "), partial(draw_curves, curves, names, unit=unit)


def _matrix(grid: Grid) -> Iterator[Panel]:
    """Yield the one panel: topics under their fields, and what is over all of them."""
    rows: list[tuple[str, str]] = []
    tiles: list[Tile] = []
    for line in grid.lines:
        kind = "head" if _is_heading(line) else "whole" if line.rule else "cell" if line.label.startswith(" ") else ""
        if kind == "head" or (kind and _figures(line)):
            for at, cell in enumerate(line.cells):
                if one := cell.figure:
                    under = cell.sub if grid.form == "change" and cell.sub else f"n {one.n}"
                    tiles.append(Tile(len(rows), at, one.value, cell.text, under))
            rows.append((line.label.strip(), kind))
    columns = [head.split("\n") for head in grid.columns]
    if tiles:
        yield "", partial(draw_matrix, tiles, rows, columns, change=grid.form == "change")


def _forest(grid: Grid) -> Iterator[Panel]:
    """Yield a panel for each unit: every difference under what it is a difference of, what all are of above them."""
    found: list[tuple[list[str], Cell, Figure]] = []
    label = ""
    for line in grid.lines:
        label = line.label.strip() or label
        of = _COLON.split(label, maxsplit=1)
        cell = next((cell for cell in line.cells if cell.figure), None)
        if cell and cell.figure:  # where the first column has no head, it says whose difference a line is
            found.append((of if grid.columns[0] else [*of, line.cells[0].text], cell, cell.figure))
    if not found:
        return
    shared = found[0][0][0] if len({tuple(of[:1]) for of, *_ in found}) == 1 else ""
    panels: dict[str, list[Row]] = {}
    for of, cell, figure in found:
        rows = panels.setdefault(figure.unit, [])
        *above, name = of[1:] if shared and of[1:] else of
        heading = Row(": ".join(above), "head")
        if above and heading not in rows:
            rows.append(heading)
        rows.append(Row(name, "ours", *figure[:2], _write_difference(cell, figure), figure.sure))
    for unit, rows in panels.items():
        title = " · ".join(filter(None, (shared, unit)))
        yield title, partial(draw_rows, rows, aside=_ASIDE_DIFFERENCE, difference=True)


def _write_difference(cell: Cell, figure: Figure) -> str:
    ends = (write_number(end, 1, "+") for end in figure.interval or ())
    return f"{cell.text} [{', '.join(ends)}]" if figure.interval else cell.text


_FORMS = {
    "points": _points,
    "runs": _runs,
    "curves": _curves,
    "sweep": _sweep,
    "heat": _matrix,
    "change": _matrix,
    "forest": _forest,
}


def _titles(grid: Grid) -> list[str]:
    titles = []
    last = ""
    for head in grid.columns:
        group, mark, own = head.replace("-\n", "").replace("_\n", "_").rpartition("\n")
        last = group or last
        titles.append(" ".join(filter(None, (last if mark else "", own))))
    return titles


def _name(line: Line) -> str:
    return line.label.strip().removesuffix(" (ours)").removesuffix("（本次）")


def _is_heading(line: Line) -> bool:
    return not any(cell.text for cell in line.cells)


def _figures(line: Line) -> list[Figure]:
    return [cell.figure for cell in line.cells if cell.figure]
