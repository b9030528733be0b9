"""What a second run changed in a first one's matrices, cell by cell."""

from collections.abc import Sequence

from ...core.result import PROFILES, Result
from ...tables.cells import write_number
from ...tables.grid import Cell, Figure, Grid, Line
from ..run import tabulate_matrices
from .names import name_columns, name_difference


def tabulate_changes(runs: Sequence[tuple[str, Result]], profile: str = PROFILES[0], labels: str = "en") -> list[Grid]:
    """Make the matrices of two runs' differences, second minus first; [] where their benchmark has none.

    Args:
        runs: name and result of each of two.
        profile: ``official`` or ``corrected``.
        labels: of the matrix, ``en`` or ``zh``.
    """
    before, after = (
        {grid.title.rpartition(", ")[2]: grid for grid in tabulate_matrices(one, profile, labels, every=True)}
        for _, one in runs
    )
    difference = name_difference(name_columns([name for name, _ in runs]))
    return [_subtract(f"{difference}, {name}", grid, after[name]) for name, grid in before.items() if name in after]


def _subtract(title: str, before: Grid, after: Grid) -> Grid:
    there = {
        (line.label, head): cell for line in after.lines for head, cell in zip(after.columns, line.cells, strict=True)
    }
    lines = []
    for line in before.lines:
        if line.label.strip() == "n":
            continue
        pairs = [(cell, there.get((line.label, head))) for head, cell in zip(before.columns, line.cells, strict=True)]
        cells = [_change(cell, other) for cell, other in pairs]
        lines.append(Line(line.label, cells, line.kind, line.rule))
    notes = ["Each run over the questions that it has a value of; the difference in points of percent."]
    return Grid(title, before.corner, before.columns, lines, notes + before.notes[1:], "change")


def _change(cell: Cell, other: Cell | None) -> Cell:
    one, two = cell.figure, other and other.figure
    if not one or not two:
        return Cell("–" if cell.text else "")
    value = two.value - one.value
    n = min(one.n or 0, two.n or 0)
    return Cell(write_number(value, 1, "+"), "" if one.n == two.n else f"n {one.n}, {two.n}", Figure(value, None, n))
