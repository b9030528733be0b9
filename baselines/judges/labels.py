"""What people said of answers: what they are asked, an item, a set of items, and how a sheet is read into one."""

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
from quadrag.sheet import ANNOTATOR, Line, join_people, read_sheet, write_sheet

PAIRS = {"-1": -1.0, "0": 0.0, "1": 1.0}  # which of two answers is better: the first, neither, the second
_SEED = "certify-judge"
_PERSON = re.compile(rf"{ANNOTATOR}[ _]?\d+", re.IGNORECASE)
_PARTED = re.compile(r'[\[\]",;，；、|]')
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
    metric: str = ""  # the evaluate module a value of which it is, where it is one
    key: str = ""  # of the module's result
    several: bool = False  # whether an answer may have several of them at once

    @property
    def spelled(self) -> str:
        """What a person may write, as a message says it: right or wrong (对 or 错)."""
        if self.several:
            return f"some of {', '.join(self.grades)}, with ; between them"
        chinese = [next((word for word in _spellings(name) if not word.isascii()), "") for name in self.grades]
        return " or ".join(self.grades) + (f" ({' or '.join(chinese)})" if all(chinese) else "")

    def read(self, text: str) -> str | None:
        """Return the grade that a text is, in any of its spellings and letter cases; None where it is none.

        Of several grades they are in their own order, with ``;`` between.
        """
        if self.several:
            said = {re.sub(r"[\s-]+", "_", part.strip().casefold()) for part in _PARTED.split(text) if part.strip()}
            known = [name for name in self.grades if name in said]
            return ";".join(known) if known and len(known) == len(said) else None
        said_once = text.strip().casefold()
        return next((name for name in self.grades if said_once in (name.casefold(), *_spellings(name))), None)


def _spellings(grade: str) -> list[str]:
    return _SPELLED.get(grade, "").split()


def find_graded(name: str) -> Graded:
    """Find what a name as ``truthfulness`` or ``omnieval.acc`` stands for; QuadragError where nobody grades it."""
    module, _, key = name.partition(".")
    module = catalogue.metric_folder(module).name
    keys = _graded_keys(module)
    if not keys:
        known = [_name(each, one) for each in catalogue.metrics() for one in _graded_keys(each)]
        raise QuadragError(f"{module} asks no judge for a grade; expected one of {', '.join(known)}")
    if not key and len(keys) > 1:
        raise QuadragError(f"{module} has several graded values; expected {' or '.join(f'{module}.{k}' for k in keys)}")
    if key and key not in keys:
        raise unknown_name(f"graded value of {module}", key, keys)
    key = key or keys[0]
    record = metric_record(module).keys[key]
    return Graded(_name(module, key), record.asks, dict(record.grades), module, key)


def graded_keys() -> list[str]:
    """Return all graded values as rows of items name them, ``truthfulness.accuracy``."""
    return [f"{module}.{key}" for module in catalogue.metrics() for key in _graded_keys(module)]


def _graded_keys(module: str) -> list[str]:
    return [key for key, record in metric_record(module).keys.items() if record.grades]


def _name(module: str, key: str) -> str:
    return module if len(_graded_keys(module)) == 1 else f"{module}.{key}"


@dataclass(frozen=True, slots=True)
class Item:
    """An answer that people labelled."""

    id: str  # unique in its set
    label: str  # the grade that people gave, or a number where the set is ranked
    question: str = ""
    answer: str = ""
    other: str | None = None  # a second answer, where the label says which of the two is better
    golds: tuple[str, ...] = ()  # accepted answers
    passages: tuple[str, ...] = ()  # what the answer was to be made from
    group: str = ""  # items of one group are drawn together for an interval
    # groups that the judge may treat unlike, by what groups them: ``system``
    slices: Mapping[str, str] = field(default_factory=dict)
    votes: tuple[str | None, ...] = ()  # what each of several people said, None where one said nothing

    @property
    def drawn(self) -> str:
        """What is drawn as a whole: the group, else the item alone."""
        return self.group or self.id


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
        votes = tuple(read_grade(line, person, graded) if line.row.get(person) else None for person in people)
        is_voted = not line.row.get("label", "").strip() and any(votes)
        label = _most(votes) if is_voted else read_grade(line, "label", graded)
        if name in items:
            raise QuadragError(f"{line.place}: item {name!r} has two labels; expected one label for an id")
        if label is None:
            split.append(votes)
        else:
            items[name] = _item(line.row, name, label, votes)
    found = LabelSet(path.stem, graded, list(items.values()), {path.name: sheet.sha256}, split=split)
    if split:
        found.notes.append(f"{len(split)} items on which people split evenly are left out.")
    questions = Counter(item.question for item in found.items if item.question.strip())
    if "group" not in sheet.columns and questions and max(questions.values()) > 1:
        found.items = [replace(item, group=item.question) for item in found.items]
        found.groups = "question"
    check_classes(found, str(path))
    return found


def read_grade(line: Line, column: str, graded: Graded) -> str:
    """Return the grade in a column of a sheet's line; QuadragError where there is none."""
    text = line.row.get(column, "").strip()
    grade = graded.read(text)
    if grade is None:
        what = f"{column} {text!r:.80}" if text else f"no {column}"
        raise QuadragError(f"{line.place} has {what}; expected {graded.spelled}, the grades of {graded.name}")
    return grade


def _item(row: Mapping[str, str], name: str, label: str, votes: tuple[str | None, ...]) -> Item:
    return Item(
        name,
        label,
        row.get("question", ""),
        row.get("answer", ""),
        golds=read_texts(row.get("gold", "")),
        passages=read_texts(row.get("passages", "")),
        group=row.get("group", "").strip(),
        slices={name: row[name].strip() for name in ("system", "position") if row.get(name, "").strip()},
        votes=votes,
    )


def _most(votes: Sequence[str | None]) -> str | None:
    counts = Counter(vote for vote in votes if vote).most_common(2)
    return None if len(counts) > 1 and counts[0][1] == counts[1][1] else counts[0][0]


def write_items(labels: LabelSet, path: Path) -> None:
    """Write the items as a sheet that a judge elsewhere can read, and that `read_labels` reads."""
    rows = [["id", "question", "answer", "other", "gold", "passages", "group", "label"]]
    for item in labels.items:
        golds, passages = (
            json.dumps(texts, ensure_ascii=False) if texts else "" for texts in (item.golds, item.passages)
        )
        rows.append([item.id, item.question, item.answer, item.other or "", golds, passages, item.group, item.label])
    write_sheet(path, rows)


def check_classes(labels: LabelSet, where: str) -> None:
    """Refuse labels of which all are in one class, where nothing can be said of agreement."""
    there = Counter(item.label for item in labels.items)
    empty = [name for name in labels.classes if not there[name]]
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
            texts = parse_json(cell, "a cell")
        except QuadragError:
            texts = None
        if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
            return tuple(texts)
    return (cell,) if cell.strip() else ()


def check_shown(line: Line, name: str, **shown: str) -> None:
    """Refuse a line whose `question` or `answer` is another than was shown, but for white space."""
    for column, text in shown.items():
        given = line.row.get(column, "")
        if given.strip() and given.split() != text.split():
            raise QuadragError(
                f"{line.place}: the {column} of {name!r} is {_cut(given)!r}, people saw {_cut(text)!r}; "
                "expected files of the same data in the same language"
            )


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else f"{line[:39]}…"
