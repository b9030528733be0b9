"""What is known of judges, as tables like OmniEval's 3 (a line a judge) and CRAG's 10 (a line a class)."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..tables.cells import ALIKE, NOTHING, write_number
from ..tables.grid import Alarm, Cell, Grid, Line
from ..tables.names import keep_name
from .certificate import Certificate, round_two
from .labels import LabelSet

_IN_PERCENT = "Agreement in percent; kappa and AC1: 1 is the best, 0 as by chance."
_INTERVALS = "95% intervals of questions drawn with replacement, Wilson's of items that share none; none under five."


def describe_labels(labels: LabelSet) -> str:
    """Say in a line what the labels are."""
    counts = (f"{name} {sum(item.label == name for item in labels.items)}" for name in labels.graded.grades)
    return f"{labels.name}: {len(labels.items)} labels ({', '.join(counts)})"


def tabulate(judges: Sequence[Certificate]) -> list[Grid]:
    """Make the tables of judges on one label set: a line for each, and of a judge alone also a line for each class."""
    return [_compare(judges), *(_classes(judge) for judge in judges if len(judges) == 1)]


def _compare(judges: Sequence[Certificate]) -> Grid:
    labels, ceiling = judges[0].labels, judges[0].figures["ceiling"]
    notes = [f"Labels: {labels['source']}."] if labels["source"] else []
    notes += [*labels["notes"], _IN_PERCENT, _INTERVALS]
    lines = []
    for judge in judges:
        name, figures = keep_name(judge.judge), judge.figures
        mark = ALIKE if judge.is_chance else ""
        lines.append(Line(name, _cells(figures, mark)))
        if pipeline := figures.get("pipeline"):
            lines.append(Line(f"rules and {name}", _cells(pipeline, mark)))
        if judge.is_chance and len(judges) > 1:
            notes.append(Alarm(f"{name} {judge.sentence}."))
        if unreadable := figures["unreadable"]:
            counts = ", ".join(f"{why} {count}" for why, count in sorted(unreadable.items()))
            notes.append(f"{name}: {sum(unreadable.values())} items without a verdict ({counts}), left out.")
    if ceiling:
        lines.append(Line("people (ceiling)", _cells(ceiling | {"agreement": ceiling["accuracy"]}), rule=True))
    title = f"Agreement with people, {labels['name']}, {labels['graded']}"
    return Grid(title, "judge", ["agreement", "kappa", "AC1", "n"], lines, notes)


def _cells(figures: Mapping[str, Any], mark: str = "") -> list[Cell]:
    cells = []
    for name, write in (("agreement", _percent), ("kappa", round_two), ("ac1", round_two)):
        value, between = figures[name], figures.get(f"{name}_interval")
        low, high = between or (0, 0)
        # An interval without width would look like certainty.
        sub = "" if not between else NOTHING if low == high else f"{write(low)} to {write(high)}"
        cells.append(Cell((NOTHING if value is None else write(value)) + mark, sub))
    return [*cells, Cell(str(figures["n"]))]


def _percent(value: float) -> str:
    return write_number(100 * value, 1)


def _classes(judge: Certificate) -> Grid:
    """Make the table of the classes that people gave: in percent how a judge finds each, and what it says of them."""
    figures = judge.figures
    lines = []
    for (label, figure), counts in zip(figures["by_class"].items(), figures["confusion"], strict=True):
        shares = (figure[kind] for kind in ("precision", "recall", "f1"))
        cells = [NOTHING if share is None else _percent(share) for share in shares]
        lines.append(Line(label, [*map(Cell, [*cells, *map(str, counts), str(figure["labels"])])]))
    columns = ["precision", "recall", "F1", *(f"judge {label}" for label in figures["classes"]), "n"]
    return Grid(f"By class, {keep_name(judge.judge)}", "people say", columns, lines, ["Percent, and counts."])
