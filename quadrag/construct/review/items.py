"""What people see of a made question, and what a recipe says of its own: `Item` and `Review`."""

import hashlib
import json
import os
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

from quadrag import catalogue
from quadrag.data.files import OWN_RECORD
from quadrag.errors import QuadragError
from quadrag.reading import parse_json
from quadrag.records import dumps

from ..recipe import load as load_recipe
from ..steps import Drop

Value = str | list[str]


class Item(NamedTuple):
    """A made question."""

    cell: str  # the config, or the cell of a matrix, that it belongs to
    fields: Mapping[str, Value]  # what is shown and may be corrected, by name
    marks: Sequence[str]  # the answers, which are marked in the passages
    passages: Sequence[str]  # what the fields are held against
    source: str  # the document, as far as the dataset names it
    line: Any  # as upstream's file has it
    kept: Any = None  # what else the recipe needs to hold a correction against its source

    @property
    def id(self) -> str:
        """A name made of its content: a grade counts for what its annotator saw, and for nothing else."""
        return hashlib.sha256(dumps([self.cell, self.line]).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True)
class Review:
    """How a recipe's questions are reviewed."""

    asks: Mapping[str, Sequence[str]]  # what an annotator asks before giving a grade, by language. The order is ours
    read: Callable[[Path], Iterable[Item]]  # the items of a dataset
    # the line of an item with some fields corrected, held against its source; `Drop` says what is wrong
    correct: Callable[[Item, Mapping[str, Value]], Any]
    # write the items that people passed, each with its line, from a dataset into a new folder, in upstream's layout;
    # returns how many questions each split of each config has, by ``CONFIG/SPLIT``
    write: Callable[[Sequence[tuple[Item, Any]], Path, Path], dict[str, int]]
    human: str = "human"  # the folder in the dataset where those go


def load(dataset: Path) -> tuple[Review, dict[str, Item]]:
    """Return how a dataset is reviewed, and its items by id."""
    record = dataset / OWN_RECORD
    if not record.is_file():
        raise QuadragError(f"{dataset} has no {OWN_RECORD}; expected a dataset that quadrag construct made")
    name = str(dict(parse_json(record.read_bytes(), record)).get("recipe"))
    load_recipe(name)
    module = catalogue.module_beside(name, "construct.review")
    if module is None:
        raise QuadragError(f"{name} does not say how its questions are reviewed")
    review = cast(Review, module.REVIEW)
    items = {item.id: item for item in review.read(dataset)}
    if not items:
        raise QuadragError(f"{dataset} holds no questions to review; make some with quadrag construct")
    return review, items


def sample(items: Mapping[str, Item], n: int | None, seed: int) -> dict[str, Item]:
    """Draw n items, of every cell as many as of each other as far as it has them; all of them when None.

    A larger sample of the same seed holds the smaller one.
    """
    if n is None or n >= len(items):
        return dict(items)
    draw = random.Random(f"{seed}:review")
    cells: dict[str, list[str]] = defaultdict(list)
    for name, item in items.items():
        cells[item.cell].append(name)
    queues = list(cells.values())
    draw.shuffle(queues)
    for queue in queues:
        draw.shuffle(queue)
    rounds = max(map(len, queues))
    order = [queue[at] for at in range(rounds) for queue in queues if at < len(queue)]
    return {name: items[name] for name in order[:n]}


def as_text(value: Value) -> str:
    """Return a field as one text: of a list an entry a line."""
    return value if isinstance(value, str) else "\n".join(" ".join(entry.split()) for entry in value)


def changes(item: Item, texts: Mapping[str, str]) -> dict[str, Value]:
    """Return the fields that texts change; an empty text and different white space change nothing."""
    found: dict[str, Value] = {}
    for name, value in item.fields.items():
        lines = [" ".join(line.split()) for line in texts.get(name, "").splitlines() if line.strip()]
        if lines and lines != [" ".join(line.split()) for line in as_text(value).splitlines() if line.strip()]:
            found[name] = "\n".join(lines) if isinstance(value, str) else lines
    return found


REVIEWS = "reviews"
MEND = 3  # of 1 to 5: below it is discarded, above it is kept, and it is kept as corrected
GRADES = range(1, 6)
_NAME = re.compile(r"\w[\w-]{0,39}")


class Grade(NamedTuple):
    """What an annotator said last of an item, and the fields corrected."""

    grade: int
    correction: Mapping[str, Value]

    @property
    def passed(self) -> bool:
        """Whether the item may enter; one to be corrected only with its correction."""
        return self.grade > MEND or (self.grade == MEND and bool(self.correction))


def check_annotator(name: str) -> str:
    """Return an annotator's name as files bear it."""
    if not _NAME.fullmatch(name.strip()):
        raise QuadragError(f"annotator {name[:60]!r}; expected a name of at most 40 letters, digits, _ and -")
    return name.strip().lower()


def list_annotators(dataset: Path) -> list[str]:
    """List who graded, in the order of their names."""
    return sorted(path.stem for path in (dataset / REVIEWS).glob("*.jsonl") if _NAME.fullmatch(path.stem))


def read_grades(dataset: Path, annotator: str) -> dict[str, Grade]:
    """Return the last grade of each item that an annotator graded."""
    path = dataset / REVIEWS / f"{annotator}.jsonl"
    lines = path.read_bytes().splitlines() if path.is_file() else ()
    return dict(found for found in map(_read_line, lines) if found)


def _read_line(line: bytes) -> tuple[str, Grade] | None:
    try:
        row = json.loads(line)
        item, grade, correction = row["item"], row["grade"], dict(row["correction"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    texts = [value if isinstance(value, list) else [value] for value in correction.values()]
    whole = all(isinstance(text, str) for text in (item, *(text for each in texts for text in each)))
    return (item, Grade(grade, correction)) if whole and type(grade) is int and grade in GRADES else None


def give_grade(
    dataset: Path, review: Review, item: Item, annotator: str, grade: int, texts: Mapping[str, str]
) -> str | None:
    """Put a grade on record, of grade 3 with the fields that the texts change, where the correction holds.

    Returns why a correction was not taken, in one line; the grade is on record even so.
    """
    changed, fault = changes(item, texts), None
    if changed and grade != MEND:
        changed, fault = {}, f"grade {grade} with changes; only what has grade {MEND} is corrected"
    elif changed:
        try:
            review.correct(item, changed)
        except Drop as why:
            changed, fault = {}, str(why)
    before = read_grades(dataset, annotator).get(item.id)
    given = Grade(grade, changed)
    # Grade 3 alone does not take back the correction that it has already.
    if before != given and not (grade == MEND and not changed and before is not None and before.grade == MEND):
        _append(dataset / REVIEWS / f"{annotator}.jsonl", {"item": item.id, "grade": grade, "correction": changed})
    return fault


def _append(path: Path, row: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        end = file.seek(0, os.SEEK_END)
        if end:
            file.seek(end - 1)
        torn = bool(end) and file.read(1) != b"\n"
        file.write(b"\n" * torn + f"{dumps(row)}\n".encode())
        file.flush()
        os.fsync(file.fileno())
