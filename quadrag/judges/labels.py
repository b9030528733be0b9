"""Label sets: what people said of answers, in a sheet of the user's own or in files that others published.

Known sets are fetched at pinned commits and verified, or found in a folder. Which there are, and what their files mean,
is said beside a benchmark's record: ``label_sets.py`` has `LABEL_SETS`, a `KnownSet` by name, and ``label_sets.csv`` a
line for each file.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import multimode
from typing import NamedTuple

from quadrag import catalogue
from quadrag.data.files import RemoteFile, fault, fetch, sha256
from quadrag.errors import QuadragError, parse_json, unknown_name
from quadrag.metric_record import KeyRecord, metric_record
from quadrag.paths import cache_dir
from quadrag.sheet import Line, Sheet, read_sheet

Files = Mapping[str, Path]  # by name
_HOST = "https://raw.githubusercontent.com"
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
    name: str  # what `--metric` calls it
    asks: str
    grades: Mapping[str, float | None]  # what may be said, with its value; None: the question does not apply
    metric: str = ""  # the evaluate module a value of which it is; "" where no prompt asks for it
    key: str = ""  # of the module's result
    several: bool = False  # whether an answer may have several of them at once

    def ask(self, language: str) -> str:
        return metric_record(self.metric).prose(self.asks)[language] if self.metric else self.asks

    @property
    def record(self) -> KeyRecord:
        return metric_record(self.metric).key(self.key)

    @property
    def spelled(self) -> str:
        if self.several:
            return f"some of {', '.join(self.grades)}, with ; between them"
        return " or ".join(self.grades)

    def read(self, text: str) -> str | None:
        """Return the grade that a text is, in any of its spellings and letter cases; None where it is none.

        Of several grades they are in their own order, with ``;`` between.
        """
        if self.several:
            named = {re.sub(r"[\s-]+", "_", part.strip().casefold()) for part in _PARTED.split(text) if part.strip()}
            known = [name for name in self.grades if name in named]
            return ";".join(known) if known and len(known) == len(named) else None
        word = text.strip().casefold()
        return next((name for name in self.grades if word in (name.casefold(), *_SPELLED.get(name, "").split())), None)


@cache
def list_graded() -> Mapping[str, Graded]:
    """Return all that people may grade, by what rows of items call it, ``METRIC.KEY``."""
    graded = {}
    for module in catalogue.metrics():
        records = {key: record for key, record in metric_record(module).keys.items() if record.grades}
        for key, record in records.items():
            full = f"{module}.{key}"
            name = module if len(records) == 1 else full
            graded[full] = Graded(name, record.asks, dict(record.grades), module, key)
    return graded


def find_graded(name: str | None = None) -> Graded:
    """Find what the name of a metric, or ``METRIC.KEY``, stands for; when None, what a user's own labels are of."""
    for full, graded in list_graded().items():
        is_meant = graded.record.usual if name is None else name in (full, graded.name)
        if is_meant:
            return graded
    raise unknown_name("graded value, --metric", name or "", [graded.name for graded in list_graded().values()])


# Items.


class Judged(NamedTuple):
    id: str
    question: str
    gold: str
    answer: str
    value: float | None = None  # None: the judge gave none
    passages: Sequence[str] = ()
    ruled: bool = False  # whether a rule gave the value
    split: str = ""
    question_id: str = ""  # which several samples share


@dataclass(frozen=True, slots=True)
class Item:
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
        return any(item.other is not None for item in self.items)


def open_labels(name: str, metric: str | None = None, data_dir: str | Path | None = None) -> LabelSet:
    """Open a label set by its name, or read a file of the user's own.

    `metric`: what is graded; the set's own, and of a file the usual value, when None.
    `data_dir`: a folder with the files of a known set; they are fetched when None.
    """
    known = next((known for known in _known_sets() if known.casefold() == name.casefold()), None)
    if Path(name).is_file():
        labels = read_labels(Path(name), find_graded(metric))
    elif known is None:
        raise unknown_name("label set, or CSV file with id and label,", name, _known_sets())
    else:
        labels = _open_known(known, metric, data_dir)
    check_classes(labels.items, name, labels.graded)
    return labels


def check_classes(items: Sequence[Item], where: str, graded: Graded) -> None:
    """Refuse labels of which all are in one class, where nothing can be said of agreement, or one is in none."""
    classes = {item.label for item in items}
    if len(classes) < 2 or classes - graded.grades.keys():
        labels = " or ".join(sorted(classes)) or "none"
        raise QuadragError(f"{where}: all labels are {labels}; expected several of {graded.spelled}")


# Sheets.


