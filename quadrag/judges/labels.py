"""What people said of answers: what they are asked, an item, a set of items, and how a sheet is read into one."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import multimode

from quadrag import catalogue
from quadrag.errors import QuadragError, parse_json, unknown_name
from quadrag.metric_record import KeyRecord, metric_record
from quadrag.sheet import Line, Sheet, read_sheet, write_sheet

_PERSON = re.compile(r"annotator\d+")
_PARTED = re.compile(r'[\[\]",;，；、|]')
_SHOWN = 40  # characters of a text in a message
# How people write grades that are words; what says only that an answer is good is no answer to another question.
_SPELLED = {
    "yes": "y true 1 是",
    "no": "n false 0 否 不是",
    "right": "yes y true 1 correct 对 正确 是",
    "wrong": "no n false 0 incorrect 错 错误 不对 否 不是",
}


@dataclass(frozen=True, slots=True)
class Graded:
    """What people are asked of an answer, and what they may say."""

    name: str  # what `--metric` calls it
    asks: str
    grades: Mapping[str, float | None]  # what may be said, with its value; None: the question does not apply
    metric: str = ""  # the evaluate module a value of which it is; "" where no prompt asks for it
    key: str = ""  # of the module's result
    several: bool = False  # whether an answer may have several of them at once

    def ask(self, language: str) -> str:
        """Return what people are asked, in a language."""
        return metric_record(self.metric).prose(self.asks)[language] if self.metric else self.asks

    @property
    def record(self) -> KeyRecord:
        """What the metric says of the value."""
        return metric_record(self.metric).key(self.key)

    @property
    def spelled(self) -> str:
        """What a person may write, as a message says it."""
        if self.several:
            return f"some of {', '.join(self.grades)}, with ; between them"
        return " or ".join(self.grades)

    def read(self, text: str) -> str | None:
        """Return the grade that a text is, in any of its spellings and letter cases; None where it is none.

        Of several grades they are in their own order, with ``;`` between.
        """
        if self.several:
            said = {re.sub(r"[\s-]+", "_", part.strip().casefold()) for part in _PARTED.split(text) if part.strip()}
            known = [name for name in self.grades if name in said]
            return ";".join(known) if known and len(known) == len(said) else None
        word = text.strip().casefold()
        return next((name for name in self.grades if word in (name.casefold(), *_SPELLED.get(name, "").split())), None)


@cache
def _list_graded() -> dict[str, Graded]:
    graded = {}
    for module in catalogue.metrics():
        records = {key: record for key, record in metric_record(module).keys.items() if record.grades}
        for key, record in records.items():
            full = f"{module}.{key}"
            name = module if len(records) == 1 else full
            graded[full] = Graded(name, record.asks, dict(record.grades), module, key)
    return graded


def find_graded(name: str) -> Graded:
    """Find what the name of a metric, or ``METRIC.KEY``, stands for; QuadragError where nobody grades it."""
    graded = next((each for full, each in _list_graded().items() if name in (full, each.name)), None)
    if graded is None:
        raise unknown_name("graded value", name, [each.name for each in _list_graded().values()])
    return graded


def find_usual() -> Graded:
    """Return what a user's own labels are of where nobody says; QuadragError where no metric says that it is."""
    if (usual := next((graded for graded in _list_graded().values() if graded.record.usual), None)) is None:
        raise QuadragError("no graded value is the usual one; say with --metric what the labels are of")
    return usual


def graded_keys() -> list[str]:
    """Return all graded values as rows of items name them, ``METRIC.KEY``."""
    return [*_list_graded()]


@dataclass(frozen=True, slots=True)
class Item:
    """An answer that people labelled."""

    id: str  # unique in its set
    label: str  # the grade that people gave
    question: str = ""
    answer: str = ""
    other: str | None = None  # a second answer, where the label says which of the two is better: -1, 0 or 1
    golds: tuple[str, ...] = ()  # accepted answers
    passages: tuple[str, ...] = ()  # what the answer was to be made from
    group: str = ""  # items of one group are drawn together for an interval
    votes: tuple[str | None, ...] = ()  # what each of several people said, None where one said nothing


@dataclass(slots=True)
class LabelSet:
    """Items of one source."""

    name: str
    graded: Graded
    items: list[Item]  # in the order of the source
    files: dict[str, str]  # the sha256 of each file by its name
    source: str = ""  # where it comes from and under which licence; "" of a file of the user's own
    notes: list[str] = field(default_factory=list)  # what a reader of its figures must know
    # verdicts that the source has of judges, by judge and id; None where one cannot be read
    recorded: dict[str, dict[str, str | None]] = field(default_factory=dict)
    # what people said of items that were left out since no answer has the most
    split: list[tuple[str | None, ...]] = field(default_factory=list)

    @property
    def pairs(self) -> bool:
        """Whether an item is two answers, and its label the better one."""
        return any(item.other is not None for item in self.items)


