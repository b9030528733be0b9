"""A finding: a fault in the data of one question, found by a rule, with its evidence and what a person says of it."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.errors import QuadragError
from quadrag.records import Key, read_jsonl

_LONGEST = 60  # characters of a text that is shown


@lru_cache(maxsize=4096)
def clean(text: str) -> str:
    """Return a text in one width, each run of white space as one space."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def shorten(text: str, around: str = "") -> str:
    """Return a text on one line, a long one cut around what is to be seen in it, else behind its beginning."""
    line = clean(text)
    at = max(line.lower().find(clean(around).lower()) - _LONGEST // 3, 0) if around else 0
    cut = line[at : at + _LONGEST]
    return f"{'…' * (at > 0)}{cut}{'…' * (at + len(cut) < len(line))}"


def count_off(places: Sequence[str], total: int | None = None) -> str:
    """Return which of how many: ``negative[2], negative[5] of 12``; the first three, and how many more."""
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return f"{', '.join(places[:3])}{more}" + ("" if total is None else f" of {total}")


# What each check finds, as docs/audit.md has it.
CHECKS = {
    "negative_with_answer": "a document that is said not to hold the answer, or to hold a false one, holds all of it",
    "positive_without_answer": "a document that is said to hold the answer holds no part of it",
    "short_answer": "an accepted answer of one or two characters, which matching finds by chance",
    "near_duplicate": "another report of the gold article stands in the corpus, and does not count as relevant",
    "duplicate_question": "an earlier question of the split asks the same",
    "answer_in_question": "the question holds its answer",
    "later_date": "a page was changed, or the answer names a day, after the question was asked",
    "broken_reference": (
        "a question file does not fit its split; a page has no text; the corpus lacks a node, or its passage"
    ),
}


class Fault(NamedTuple):
    """What a check found at one place."""

    config: str  # of the question
    split: str  # of the question
    id: str  # the question's
    check: str  # the name of the check
    evidence: str  # what was found and where, for a person to look at


@dataclass(slots=True)
class Finding:
    """A line of findings."""

    benchmark: str  # its name
    config: str  # where it was found first
    split: str  # where it was found first
    id: str  # the question's
    check: str  # the name of the check
    question: str  # its beginning; empty where no split that is there has it
    evidence: str  # what was found and where
    also: list[str] = field(default_factory=list)  # further ``config/split`` that hold the question with the same fault
    confirmed: bool | None = None  # what a person says: true, false, or null for nothing yet

    def as_row(self) -> dict[str, Any]:
        """Return the finding as one line of the file holds it."""
        return asdict(self)

    def keys(self) -> Iterator[Key]:
        """Yield the keys of the questions that it is about."""
        for place in (f"{self.config}/{self.split}", *self.also):
            config, _, split = place.partition("/")
            yield config, split, self.id


def merge_faults(benchmark: str, faults: Iterable[Fault], asked: Mapping[Key, str]) -> list[Finding]:
    """Make findings of faults; the same of the same question in several configs or splits is one."""
    found: dict[tuple[str, ...], Finding] = {}
    for fault in faults:
        config, split, name, check, evidence = fault
        key = (name, check, asked.get((config, split, name), ""), evidence)
        if key in found:
            found[key].also.append(f"{config}/{split}")
        else:
            found[key] = Finding(benchmark, config, split, *key)
    return list(found.values())


def read_findings(path: Path) -> list[Finding]:
    """Read a file of findings; QuadragError where it cannot be read, or a line is none."""
    found = []
    for number, row in read_jsonl(path):
        texts: dict[str, Any] = {name: row.get(name) for name in ("benchmark", "config", "split", "id", "check")}
        shown = {name: str(row.get(name, "")) for name in ("question", "evidence")}
        also, confirmed = row.get("also", []), row.get("confirmed")
        if not all(isinstance(text, str) for text in texts.values()):
            raise QuadragError(f"{path}:{number} is no finding; expected a line of `quadrag audit`")
        if not isinstance(also, list) or not all(isinstance(place, str) for place in also):
            raise QuadragError(f"{path}:{number}: also is {also!r}; expected a list of CONFIG/SPLIT")
        if confirmed is not None and not isinstance(confirmed, bool):
            raise QuadragError(f"{path}:{number}: confirmed is {confirmed!r}; expected true, false or null")
        found.append(Finding(**texts, **shown, also=also, confirmed=confirmed))
    return found
