"""A table in the words of a language: heads, labels and words by `messages.translate`, notes as their sentences."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from quadrag.results.note import Level, Note, NoteCode

from .messages import say, translate
from .table import Cell, Row, Table

_OURS = " (ours)"  # behind a label of a line beside published ones


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


def translate_table(grid: Table, language: str, python: bool = False) -> Table:
    """Return a table in a language, whose notes are sentences; `python` says that options in them are arguments."""
    beside = any(one.kind == "published" for one in grid.rows)  # ours are marked

    def word(text: str) -> str:
        return "\n".join(line.replace(line.strip(), translate(line.strip(), language)) for line in text.split("\n"))

    def cell(one: Cell) -> Cell:
        figure = one.figure and one.figure._replace(unit=word(one.figure.unit))
        return replace(one, text=word(one.text), sub=word(one.sub), figure=figure)

    def line(one: Row) -> Row:
        name, ours, _ = one.label.partition(_OURS if beside else "\n")
        label = name + translate(ours, language) if ours == _OURS else word(one.label)
        return replace(one, label=label, cells=[*map(cell, one.cells)])

    return replace(
        grid,
        title=word(grid.title),
        row_header=word(grid.row_header),
        columns=[*map(word, grid.columns)],
        rows=[*map(line, grid.rows)],
        notes=[write_note(note, language, python) for note in grid.notes],
        names=[*map(word, grid.names)],
    )


def pick_notes(notes: Sequence[Sentence], *levels: Level) -> list[str]:
    """Return the texts of notes of some levels."""
    return [note.text for note in notes if note.level in levels]