def read_labels(path: Path, graded: Graded) -> LabelSet:
    """Read a sheet: `id` and `label`, and where there are any `question`, `answer`, `gold`, `passages`, `group`.

    Columns `annotator1` and so on hold what each of several people said. Whatever is wrong is a QuadragError with the
    place.
    """
    sheet = read_sheet(path, "id", "label")
    people = [name for name in sheet.columns if _PERSON.fullmatch(name)]
    labels = LabelSet(path.stem, graded, [], {path.name: sheet.sha256})
    for name, line in list_lines(sheet).items():
        row = line.row
        votes = tuple(read_grade(line, person, graded) if row.get(person) else None for person in people)
        # A label that is not there is what most people said.
        most = multimode(vote for vote in votes if vote)
        if len(most) > 1 and not row["label"].strip():
            labels.split.append(votes)
            continue
        label = most[0] if most and not row["label"].strip() else read_grade(line, "label", graded)
        question, answer = row.get("question", ""), row.get("answer", "")
        golds, passages = (read_texts(row.get(column, "")) for column in ("gold", "passages"))
        # Answers to one question are drawn together where nothing else is said.
        group = row.get("group", "").strip() or question.strip() or name
        labels.items.append(Item(name, label, question, answer, None, golds, passages, group, votes))
    if labels.split:
        labels.notes.append(f"{len(labels.split)} items on which people split evenly are left out.")
    return labels


def read_grade(line: Line, column: str, graded: Graded) -> str:
    """Return the grade in a column of a sheet's line; QuadragError where there is none."""
    text = line.row.get(column, "").strip()
    if (grade := graded.read(text)) is None:
        raise QuadragError(f"{line.place} has {column} {text!r:.80}; expected {graded.spelled}, as {graded.name} has")
    return grade


def write_items(labels: LabelSet, path: Path) -> None:
    """Write the items as a sheet that a judge elsewhere can read, and that `read_labels` reads."""
    rows = [["id", "question", "answer", "other", "gold", "passages", "group", "label"]]
    for item in labels.items:
        golds, passages = (
            json.dumps(texts, ensure_ascii=False) if texts else "" for texts in (item.golds, item.passages)
        )
        rows.append([item.id, item.question, item.answer, item.other or "", golds, passages, item.group, item.label])
    write_sheet(path, rows)


def check_classes(items: Sequence[Item], where: str, graded: Graded) -> None:
    """Refuse labels of which all are in one class, where nothing can be said of agreement, or one is in none."""
    there = {item.label for item in items}
    if len(there) < 2 or there - graded.grades.keys():
        labels = " or ".join(sorted(there)) or "none"
        raise QuadragError(f"{where}: all labels are {labels}; expected several of {graded.spelled}")


def read_texts(cell: str) -> tuple[str, ...]:
    """Return the texts of a cell: a JSON list of texts, else the cell itself; none of a blank one."""
    if cell.lstrip().startswith("["):
        try:
            texts = parse_json(cell, "a cell")
        except QuadragError:
            texts = None
        if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
            return tuple(texts)
    return (cell,) if cell.strip() else ()


def list_lines(sheet: Sheet, shown: Mapping[str, Mapping[str, str]] | None = None) -> dict[str, Line]:
    """Return the lines of a sheet by id; QuadragError where an id stands twice.

    `shown`: texts by column, by id. A line is of one of these ids, and holds the same texts where it holds any.
    """
    lines: dict[str, Line] = {}
    for line in sheet.lines:
        name = line.row["id"].strip()
        if not name or name in lines or (shown is not None and name not in shown):
            expected = f"ids as {next(iter(shown), '')!r}" if shown else "ids"
            raise QuadragError(
                f"{line.place}: item {name!r} is twice, or not one of these; expected {expected}, each once"
            )
        for column, text in shown[name].items() if shown else ():
            cell = line.row.get(column, "")
            if cell.strip() and cell.split() != text.split():
                raise QuadragError(
                    f"{line.place}: the {column} of {name!r} is {cell[:_SHOWN]!r}, people saw {text[:_SHOWN]!r}; "
                    "expected files of the same data in the same language"
                )
        lines[name] = line
    return lines
