"""The record of grades: a JSON Lines file of each annotator in the dataset's folder ``reviews``.

Every grade is appended and brought to the disk at once; the last one of an item counts, and none is ever taken out.
A line that a killed process left half, or that is no grade, is passed over.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from quadrag.errors import QuadragError
from quadrag.records import dumps

from ..steps import Drop
from .items import Item, Review, Value, changes

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
    """Return an annotator's name as files bear it.

    Raises:
        QuadragError: it cannot name a file.
    """
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

    Returns:
        Why a correction was not taken, in one line. The grade is on record even so.
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
