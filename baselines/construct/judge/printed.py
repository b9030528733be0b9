"""What the paper that trains judges in this way prints of its own: OmniEval's table 3."""

from collections import defaultdict

from ...statistics.record import read_counts
from ...tables.grid import Cell, Grid, Line

_METHODS = {"prompting": "as it is", "lora-ft": "trained"}
_NOTE = (
    "On the authors' own labels, 127 cases of five metrics, two fifths of them unseen: the percentages fit 250 labels, "
    "the stated split leaves 254. For other labels they are a mark to look at, and no comparison."
)


def tabulate_printed() -> Grid:
    """Make the table of the printed judges, each with accuracy and kappa, in the paper's order."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for row in read_counts("omnieval", "3"):
        found[f"{row['judge']}, {_METHODS[row['method']]}"][row["metric"]] = f"{float(row['value']) / 100:.4f}"
    lines = [Line(judge, [Cell(one["judge_accuracy"]), Cell(one["kappa"])]) for judge, one in found.items()]
    return Grid("As printed by OmniEval, table 3", "judge", ["agreement", "kappa"], lines, [_NOTE])
