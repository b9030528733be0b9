"""What people's labels make of a judge's values, and a label set with classes: what went wrong in wrong answers.

The classes stand in ``errors.yaml`` of a benchmark. People give them in a sheet; an answer may have several.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from quadrag import catalogue
from quadrag.errors import QuadragError, read_yaml
from quadrag.reporting.notes import INTERVALS
from quadrag.reporting.table import NOTHING, Cell, Row, Table, interval_cell, write_number
from quadrag.stats import Item, summarise_all
from quadrag.stats.agreement import Estimate, ppi_mean, stratified_mean

from .labelled import Judged, Labels
from .labels import Graded

ERRORS = "errors"  # what `--metric` calls it


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes into which a paper sorts the errors of a config."""

    classes: Mapping[str, str]  # what each class means, by name
    where: str  # the table of the paper, and what it prints

    @property
    def graded(self) -> Graded:
        """What people are asked, and what they may say."""
        return Graded(ERRORS, "What went wrong? Several have ; between.", dict.fromkeys(self.classes), several=True)


def find_classes(benchmark: str, config: str) -> Classes:
    """Find the classes of the errors of a config; QuadragError where the paper has none."""
    path = catalogue.plugin_folder(benchmark) / "errors.yaml"
    record = read_yaml(path, "classes of errors") if path.is_file() else {"tables": {}}
    name = next((name for name in record["tables"] if config.startswith(name)), None)
    if name is None:
        known = ", ".join(record["tables"]) or "a benchmark whose paper does"
        raise QuadragError(f"the paper sorts no errors of {config}; expected a run of {known}")
    table = record["tables"][name]
    return Classes({each: record["classes"][each] for each in table["classes"]}, table["where"])


def tabulate_classes(
    title: str, classes: Classes, answers: Mapping[str, int], items: Sequence[Judged], labels: Mapping[str, str]
) -> Table:
    """Make the table of a run with so many `answers` by split: the shares of wrong answers that have a class."""
    columns: list[list[Cell]] = []
    for split_name, n in answers.items():
        wrong = [item for item in items if item.split == split_name]
        named = [(item.asked, labels[item.id].split(";")) for item in wrong if item.id in labels]
        values = [[Item(asked, float(name in names)) for asked, names in named] for name in classes.classes]
        shares = [interval_cell(mean.value, mean.interval, len(named)) for mean in summarise_all(values)]
        columns.append([*shares, *(Cell(str(count)) for count in (n, len(wrong), len(named)))])
    rows = [
        Row(label.replace("_", " "), list(cells), rule=label == "answers")
        for label, *cells in zip([*classes.classes, "answers", "wrong", "sorted"], *columns, strict=True)
    ]
    notes: list[Any] = ["Percent of the wrong answers that are sorted; an answer may have several classes.", INTERVALS]
    return Table(
        f"Classes of errors: {title}",
        "class",
        [*answers],
        rows,
        [*notes, *([f"{classes.where}."] if classes.where else [])],
    )


_PPI = "Prediction-powered inference (PPI++), Wilson's interval at the effective number of labels; tuning constant"
_DRAWN = "Labels were drawn by the judge's verdicts; each verdict weighs as its share of the run. Wilson's interval."
_RANDOM = "The labels are taken for a random draw of this run's items."


def correct(items: Sequence[Judged], labels: Labels, graded: Graded) -> Estimate:
    """Estimate a run's score as people see it, of labels of some of its items.

    Labels of a sheet that was drawn by strata are weighted by them; others are taken for a random draw of all items.
    """
    values = _values(labels, graded)
    labelled = [item for item in items if item.id in values]
    people = [values[item.id] for item in labelled]
    if not labels.drawn:
        others = [item.value or 0.0 for item in items if item.id not in values]
        return ppi_mean(people, [item.value or 0.0 for item in labelled], others)
    sizes = Counter(item.stratum for item in items)
    there = {item.stratum for item in labelled}
    # A stratum in which nobody labelled anything is put to the largest one.
    most = max(there, key=sizes.__getitem__)
    for name in sizes.keys() - there:
        sizes[most] += sizes.pop(name)
    return stratified_mean(people, [item.stratum for item in labelled], sizes)


def _values(labels: Labels, graded: Graded) -> dict[str, float]:
    values = {name: value for name, grade in labels.grades.items() if (value := graded.grades[grade]) is not None}
    if not values:
        raise QuadragError("no label is a value, so there is nothing to correct; label more items")
    return values


def tabulate_corrected(name: str, items: Sequence[Judged], labels: Labels, graded: Graded) -> Table:
    """Make the table of a score, by the run's verdicts, of which there must be one, and corrected by labels."""
    estimate, people = correct(items, labels, graded), _values(labels, graded)
    verdicts = [item.value for item in items if item.value is not None]
    both = [item for item in items if item.id in people and item.value is not None and not item.ruled]
    agreed = sum(item.value == people[item.id] for item in both)
    low, high = (write_number(100 * bound, 1) for bound in estimate.interval)
    between = NOTHING if low == high else f"{low} to {high}"
    who = "rules and the judge" if any(item.ruled for item in items) else "the judge alone"
    lines = [
        Row(who, [Cell(write_number(100 * fmean(verdicts), 1)), Cell(NOTHING), Cell(str(len(verdicts)))]),
        Row("corrected by labels", [Cell(write_number(100 * estimate.value, 1)), Cell(between), Cell(str(len(items)))]),
    ]
    notes = ["Percent."]
    if both:
        notes.append(f"The judge and the labels agree on {agreed} of {len(both)}.")
    notes += [_DRAWN] if labels.drawn else [f"{_PPI} {estimate.tuning:.2f}.", _RANDOM]
    if unread := len(items) - len(verdicts):
        notes.append(f"{unread} of {len(items)} items have no verdict that could be read.")
    if labels.blank:
        notes.append(f"{labels.blank} rows have no label; the others are taken for the draw.")
    return Table(f"{name}, corrected for the judge", "score", ["value", "95% interval", "n"], lines, notes)
