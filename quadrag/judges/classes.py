"""A label set with classes: what went wrong in the wrong answers of a run, as the paper of its benchmark sorts them.

The classes stand in ``errors.yaml`` of a benchmark, with the words that tell a judge of them, which are ours: papers'
own were given by their authors. An answer may have several. A judge gives them, or people do, in a sheet.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quadrag import catalogue
from quadrag.chat.completer import Completer
from quadrag.errors import QuadragError
from quadrag.metrics._shared.slots import fill, quote
from quadrag.metrics._shared.verdict_reader import split
from quadrag.reading import parse_yaml
from quadrag.reporting.cells import interval_cell
from quadrag.reporting.notes import INTERVALS
from quadrag.reporting.table import Cell, Row, Table
from quadrag.stats import Item, summarise_all

from .labelled import Judged
from .labels import Graded

ERRORS = "errors"  # what `--metric` calls it
UNPARSABLE, UNSORTED = "unparsable", "not sorted"  # a judge's reply that names no class; what people left blank
_FIELD = "classes"  # of a judge's reply


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes into which a paper sorts the errors of a config."""

    classes: Mapping[str, str]  # what each class means, by name
    prompt: str  # what a judge is told
    right: str  # what a right answer would have done
    where: str  # the table of the paper, and what it prints

    @property
    def graded(self) -> Graded:
        """What people are asked, and what they may say."""
        return Graded(ERRORS, "What went wrong? Several have ; between.", dict.fromkeys(self.classes), several=True)

    def ask(self, item: Judged) -> list[dict[str, str]]:
        """Build the one user message about a wrong answer."""
        documents = f"[{', '.join(map(quote, item.passages))}]"
        parts = {"question": quote(item.question), "accepted": quote(item.gold), "documents": documents}
        named = ",\n".join(f'"{name}": {text}' for name, text in {**parts, "answer": quote(item.answer)}.items())
        classes = "\n".join(f"- {name}: {meaning}" for name, meaning in self.classes.items())
        slots = {"right": self.right, "classes": classes, "material": f"{{{named}}}"}
        return [{"role": "user", "content": str(fill(self.prompt, slots))}]

    def read(self, reply: str) -> str | None:
        """Read a verdict: the classes in the JSON objects of a reply; None where there are none, or two differ."""
        objects, _ = split(reply)
        said = [value for one in objects for level in one.levels() for name, value in level if name == _FIELD]
        read = {self.graded.read(value if isinstance(value, str) else json.dumps(value)) for value in said}
        return read.pop() if len(read) == 1 else None


def find_classes(benchmark: str, config: str) -> Classes:
    """Find the classes of the errors of a config; QuadragError where the paper has none."""
    path = catalogue.plugin_folder(benchmark) / "errors.yaml"
    record = parse_yaml(path.read_bytes(), path, "classes of errors") if path.is_file() else {"tables": {}}
    name = next((name for name in record["tables"] if config.startswith(name)), None)
    if name is None:
        known = ", ".join(record["tables"]) or "a benchmark whose paper does"
        raise QuadragError(f"the paper sorts no errors of {config}; expected a run of {known}")
    table = record["tables"][name]
    classes = {each: record["classes"][each] for each in table["classes"]}
    return Classes(classes, record["prompt"], table["right"], table["where"])


class Sorted(NamedTuple):
    """The classes of wrong answers by id, and why others have none."""

    grades: Mapping[str, str]
    reasons: Mapping[str, str]

    @property
    def failed(self) -> int:
        """How many verdicts a judge gave that could not be read, or did not give."""
        return len(self.reasons)


def sort_by_judge(items: Sequence[Judged], classes: Classes, judge: Completer) -> Sorted:
    """Ask a judge about wrong answers."""
    grades, reasons = {}, {}
    for item, reply in zip(items, judge([classes.ask(item) for item in items]), strict=True):
        if not isinstance(reply, str):
            reasons[item.id] = reply.reason
        elif grade := classes.read(reply):
            grades[item.id] = grade
        else:
            reasons[item.id] = UNPARSABLE
    return Sorted(grades, reasons)


def tabulate_classes(
    title: str, classes: Classes, answers: Mapping[str, int], items: Sequence[Judged], labels: Sorted
) -> Table:
    """Make the table of a run with so many `answers` by split: the shares of wrong answers that have a class."""
    columns: list[list[Cell]] = []
    left_out = []
    for split_name, n in answers.items():
        wrong = [item for item in items if item.split == split_name]
        named = [(item.asked, labels.grades[item.id].split(";")) for item in wrong if item.id in labels.grades]
        reasons = Counter(labels.reasons.get(item.id, UNSORTED) for item in wrong if item.id not in labels.grades)
        left_out += [f"{split_name} {count} {reason}" for reason, count in sorted(reasons.items())]
        values = [[Item(asked, float(name in names)) for asked, names in named] for name in classes.classes]
        shares = [interval_cell(mean.value, mean.interval, len(named)) for mean in summarise_all(values)]
        columns.append([*shares, *(Cell(str(count)) for count in (n, len(wrong), len(named)))])
    rows = [
        Row(label.replace("_", " "), list(cells), rule=label == "answers")
        for label, *cells in zip([*classes.classes, "answers", "wrong", "sorted"], *columns, strict=True)
    ]
    notes = ["Percent of the wrong answers that are sorted; an answer may have several classes.", INTERVALS]
    notes += [f"Without a class, and left out: {'; '.join(left_out)}."] if left_out else []
    return Table(
        f"Classes of errors: {title}",
        "class",
        [*answers],
        rows,
        [*notes, *([f"{classes.where}."] if classes.where else [])],
    )
