"""The table of a run's slices: by domain, by type of question, and so on, with intervals and sizes.

A slice is a group of questions that share a value; a question is in one slice of every grouping. The groups of one
grouping stand together. No value is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .cells import heading, value_cell
from .grid import Cell, Grid, Line
from .notes import INTERVALS
from .score_rows import ALL


def whole(scores: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows over all items."""
    return [row for row in scores if row.get("slice", ALL) == ALL]


def slice_grids(scores: Sequence[Mapping[str, Any]], title: str, profile: str) -> list[Grid]:
    """Make a table of slices for every split; [] where there are none.

    Args:
        scores: rows of ``scores.json`` of one run.
        title: of the run.
        profile: the one shown.
    """
    grids = []
    for split in dict.fromkeys(row["split"] for row in scores):
        here = [row for row in scores if row["split"] == split and row["profile"] == profile]
        # Cells, and means over groups, stand in a matrix.
        parts = [row for row in here if "=" in row.get("slice", ALL) and not row["slice"].startswith("cell=")]
        keys = list(dict.fromkeys(row["key"] for row in parts if "not_run" not in row))
        if not keys:
            continue
        found = {(row["slice"], row["key"]): row for row in here}
        lines: list[Line] = []
        last = None
        for name in dict.fromkeys(row["slice"] for row in parts):
            grouping, _, value = name.partition("=")
            rows = [found.get((name, key)) for key in keys]
            total = next(row["n_total"] for row in rows if row)
            cells = [Cell(str(total)), *(value_cell(row) for row in rows)]
            if grouping != last:
                lines.append(Line(grouping.replace("_", " "), [Cell("")] * len(cells), rule=bool(lines)))
                last = grouping
            lines.append(Line(f" {value}", cells))
        heads = ["n", *map(heading, keys)]
        notes = [f"Percent, {profile} profile, {INTERVALS}. Small slices have wide intervals."]
        grids.append(Grid(f"{title}, {split}: slices", "slice", heads, lines, notes))
    return grids
