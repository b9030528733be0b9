"""A label set with classes: what went wrong in the wrong answers of a run, as the paper of its benchmark sorts them.

The classes stand in ``errors.yaml`` of a benchmark. People give them in a sheet; an answer may have several.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quadrag import catalogue
from quadrag.errors import QuadragError
from quadrag.reading import parse_yaml
from quadrag.reporting.cells import interval_cell
from quadrag.reporting.notes import INTERVALS
from quadrag.reporting.table import Cell, Row, Table
from quadrag.stats import Item, summarise_all

from .labelled import Judged
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
    record = parse_yaml(path.read_bytes(), path, "classes of errors") if path.is_file() else {"tables": {}}
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
