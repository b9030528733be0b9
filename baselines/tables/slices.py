"""The table of a run's slices: by domain, by type of question, and so on, with intervals and sizes.

A slice is a group of questions that share a value; a question is in one slice of every grouping. The groups of one
grouping stand together. No value is computed here.
"""

from collections.abc import Sequence
from typing import Any

from quadrag.metric_record import show_key

from ..results.score import ALL
from .cells import Row, break_heading, value_cell
from .grid import Cell, Grid, Line
from .notes import INTERVALS, name_units, note_keys


def select_whole(scores: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Select the rows over all items."""
    return [row for row in scores if row.get("slice", ALL) == ALL]


def select_run(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Select the rows of the metrics that ran anywhere: those that did not are a note, not lines."""
    ran = {(row["metric"], row["key"]) for row in rows if "not_run" not in row}
    return [row for row in rows if (row["metric"], row["key"]) in ran]


def slice_grids(scores: Sequence[Row], title: str, profile: str) -> list[Grid]:
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
        whole = {row["key"]: row["n_total"] for row in here if row.get("slice", ALL) == ALL}
        parts = [row for row in parts if row["n_total"] != whole.get(row["key"])]  # else it is the whole again
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
        names = {row["key"]: show_key(row["metric"], row["key"]) for row in parts}
        heads = ["n", *(break_heading(names[key]) for key in keys)]
        shown = [row for row in parts if row["key"] in keys]
        notes = [f"{name_units(shown)}, {profile} profile.", INTERVALS, *note_keys(shown)]
        grids.append(Grid(f"{title}, {split}: slices", "slice", heads, lines, notes, "points"))
    return grids
