"""What may be wrong with the data themselves: findings of rules, which a person confirms, in a file of JSON Lines.

Two checks are of every benchmark's questions; its own are in the module ``audit`` beside its record, whose function
`audit` yields the faults of an `Audited`. Nothing is fetched, and nothing is changed.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, Field, StrictBool

from quadrag import catalogue
from quadrag.benchmark import load
from quadrag.data import files
from quadrag.data.builders import find_prepared
from quadrag.errors import QuadragError, unknown_name
from quadrag.loading import load_questions, load_rows
from quadrag.metrics._shared.phrases import stands_whole
from quadrag.parts import validate
from quadrag.records import Key, Question, read_jsonl
from quadrag.spec import RunSpec

_LONGEST = 60  # characters of a text that is shown
Golds = Sequence[Sequence[str]]  # outer all needed, inner any one


class Fault(NamedTuple):
    """What a check found in the data of one question."""

    config: str
    split: str
    id: str
    check: str  # its name, as docs/audit.md has it
    evidence: str  # what was found and where, for a person to look at


class Finding(BaseModel):
    """A line of findings; the same fault of the same question in several configs or splits is one."""

    benchmark: str
    config: str  # where it was found first
    split: str
    id: str
    check: str
    question: str = ""  # its beginning; empty where no split that is there has it
    evidence: str = ""
    also: list[str] = Field(default_factory=list)  # further ``config/split`` of the same
    confirmed: StrictBool | None = None  # what a person says; None: nothing yet

    def keys(self) -> Iterator[Key]:
        for place in (f"{self.config}/{self.split}", *self.also):
            config, _, split = place.partition("/")
            yield config, split, self.id


@dataclass(slots=True)
class Audited:
    """What is looked through of a benchmark."""

    benchmark: str
    configs: Sequence[str]  # those that were asked for
    data_dir: str | None  # the folder of the files; None for what is prepared
    # The questions as a run asks them, by config and split that are there.
    questions: dict[tuple[str, str], list[Question]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)  # where the rows of each config come from
    # The splits that are not there, by their config and what they need.
    lacking: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def find_splits(self, config: str) -> list[str]:
        """Return the splits of a config that are there; of the others it is noted what they lack."""
        known = catalogue.config(self.benchmark, config)
        if self.data_dir is None:
            needed = [f"`quadrag prepare {self.benchmark}`, or a folder by --data-dir"]
            lacking = {split: [] if find_prepared(self.benchmark, config, split) else needed for split in known.splits}
        else:
            folder = files.sample_dir(self.benchmark) if self.data_dir == files.SAMPLE else self.data_dir
            _, lacking = files.locate_files(self.benchmark, known, folder)
        for split, reasons in lacking.items():
            if reasons:
                self.lacking.setdefault((config, ", ".join(reasons)), []).append(split)
        return [split for split, reasons in lacking.items() if not reasons]

    def rows(self, config: str, split: str) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of a split that is there, as they are in the data, one at a time in memory."""
        rows, source, _ = load_rows(self.benchmark, config, self.data_dir, {}, split)
        self.sources[config] = source.text
        yield from rows


