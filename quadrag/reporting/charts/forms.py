"""Charts of tables: which figures of a grid stand in which panel, by the grid's form; drawn by `svg.py`."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from ..table import Figure, Row, Table
from .svg import Curve, Mark, Tile, draw_curves, draw_matrix, draw_rows

_NUMBER = re.compile(r"(\w*?)_?(\d+(?:\.\d+)?)")
Panel = tuple[str, Callable[[str], str]]  # its heading, and what draws it with a label


def draw_table(grid: Table) -> list[tuple[str, str]]:
    """Draw a table: its panels by what heads each; none where it has no form, or too few cells have figures."""
    panels = _FORMS[grid.chart](grid) if grid.chart in _FORMS else ()
    return [(title, draw(" · ".join(filter(None, (grid.title, title))))) for title, draw in panels]


def _points(grid: Table) -> Iterator[Panel]:
    """Yield a panel for each column, a row of it for each line."""
    for at, title in enumerate(_titles(grid)):
        rows = list(_rows(grid, at))
        if any(row.kind == "ours" for row in rows) and sum(row.value is not None for row in rows) > 1:
            yield title, partial(draw_rows, rows, unit=_unit(line.cells[at].figure for line in grid.rows))


def _rows(grid: Table, at: int) -> Iterator[Mark]:
    """Yield the rows of a column, under those headings that have any."""
    heading: Mark | None = None
    for line in grid.rows:
        if _is_heading(line):
            heading = Mark(line.label.strip(), "head")
        elif figure := line.cells[at].figure:
            if heading:
                yield heading
                heading = None
            text, sure = line.cells[at].text, bool(figure.interval)
            yield Mark(_name(line), line.kind, figure.value, figure.interval, text, sure)


def _curves(grid: Table) -> Iterator[Panel]:
    """Yield a panel for each group of columns, all of one axis; without numbers in the heads, points."""
    groups: dict[str, list[tuple[int, str]]] = {}
    last = axis = ""
    for at, head in enumerate(grid.columns):
        group, _, own = head.rpartition("\n")
        last = group or last
        if (number := _NUMBER.fullmatch(own)) is None:
            yield from _points(grid)
            return
        groups.setdefault(last, []).append((at, number[2]))
        axis = number[1] or grid.row_header
    every = [figure for line in grid.rows for figure in _figures(line)]
    ends = [end for figure in every for end in (figure.value, *(figure.interval or ()))]
    for group, columns in groups.items():
        curves = []
        for line in sorted(grid.rows, key=lambda line: line.kind):  # ours first
            figures = [(place, line.cells[at].figure) for place, (at, _) in enumerate(columns)]
            points = [(place, figure.value, figure.interval) for place, figure in figures if figure]
            curves += [Curve(_name(line), line.kind, points)] if points else []
        if any(curve.kind == "ours" and len(curve.points) > 1 for curve in curves):
            names = [number for _, number in columns]
            yield group, partial(draw_curves, curves, names, ends=ends, title=axis, unit=_unit(every))


def _matrix(grid: Table) -> Iterator[Panel]:
    """Yield the one panel: topics under their fields, and what is over all of them."""
    rows: list[tuple[str, str]] = []
    tiles: list[Tile] = []
    for line in grid.rows:
        kind = "head" if _is_heading(line) else "whole" if line.rule else "cell" if line.label.startswith(" ") else ""
        if kind == "head" or (kind and _figures(line)):
            for at, cell in enumerate(line.cells):
                if one := cell.figure:
                    tiles.append(Tile(len(rows), at, one.value, cell.text, f"n {one.n}"))
            rows.append((line.label.strip(), kind))
    if tiles:
        columns = [head.split("\n") for head in grid.columns]
        yield "", partial(draw_matrix, tiles, rows, columns)


def _forest(grid: Table) -> Iterator[Panel]:
    """Yield a panel for each unit, with every difference in it."""
    panels: dict[str, list[Mark]] = {}
    heading: Mark | None = None
    for line in grid.rows:
        cell = next((cell for cell in line.cells if cell.figure), None)
        if _is_heading(line):
            heading = Mark(line.label.strip(), "head")
        elif cell and (figure := cell.figure):
            rows = panels.setdefault(figure.unit, [])
            if heading and heading not in rows:
                rows.append(heading)
            text = f"{cell.text} ({cell.sub})" if cell.sub else cell.text
            rows.append(Mark(_name(line), "ours", figure.value, figure.interval, text, figure.sure))
    for unit, rows in panels.items():
        yield unit, partial(draw_rows, rows, difference=True)


_FORMS = {
    "points": _points,
    "curves": _curves,
    "heat": _matrix,
    "forest": _forest,
}


def _titles(grid: Table) -> list[str]:
    titles = []
    last = ""
    for head in grid.columns:
        group, mark, own = head.replace("-\n", "").replace("_\n", "_").rpartition("\n")
        last = group or last
        titles.append(" ".join(filter(None, (last if mark else "", own))))
    return titles


def _unit(figures: Iterable[Figure | None]) -> str:
    units = {figure.unit for figure in figures if figure}
    return units.pop() if len(units) == 1 else ""


def _name(line: Row) -> str:
    return line.label.strip().removesuffix(" (ours)").removesuffix("（本次）")


def _is_heading(line: Row) -> bool:
    return not any(cell.text for cell in line.cells)


def _figures(line: Row) -> list[Figure]:
    return [cell.figure for cell in line.cells if cell.figure]
