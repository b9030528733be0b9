"""The task-by-topic matrix: a metric's value in every cell, by topic, by task and over all, micro and macro.

Rows are topics under their fields, columns tasks; the last column is each topic over all tasks. Under the topics stand
each task over all topics (micro: questions count alike) and the means over groups (macro: groups count alike).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ..scoring.rows import ALL
from ..tables.cells import Row, value_cell
from ..tables.grid import Cell, Grid, Line
from ..tables.lines import count_line
from ..tables.notes import INTERVALS, note_directions

KEYS = ("acc", "rouge_l", "hal", "com", "utl", "nac", "f1", "em", "map", "mrr")  # the main one first
_LABELS = yaml.safe_load(Path(__file__).with_name("labels.yaml").read_text(encoding="utf-8"))
FIELDS, TOPICS, TASKS = _LABELS["fields"], _LABELS["topics"], _LABELS["tasks"]


def matrix_grids(scores: Sequence[Row], title: str, profile: str, labels: str = "en", every: bool = True) -> list[Grid]:
    """Make the matrix of each metric for each split; [] where there are no cells.

    `scores`: rows of ``scores.json`` of one run, slices among them.
    `labels`: ``en`` or ``zh``.
    """
    at = 1 if labels == "zh" else 0
    there = {row["key"] for row in scores if "not_run" not in row}
    keys = [key for key in KEYS if key in there]
    grids = []
    for split in dict.fromkeys(row["split"] for row in scores):
        here = [row for row in scores if row["split"] == split and row["profile"] == profile]
        for key in keys if every else keys[:1]:
            found = {row.get("slice", ALL): row for row in here if row["key"] == key}
            if any(name.startswith("cell=") for name in found):
                grids.append(_grid(found, f"{title}, {split}: {key} by topic and task", profile, at))
    return grids


def _grid(found: Mapping[str, Row], title: str, profile: str, at: int) -> Grid:
    tasks = [task for task in TASKS if f"task={task}" in found]
    tasks = tasks if len(tasks) > 1 else []  # the only one is all of them again
    lines: list[Line] = []
    field = None
    # Ours in their order, then those of a dataset of the user's own.
    there = [name.removeprefix("topic=") for name in found if name.startswith("topic=")]
    for topic in [*(name for name in TOPICS if name in there), *sorted(name for name in there if name not in TOPICS)]:
        upper, _, lower = topic.partition("/")
        label = TOPICS.get(topic, (lower, lower))
        if upper != field:
            field = upper
            name = FIELDS.get(field, (field, field))[at]
            lines.append(Line(name, [Cell("")] * (len(tasks) + 1), rule=bool(lines)))
        cells = [found.get(f"cell={topic}/{task}") for task in tasks]
        lines.append(Line(f" {label[at]}", [value_cell(row) for row in (*cells, found[f"topic={topic}"])]))
    whole = [*(found.get(f"task={task}") for task in tasks), found.get(ALL)]
    lines.append(Line(_LABELS["over"]["micro"][at], [value_cell(row) for row in whole], rule=True))
    lines.append(count_line(whole))
    shown = [_figure(found.get(ALL))]
    for grouping, label in _LABELS["macro"].items():
        row = found.get(f"macro:{grouping}")
        if row is not None and _figure(row) not in shown:
            shown.append(_figure(row))
            lines.append(Line(label[at], [*[Cell("")] * len(tasks), value_cell(row)]))
    heads = [*(TASKS[task][at] for task in tasks), _LABELS["over"]["all"][at]]
    notes = [
        f"Percent, {profile} profile.",
        INTERVALS,
        "Topics and `all` count each question alike (micro); macro: each group that has a value, with intervals group "
        "by group.",
        *note_directions((row["metric"], row["key"]) for row in found.values()),
    ]
    return Grid(title, _LABELS["over"]["topic"][at], heads, lines, notes, "heat")


def _figure(row: Row | None) -> tuple[Any, Any]:
    return (None, None) if row is None else (row["value"], row["interval"])