def audit(benchmark: str, config: str | None = None, data_dir: str | None = None) -> tuple[list[Finding], list[str]]:
    """Return the findings; and a line for each config that was read, and for what is not there.

    `config`: one that holds questions; None is all of them.
    `data_dir`: a folder of upstream files, or ``sample``; None is what is prepared.
    """
    record = load(benchmark)
    known = [name for name in catalogue.configs(record.name) if not record.corpus or name in record.configs]
    if config is not None and config not in known:
        raise unknown_name(f"config of {record.name} with questions", config, known)
    audited = Audited(record.name, [config] if config else known, data_dir)
    for name in audited.configs:
        for split in audited.find_splits(name):
            spec = RunSpec(benchmark=record.name, config=name, split=split, data_dir=data_dir)
            audited.questions[name, split], source = load_questions(spec, record)
            audited.sources[name] = source.text
    own = catalogue.module_beside(record.name, "audit")
    asked = {question.key: shorten(question.query) for part in audited.questions.values() for question in part}
    findings: dict[tuple[str, ...], Finding] = {}
    for fault in chain(*map(_check_questions, audited.questions.values()), own.audit(audited) if own else ()):
        question = asked.get(fault[:3], "")
        key = fault.id, fault.check, question, fault.evidence
        if key in findings:
            findings[key].also.append(f"{fault.config}/{fault.split}")
        else:
            findings[key] = Finding(benchmark=record.name, question=question, **fault._asdict())
    absent = [f"{name} ({', '.join(splits)}) needs {needs}" for (name, needs), splits in audited.lacking.items()]
    if not audited.sources:
        raise QuadragError(f"nothing of {record.name} is in {data_dir or 'the cache'}: {count_off(absent)}")
    read = [f"audited: {name}, {text}" for name, text in audited.sources.items()]
    return list(findings.values()), read + [f"not there: {line}" for line in absent]


def read_findings(path: Path) -> list[Finding]:
    return [validate(Finding, row, f"{path}:{number} (a line of `quadrag audit`)") for number, row in read_jsonl(path)]


def _check_questions(questions: Sequence[Question]) -> Iterator[Fault]:
    """Yield the questions that an earlier one of the split asks too, and those that hold their own answer.

    Case, width and white space are no difference; an answer stands in a question by whole numbers and words.
    """
    first: dict[str, Question] = {}
    for question in questions:
        other = first.setdefault("".join(clean(question.query).casefold().split()), question)
        if other is not question:
            gold = "same" if question.references == other.references else "other"
            yield Fault(*question.key, "duplicate_question", f"{other.id} asks the same, with {gold} gold")
        matched = match_golds(question.query, gold_parts(question.references), question.language)
        if matched and all(matched):
            answer = " and ".join(filter(None, matched))
            yield Fault(*question.key, "answer_in_question", f"in the question: {shorten(question.query, answer)}")


def gold_parts(references: Any) -> list[list[str]]:
    """Return the parts of a question's gold answer, each with the ways to say it; [] where there is none."""
    ways = [references] if isinstance(references, str) else references
    if not isinstance(ways, list | tuple) or not ways:
        return []
    parts = ways if all(isinstance(part, list | tuple) for part in ways) else [ways]
    return [list(map(str, part)) for part in parts]


def match_golds(text: str, golds: Golds, language: str) -> list[str | None]:
    """Return of each needed part the accepted text that stands in a text, by whole numbers and words; else None.

    Case, width and white space are no difference; in Chinese spaces are none at all.
    """
    return [next((gold for gold in part if _stands(clean(text), clean(gold), language)), None) for part in golds]


def locate_golds(text: str, golds: Golds, language: str) -> list[tuple[int, int]]:
    """Return where in a text, as it is written, what `match_golds` finds stands: begins and ends, apart, in order."""
    matched = {gold for gold in match_golds(text, golds, language) if gold}
    if not matched:
        return []
    wide = [(sign, at) for at, char in enumerate(text) for sign in unicodedata.normalize("NFKC", char)]
    plain = "".join(sign for sign, _ in wide)
    blank = r"\s*" if language == "zh" else r"\s+"
    marked = bytearray(len(text))
    for gold in matched:
        words = clean(gold).replace(" ", "") if language == "zh" else clean(gold).split()
        for match in re.finditer(blank.join(map(re.escape, words)), plain, re.IGNORECASE):
            begin, end = match.span()
            if _stands(clean(plain[max(begin - 2, 0) : end + 2]), clean(gold), language):  # by two neighbours a side
                begin, end = wide[begin][1], wide[end - 1][1] + 1
                marked[begin:end] = b"1" * (end - begin)
    return [match.span() for match in re.finditer(b"1+", marked)]


def _stands(text: str, gold: str, language: str) -> bool:
    return bool(stands_whole(text, gold.replace(" ", "") if language == "zh" else gold, language))


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
