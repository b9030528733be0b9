"""The words of notes and tables, by language: the only place with sentences about results.

``messages/LANGUAGE.yaml`` holds under `notes` a sentence for each code of a note, or for each `kind` of it, with its
params in braces, and under `words` what stands for an English head, label or word; a benchmark brings its own in
``words.LANGUAGE.yaml`` beside its record. A word that has none stays as it is, and so do names. ``{--option}`` in a
sentence, or as the value of a param, is an option: an argument in Python.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from quadrag import catalogue
from quadrag.results.check import check_failures, explain_item, explain_score
from quadrag.results.note import Level, Note, NoteCode, group_notes
from quadrag.results.record import RunRecord
from quadrag.results.run import Score

from .table import Cell, Row, Table

ENGLISH = "en"
_FOLDER = Path(__file__).with_name("messages")
_SHOWN = 4  # names in a list
_OURS = " (ours)"  # behind a label of a line beside published ones
_NAMES = ("judge", "model", "name", "label", "labels", "folder", "source", "said", "text", "settings")  # of params
_SWITCHES = ("fresh", "unscored", "verbose", "wrong")  # of Python's arguments
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the quick one, where it was built


class Messages(NamedTuple):
    """The words of a language: sentences by code, words by the English ones, and the signs of its lists."""

    notes: Mapping[str, str]
    words: Mapping[str, str]
    signs: Mapping[str, str]


@cache
def read_messages(language: str) -> Messages:
    """Read the words of a language, with those that benchmarks bring."""
    read = _read_file(_FOLDER / f"{language}.yaml")
    words = dict(read.get("words", {}))
    for name in catalogue.names():
        words |= _read_file(catalogue.plugin_folder(name) / f"words.{language}.yaml")
    return Messages(read["notes"], words, read["signs"])


def _read_file(path: Path) -> dict[str, Any]:
    return yaml.load(path.read_text(encoding="utf-8"), _Loader) if path.is_file() else {}


def translate(text: str, language: str) -> str:
    """Return a head, a label or a word in a language; as it is where it is a name, or has no other."""
    return read_messages(language).words.get(text, text)


def say(note: Note, language: str = ENGLISH, python: bool = False) -> str:
    """Return the sentence of a note.

    Args:
        note: it, with the runs that it is of, if not of all.
        language: ``en`` or ``zh``.
        python: whether options are arguments.
    """
    messages = read_messages(language)
    kind = note.params.get("kind")
    sentence = messages.notes[f"{note.code}.{kind}" if kind else note.code]
    params = _Params({name: _write_param(name, value, language, python) for name, value in note.params.items()})
    params.python = python
    said = sentence.format_map(params)
    if python:  # an option's value may stand behind it
        said = re.sub(r"\b(\w+)\x00(?: ([\w.]+\b))?", _write_argument, said)
    if not note.runs:
        return said
    return messages.signs["of"].format(runs=join_names(note.runs, language), said=said)


def say_invalid(run: RunRecord, language: str = ENGLISH, python: bool = False) -> list[str]:
    """Say which metrics are invalid and why, a line each."""
    notes = [note for note in check_failures(run) if note.code is NoteCode.INVALID]
    return [say(note, language, python) for note in group_notes([("", note) for note in notes], [""])]


def say_score(score: Score, language: str = ENGLISH, python: bool = False) -> str:
    """Say why a score has no value, or why that says nothing of the answers; "" where neither is so."""
    reason = explain_score(score)
    return say(reason, language, python) if isinstance(reason, Note) else reason


def say_item(metric: str, reason: str, run: RunRecord, answered: bool, language: str = ENGLISH) -> str:
    """Return the reason why an item has no value with what it means where it is the judge's and not the answer's."""
    note = explain_item(metric, reason, run, answered)
    return f"{reason}: {say(note, language)}" if note else reason


def join_names(names: Sequence[str], language: str = ENGLISH) -> str:
    """List names, the first few alone where there are many, and how many are left: never one, which is named."""
    signs = read_messages(language).signs
    left = len(names) - _SHOWN
    shown = names if left <= 1 else names[:_SHOWN]
    return signs["comma"].join(shown) + (signs["more"].format(count=left) if left > 1 else "")


class _Params(dict[str, Any]):
    """The params of a note as they are written in a language; what is not among them is an option."""

    python = False

    def __missing__(self, name: str) -> str:
        return _write_option(name, self.python)


def _write_param(name: str, value: Any, language: str, python: bool) -> Any:
    signs = read_messages(language).signs
    if isinstance(value, Note):
        return say(value, language, python)
    if isinstance(value, Mapping):
        if ENGLISH in value:  # a text in every language
            return value[language]
        counts = [signs["count"].format(name=translate(str(key), language), n=n) for key, n in value.items()]
        return join_names(counts, language)
    if isinstance(value, list | tuple):
        parts = [str(_write_param("", part, language, python)) for part in value]
        sentences = value and isinstance(value[0], Note)
        return signs["semicolon"].join(parts) if sentences else join_names(parts, language)
    if not isinstance(value, str) or name in _NAMES:
        return value
    return _write_option(value, python) if value.startswith("--") else translate(value, language)


def _write_option(option: str, python: bool) -> str:
    """Write an option: ``--max-failed`` is ``max_failed`` in Python, ``--option gold=test`` ``gold="test"``."""
    if not python:
        return option
    name, _, value = option.removeprefix("--option ").removeprefix("--").replace(" ", "=").partition("=")
    name = name.replace("-", "_")
    return f'{name}="{value}"' if value else f"{name}=True" if name in _SWITCHES else f"{name}\x00"


def _write_argument(found: re.Match[str]) -> str:
    """Write an argument with its value, where one follows: a number, or a text."""
    name, value = found[1], found[2]
    if value is None:
        return name
    return f"{name}={value}" if value[0].isdigit() else f'{name}="{value}"'


# Tables.


class Sentence(NamedTuple):
    """A note as it is read: who needs it, and whether it is about numbers that nobody may use as they are."""

    level: Level
    text: str
    loud: bool = False


def write_note(note: Note | str, language: str, python: bool = False) -> Sentence:
    """Return a note in a language; what is no `Note` is for everyone, and English unless it is a word."""
    if isinstance(note, str):
        return Sentence(Level.INFO, translate(note, language))
    loud = note.code in (NoteCode.INVALID, NoteCode.UNRELIABLE) and note.level is Level.WARNING
    return Sentence(note.level, say(note, language, python), loud)


def pick_notes(notes: Sequence[Sentence], *levels: Level) -> list[str]:
    """Return the texts of notes of some levels."""
    return [note.text for note in notes if note.level in levels]


def translate_table(table: Table, language: str, python: bool = False) -> Table:
    """Return a table in a language, whose notes are sentences; `python` says that options in them are arguments."""
    beside = any(one.kind == "published" for one in table.rows)  # ours are marked

    def word(text: str) -> str:
        return "\n".join(line.replace(line.strip(), translate(line.strip(), language)) for line in text.split("\n"))

    def cell(one: Cell) -> Cell:
        figure = one.figure and one.figure._replace(unit=word(one.figure.unit))
        return Cell(word(one.text), word(one.sub), figure)

    def line(one: Row) -> Row:
        name, ours, _ = one.label.partition(_OURS if beside else "\n")
        label = name + translate(ours, language) if ours == _OURS else word(one.label)
        return replace(one, label=label, cells=[*map(cell, one.cells)])

    return replace(
        table,
        title=word(table.title),
        row_header=word(table.row_header),
        columns=[*map(word, table.columns)],
        rows=[*map(line, table.rows)],
        notes=[write_note(note, language, python) for note in table.notes],
    )
