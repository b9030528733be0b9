"""The table of a run's slices: by domain, by type of question, and so on, with intervals and sizes.

A slice is a group of questions that share a value; a question is in one slice of every grouping. The groups of one
grouping stand together. No value is computed here.
"""

from collections.abc import Sequence

from ..results.score import ALL, Score
from .cells import break_heading, value_cell
from .grid import Cell, Grid, Line
from .notes import INTERVALS, note_units


def select_whole(scores: Sequence[Score]) -> list[Score]:
    """Select the rows over all items."""
    return [row for row in scores if row.slice == ALL]


def select_run(rows: Sequence[Score]) -> list[Score]:
    """Select the rows of the metrics that ran anywhere: those that did not are a note, not lines."""
    ran = {(row.key.metric, row.key.key) for row in rows if row.ran}
    return [row for row in rows if (row.key.metric, row.key.key) in ran]


def slice_grids(scores: Sequence[Score], title: str, profile: str) -> list[Grid]:
    """Make a table of slices for every split; [] where there are none.

    Args:
        scores: rows of ``scores.json`` of one run.
        title: of the run.
        profile: the one shown.
    """
    grids = []
    for split in dict.fromkeys(row.key.split for row in scores):
        here = [row for row in scores if row.key.split == split and row.profile == profile]
        # Cells, and means over groups, stand in a matrix.
        parts = [row for row in here if "=" in row.slice and not row.slice.startswith("cell=")]
        whole = {row.key.key: row.counts.n_total for row in here if row.slice == ALL}
        parts = [row for row in parts if row.counts.n_total != whole.get(row.key.key)]  # else it is the whole again
        keys = list(dict.fromkeys(row.key.key for row in parts if row.ran))
        if not keys:
            continue
        found = {(row.slice, row.key.key): row for row in here}
        lines: list[Line] = []
        last = None
        for name in dict.fromkeys(row.slice for row in parts):
            grouping, _, value = name.partition("=")
            rows = [found.get((name, key)) for key in keys]
            total = next(row.counts.n_total for row in rows if row)
            cells = [Cell(str(total)), *(value_cell(row) for row in rows)]
            if grouping != last:
                lines.append(Line(grouping.replace("_", " "), [Cell("")] * len(cells), rule=bool(lines)))
                last = grouping
            lines.append(Line(f" {value}", cells))
        names = {row.key.key: row.label for row in parts}
        heads = ["n", *(break_heading(names[key]) for key in keys)]
        shown = [row for row in parts if row.key.key in keys]
        notes = [note_units(shown, profile), INTERVALS]
        grids.append(Grid(f"{title}, {split}: slices", "slice", heads, lines, notes, "points"))
    return grids
