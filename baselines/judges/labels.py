"""What people said of answers: an item, a set of items, and how a sheet is read into one and written of one."""

import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from quadrag import catalogue
from quadrag.errors import QuadragError, unknown_name
from quadrag.metric_record import metric_record
from quadrag.reading import parse_json
from quadrag.sheet import ANNOTATOR, Line, Sheet, join_people, read_sheet, write_sheet

PAIRS = {"-1": -1.0, "0": 0.0, "1": 1.0}  # which of two answers is better: the first, neither, the second
# How people write grades that are words; what says only that an answer is good is no answer to another question.
_SPELLED = {
    "yes": "y true 1 是",
    "no": "n false 0 否 不是",
    "right": "yes y true 1 correct 对 正确 是",
    "wrong": "no n false 0 incorrect 错 错误 不对 否 不是",
}


@dataclass(frozen=True, slots=True)
class Graded:
    """A value that is graded."""

    metric: str  # the evaluate module
    key: str  # of its result
    grades: Mapping[str, float | None]  # what may be said of an answer, with its value

    @property
    def name(self) -> str:
        """What `--metric` calls it: the metric alone where it has one such key."""
        return self.metric if len(_keys(self.metric)) == 1 else f"{self.metric}.{self.key}"

    @property
    def asks(self) -> str:
        """What a person who grades an answer is asked."""
        return metric_record(self.metric).key(self.key).asks

    @property
    def spelled(self) -> str:
        """What a person may write, as a message says it: right or wrong (对 or 错)."""
        spelled = [_SPELLED.get(one, "").split() for one in self.grades]
        chinese = [next((word for word in words if not word.isascii()), "") for words in spelled]
        return " or ".join(self.grades) + (f" ({' or '.join(chinese)})" if all(chinese) else "")

    def read(self, text: str) -> str | None:
        """Return the grade that a text is, in any of its spellings and letter cases; None where it is none."""
        said = text.strip().casefold()
        return next((one for one in self.grades if said in (one.casefold(), *_SPELLED.get(one, "").split())), None)


def find_graded(name: str) -> Graded:
    """Find what a name as ``truthfulness`` or ``omnieval.acc`` stands for; QuadragError where nobody grades it."""
    module, _, key = name.partition(".")
    module = catalogue.metric_name(module)
    keys = _keys(module)
    if not keys:
        raise QuadragError(f"{module} asks no judge for a grade; expected one of {', '.join(_names())}")
    if not key and len(keys) > 1:
        raise QuadragError(f"{module} has several graded values; expected {' or '.join(f'{module}.{k}' for k in keys)}")
    if key and key not in keys:
        raise unknown_name(f"graded value of {module}", key, keys)
    key = key or next(iter(keys))
    return Graded(module, key, dict(keys[key]))


def _keys(module: str) -> dict[str, Mapping[str, float | None]]:
    return {name: key.grades for name, key in metric_record(module).keys.items() if key.grades}


def _names() -> list[str]:
    found = {name: _keys(name) for name in catalogue.metrics()}
    return [name if len(keys) == 1 else f"{name}.{key}" for name, keys in found.items() for key in keys]


def graded_keys() -> list[str]:
    """Return all graded values as rows of items name them, ``truthfulness.accuracy``."""
    return [f"{name}.{key}" for name in catalogue.metrics() for key in _keys(name)]