def read_labels(path: Path, graded: Graded) -> LabelSet:
    """Read a sheet: `id` and `label`, and where there are any `question`, `answer`, `gold`, `passages`, `group`.

    Columns `annotator1` and so on hold what each of several people said.
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
    text = line.row.get(column, "").strip()
    if (grade := graded.read(text)) is None:
        raise QuadragError(f"{line.place} has {column} {text!r:.80}; expected {graded.spelled}, as {graded.name} has")
    return grade


def read_texts(cell: str) -> tuple[str, ...]:
    """Return the texts of a cell: a JSON list of texts, else the cell itself; none of a blank one."""
    if cell.lstrip().startswith("["):
        with suppress(QuadragError):
            texts = parse_json(cell, "a cell")
            if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
                return tuple(texts)
    return (cell,) if cell.strip() else ()


def list_lines(sheet: Sheet, items: Sequence[Item | Judged] | None = None) -> dict[str, Line]:
    """Return the lines of a sheet by id, each once.

    Where there are `items`, a line is of one of these, and holds the same question and answer where it holds any.
    """
    lines: dict[str, Line] = {}
    by_id = {item.id: item for item in items or ()}
    for line in sheet.lines:
        name = line.row["id"].strip()
        if not name or name in lines or (items is not None and name not in by_id):
            expected = f"ids as {next(iter(by_id))!r}" if by_id else "ids"
            raise QuadragError(
                f"{line.place}: item {name!r} is twice, or not one of these; expected {expected}, each once"
            )
        for column in ("question", "answer") if by_id else ():
            cell, text = line.row.get(column, ""), getattr(by_id[name], column)
            known = text.strip() or column == "answer"  # a set may have no questions
            if cell.strip() and known and cell.split() != text.split():
                raise QuadragError(
                    f"{line.place}: the {column} of {name!r} is {cell[:_SHOWN]!r}, people saw {text[:_SHOWN]!r}; "
                    "expected files of the same data in the same language"
                )
        lines[name] = line
    return lines


# Known sets.


class KnownSet(NamedTuple):
    """A label set that others published: what people graded (the first by default), what reads its files, a note on it.

    Rows that nobody labelled, or that their authors call improper, are not read.
    """

    graded: tuple[str | Graded, ...]
    read: Callable[[LabelSet, Files], Iterator[Item]]
    note: str = ""

    @property
    def by_name(self) -> dict[str, Graded]:
        graded = [find_graded(each) if isinstance(each, str) else each for each in self.graded]
        return {each.name: each for each in graded}


@cache
def _known_sets() -> Mapping[str, tuple[KnownSet, Mapping[RemoteFile, Mapping[str, str]]]]:
    sets = {}
    for benchmark in catalogue.benchmarks():
        if module := catalogue.module_beside(benchmark, "label_sets"):
            with (catalogue.plugin_folder(benchmark) / "label_sets.csv").open(encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            for name, known in module.LABEL_SETS.items():
                sets[name] = known, {_remote_file(row): row for row in rows if row["set"] == name.casefold()}
    return sets


def _remote_file(row: Mapping[str, str]) -> RemoteFile:
    url = f"{_HOST}/{row['repository']}/{row['commit']}/{row['path']}"
    return RemoteFile(row["path"].rpartition("/")[2], url, int(row["bytes"]), row["sha256"], row["git_blob_sha1"])


def list_sets() -> Iterator[str]:
    width = max(map(len, _known_sets()), default=0)
    yield f"{'LABELS':{width}}  what is graded; source, licence"
    for name, (known, sources) in _known_sets().items():
        row = next(iter(sources.values()))
        yield f"{name:{width}}  {', '.join(known.by_name)}; {row['repository']}, {row['licence']}"


def _open_known(name: str, metric: str | None, data_dir: str | Path | None) -> LabelSet:
    known, sources = _known_sets()[name]
    by_name = known.by_name
    graded = next(iter(by_name.values())) if metric is None else by_name.get(metric)
    graded = graded or by_name.get(find_graded(metric).name)
    if graded is None:
        raise QuadragError(f"{name} has no labels for {metric}; expected --metric {' or '.join(by_name)}")
    root = Path(data_dir).expanduser() if data_dir else fetch([*sources], cache_dir() / "labels" / name.casefold())
    files = _locate(sources, root)
    if not files:
        expected = ", ".join(source.name for source in sources)
        raise QuadragError(f"{root} has no file of {name}; expected {expected}, or leave out --data-dir to fetch them")
    unaltered = all(each.name in files and fault(files[each.name], each) is None for each in sources)
    row = next(iter(sources.values()))
    source = f"{row['repository']} at {row['commit'][:8]}, {row['licence']}"
    source += f" ({'' if unaltered else 'not all '}the authors' own files)"
    notes = [known.note] if known.note else []
    labels = LabelSet(name, graded, [], {path.name: sha256(path) for path in files.values()}, source, notes)
    try:
        labels.items = list(known.read(labels, files))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        where = ", ".join(map(str, files.values()))
        raise QuadragError(f"{where}: not in the form of {name} ({error!r}); expected its authors' files") from None
    return labels


def _locate(sources: Mapping[RemoteFile, Mapping[str, str]], root: Path) -> Files:
    """Find the files of a set in a folder or below it, by their names or by their last folder's and theirs."""
    files = {}
    for source in sources:
        names = (source.name, "_".join(source.url.split("/")[-2:]))
        if places := [path for each in names for path in sorted(root.rglob(each)) if path.is_file()]:
            files[source.name] = places[0]
    return files
