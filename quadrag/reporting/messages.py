"""The words of notes and tables, by language: the only place with sentences about results.

``messages/LANGUAGE.yaml`` holds under `notes` a sentence for each code of a note, or for each `kind` of it, with its
params in braces, and under `words` what stands for an English head, label or word; a benchmark brings its own in
``words.LANGUAGE.yaml`` beside its record. A word that has none stays as it is, and so do names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from quadrag import catalogue
from quadrag.results import Level, Note, NoteCode, RunRecord, Score, group_notes
from quadrag.results.check import check_failures, explain_item, explain_score

from .table import Cell, Row, Table

ENGLISH = "en"
_FOLDER = Path(__file__).with_name("messages")
_SHOWN = 4  # names in a list
_OURS = " (ours)"  # behind a label of a line beside published ones
_NAMES = ("judge", "model", "name", "label", "labels", "folder", "source", "said", "text", "settings")  # of params
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the quick one, where it was built


@cache
def read_messages(language: str) -> Mapping[str, Mapping[str, str]]:
    read = _read_file(_FOLDER / f"{language}.yaml")
    words = dict(read.get("words", {}))
    for name in catalogue.names():
        words |= _read_file(catalogue.plugin_folder(name) / f"words.{language}.yaml")
    return {**read, "words": words}


def _read_file(path: Path) -> dict[str, Any]:
    return yaml.load(path.read_text(encoding="utf-8"), _Loader) if path.is_file() else {}


def translate(text: str, language: str) -> str:
    return read_messages(language)["words"].get(text, text)


def say(note: Note, language: str = ENGLISH) -> str:
    """Return the sentence of a note, behind the runs that it is of where it is not of all."""
    messages = read_messages(language)
    kind = note.params.get("kind")
    params = {name: _write_param(name, value, language) for name, value in note.params.items()}
    sentence = messages["notes"][f"{note.code}.{kind}" if kind else note.code].format_map(params)
    if not note.runs:
        return sentence
    return messages["signs"]["of"].format(runs=join_names(note.runs, language), said=sentence)


def say_invalid(run: RunRecord, language: str = ENGLISH) -> list[str]:
    notes = [note for note in check_failures(run) if note.code is NoteCode.INVALID]
    return [say(note, language) for note in group_notes([("", note) for note in notes], [""])]


def say_score(score: Score, language: str = ENGLISH) -> str:
    """Say why a score has no value, or why that says nothing of the answers; "" where neither is so."""
    reason = explain_score(score)
    return say(reason, language) if isinstance(reason, Note) else reason


def say_item(metric: str, reason: str, run: RunRecord, answered: bool, language: str = ENGLISH) -> str:
    """Return the reason why an item has no value with what it means where it is the judge's and not the answer's."""
    note = explain_item(metric, reason, run, answered)
    return f"{reason}: {say(note, language)}" if note else reason


def join_names(names: Sequence[str], language: str = ENGLISH) -> str:
    """List names, the first few alone where there are many, and how many are left: never one, which is named."""
    signs = read_messages(language)["signs"]
    left = len(names) - _SHOWN
    shown = names if left <= 1 else names[:_SHOWN]
    return signs["comma"].join(shown) + (signs["more"].format(count=left) if left > 1 else "")


def _write_param(name: str, value: Any, language: str) -> Any:
    signs = read_messages(language)["signs"]
    if isinstance(value, Note):
        return say(value, language)
    if isinstance(value, Mapping):
        if ENGLISH in value:  # a text in every language
            return value[language]
        counts = [signs["count"].format(name=translate(str(key), language), n=n) for key, n in value.items()]
        return join_names(counts, language)
    if isinstance(value, list | tuple):
        parts = [str(_write_param("", part, language)) for part in value]
        sentences = value and isinstance(value[0], Note)
        return signs["semicolon"].join(parts) if sentences else join_names(parts, language)
    return value if not isinstance(value, str) or name in _NAMES else translate(value, language)


# Tables.


class Sentence(NamedTuple):
    """A note as it is read: who needs it, and whether it is about numbers that nobody may use as they are."""

    level: Level
    text: str
    loud: bool = False


def write_note(note: Note | str, language: str) -> Sentence:
    """Return a note in a language; what is no `Note` is for everyone, and English unless it is a word."""
    if isinstance(note, str):
        return Sentence(Level.INFO, translate(note, language))
    is_alarm = note.code in (NoteCode.INVALID, NoteCode.UNRELIABLE) and note.level is Level.WARNING
    return Sentence(note.level, say(note, language), is_alarm)


def pick_notes(notes: Sequence[Sentence], *levels: Level) -> list[str]:
    return [note.text for note in notes if note.level in levels]


def translate_table(table: Table, language: str) -> Table:
    has_published = any(row.kind == "published" for row in table.rows)  # so that ours are marked

    def write(text: str) -> str:
        return "\n".join(line.replace(line.strip(), translate(line.strip(), language)) for line in text.split("\n"))

    def write_cell(cell: Cell) -> Cell:
        figure = cell.figure and cell.figure._replace(unit=write(cell.figure.unit))
        return Cell(write(cell.text), write(cell.sub), figure)

    def write_row(row: Row) -> Row:
        name, ours, _ = row.label.partition(_OURS if has_published else "\n")
        label = name + translate(ours, language) if ours == _OURS else write(row.label)
        return replace(row, label=label, cells=[*map(write_cell, row.cells)])

    return replace(
        table,
        title=write(table.title),
        row_header=write(table.row_header),
        columns=[*map(write, table.columns)],
        rows=[*map(write_row, table.rows)],
        notes=[write_note(note, language) for note in table.notes],
    )