_SEED = "certify-judge"
_PERSON = re.compile(rf"{ANNOTATOR}[ _]?\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Item:
    """An answer that people labelled."""

    id: str  # unique in its set
    label: str  # the grade that people gave, or a number where the set is ranked
    question: str = ""  # what was asked
    answer: str = ""  # what was answered
    other: str | None = None  # a second answer, where the label says which of the two is better
    golds: tuple[str, ...] = ()  # accepted answers
    passages: tuple[str, ...] = ()  # what the answer was to be made from
    group: str = ""  # items of one group are drawn together for an interval
    # groups that the judge may treat unlike, by what groups them: ``system``
    slices: Mapping[str, str] = field(default_factory=dict)
    votes: tuple[str | None, ...] = ()  # what each of several people said, None where one said nothing


@dataclass(slots=True)
class LabelSet:
    """Items of one source."""

    name: str  # what it is called
    graded: Graded  # what people graded
    items: list[Item]  # in the order of the source
    files: dict[str, str]  # the sha256 of each file by its name
    source: str = ""  # where it comes from and under which licence; "" of a file of the user's own
    notes: list[str] = field(default_factory=list)  # what a reader of its figures must know
    # verdicts that the source has of judges, by judge and id; None where one cannot be read
    recorded: dict[str, dict[str, str | None]] = field(default_factory=dict)
    pairs: bool = False  # an item is two answers, and its label the better one
    ranked: bool = False  # labels are numbers, and agreement is a correlation of ranks
    # what people said of items that were left out since no answer has the most
    split: list[tuple[str | None, ...]] = field(default_factory=list)
    groups: str = "group"  # what a group is, as ``question``
    left: frozenset[str] = frozenset()  # the ids of items that are not looked at, of a first look

    def draw(self, n: int) -> "LabelSet":
        """Return n of the items, drawn by a fixed seed, in their order; those of a larger n hold those of a smaller."""
        ids = sorted(item.id for item in self.items)
        random.Random(_SEED).shuffle(ids)
        left = frozenset(ids[n:])
        notes = [*self.notes, f"A first look: {n} of {len(ids)} labels, drawn at random."] if left else self.notes
        return replace(self, items=[item for item in self.items if item.id not in left], left=left, notes=notes)

    @property
    def size(self) -> str:
        """How many labels, and of how many where this is a first look."""
        n = len(self.items)
        return f"{n} of {n + len(self.left)}" if self.left else str(n)

    @property
    def grades(self) -> Mapping[str, float | None]:
        """All that a label may be, with its value."""
        return PAIRS if self.pairs else self.graded.grades

    @property
    def classes(self) -> list[str]:
        """All that a label may be."""
        return list(self.grades)


def read_labels(path: Path, graded: Graded) -> LabelSet:
    """Read a sheet: `id` and `label`, and where there are any `question`, `answer`, `gold`, `passages`, `group`.

    A column `system` is a slice, columns `annotator1` and so on hold what each of several people said; where a column
    `annotator` names who said it, each has a row of its own. Whatever is wrong is a QuadragError with the place.
    """
    sheet = join_people(read_sheet(path, "id", "label"))
    people = [name for name in sheet.columns if _PERSON.fullmatch(name)]
    items: dict[str, Item] = {}
    split: list[tuple[str | None, ...]] = []
    for line in sheet.lines:
        name = line.row.get("id", "").strip()
        if not name:
            raise QuadragError(f"{line.place} has no id; expected one for every label")
        votes = tuple(_grade(line, person, graded) if line.row.get(person) else None for person in people)
        label = _grade(line, "label", graded) if line.row.get("label", "").strip() or not any(votes) else _most(votes)
        if name in items:
            before = items[name].label
            said = f"{before!r} and {label!r}" if label != before else f"{before!r} twice"
            raise QuadragError(f"{line.place}: item {name!r} has two labels ({said}); expected one label for an id")
        if label is None:
            split.append(votes)
            continue
        items[name] = _item(line, name, label, votes)
    found = LabelSet(path.stem, graded, list(items.values()), {path.name: sheet.sha256}, split=split)
    if split:
        found.notes.append(f"{len(split)} items on which people split evenly are left out.")
    _name_groups(found, sheet)
    check_classes(found, str(path))
    return found


def write_items(labels: LabelSet, path: Path) -> None:
    """Write the items as a sheet that a judge elsewhere can read, and that `read_labels` reads."""
    rows = [["id", "question", "answer", "other", "gold", "passages", "group", "label"]]
    for item in labels.items:
        texts = [
            json.dumps(list(column), ensure_ascii=False) if column else "" for column in (item.golds, item.passages)
        ]
        rows.append([item.id, item.question, item.answer, item.other or "", *texts, item.group, item.label])
    write_sheet(path, rows)


def check_classes(labels: LabelSet, where: str) -> None:
    """Refuse labels of which all are in one class, where nothing can be said of agreement."""
    there = Counter(item.label for item in labels.items)
    empty = [one for one in labels.classes if not there[one]]
    if len(labels.classes) - len(empty) < 2:
        only = next(iter(there), "nothing")
        raise QuadragError(
            f"{where}: no item is labelled {' or '.join(empty)}, all {there.total()} are {only}; "
            "expected items of both, or agreement says nothing"
        )
    if empty:
        labels.notes.append(f"No item is labelled {', '.join(empty)}.")


def read_texts(cell: str) -> tuple[str, ...]:
    """Return the texts of a cell: a JSON list of texts, else the cell itself; none of a blank one."""
    if cell.lstrip().startswith("["):
        try:
            found = parse_json(cell, "a cell")
        except QuadragError:
            found = None
        if isinstance(found, list) and all(isinstance(one, str) for one in found):
            return tuple(found)
    return (cell,) if cell.strip() else ()


def same_text(one: str, other: str) -> bool:
    """Tell whether two texts are the same but for white space."""
    return one.split() == other.split()


def _item(line: Line, name: str, label: str, votes: tuple[str | None, ...]) -> Item:
    row = line.row
    slices = {name: row[name].strip() for name in ("system", "position") if row.get(name, "").strip()}
    return Item(
        name,
        label,
        row.get("question", ""),
        row.get("answer", ""),
        golds=read_texts(row.get("gold", "")),
        passages=read_texts(row.get("passages", "")),
        group=row.get("group", "").strip(),
        slices=slices,
        votes=votes,
    )


def _grade(line: Line, column: str, graded: Graded) -> str:
    text = line.row.get(column, "")
    found = graded.read(text)
    if found is None:
        what = f"{column} {text.strip()!r}" if text.strip() else f"no {column}"
        raise QuadragError(f"{line.place} has {what}; expected {graded.spelled}, the grades of {graded.name}")
    return found


def _most(votes: Sequence[str | None]) -> str | None:
    counts = Counter(vote for vote in votes if vote).most_common(2)
    return None if len(counts) > 1 and counts[0][1] == counts[1][1] else counts[0][0]


def _name_groups(labels: LabelSet, sheet: Sheet) -> None:
    if "group" in sheet.columns:
        return
    questions = Counter(item.question for item in labels.items if item.question.strip())
    if questions and max(questions.values()) > 1:
        labels.items = [replace(item, group=item.question) for item in labels.items]
        labels.groups = "question"
