"""What the paper that trains judges in this way prints of its own: OmniEval's table 3."""

import csv
from collections import defaultdict

from quadrag.paths import room

from ...tables.grid import Cell, Grid, Line

_METHODS = {"prompting": "as it is", "lora-ft": "trained"}
_NOTE = (
    "On the authors' own labels, 127 cases of five metrics, two fifths of them unseen: the percentages fit 250 labels, "
    "the stated split leaves 254. For other labels they are a mark to look at, and no comparison."
)


def tabulate_printed() -> Grid:
    """Make the table of the printed judges, each with accuracy and kappa, in the paper's order."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    with (room("baselines") / "omnieval" / "published.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["table"] == "3"]
    for row in rows:
        made = dict(pair.split("=", 1) for pair in row["setting"].split(";"))
        found[f"{made['judge']}, {_METHODS[made['method']]}"][row["metric"]] = f"{float(row['value']) / 100:.4f}"
    lines = [Line(judge, [Cell(one["judge_accuracy"]), Cell(one["kappa"])]) for judge, one in found.items()]
    return Grid("As printed by OmniEval, table 3", "judge", ["agreement", "kappa"], lines, [_NOTE])
