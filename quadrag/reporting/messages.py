"""The words of notes, heads and labels, by language: the only place with sentences about results.

``messages/LANGUAGE.yaml`` holds under `notes` a sentence for each code of a note, or for each `kind` of it, with its
params in braces, and under `words` what stands for an English head, label or word; a word that has none stays as it
is, and so do names. ``{--option}`` in a sentence, or as the value of a param, is an option: an argument in Python.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from quadrag.results.check import check_failures, explain_item, explain_score
from quadrag.results.note import Note, NoteCode, group_notes
from quadrag.results.record import RunRecord
from quadrag.results.score import Score

ENGLISH = "en"
_FOLDER = Path(__file__).with_name("messages")
_SHOWN = 4  # names in a list
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
    """Read the words of a language."""
    read = yaml.load((_FOLDER / f"{language}.yaml").read_text(encoding="utf-8"), _Loader)
    return Messages(read["notes"], read.get("words", {}), read["signs"])


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
    said = sentence.format_map(_Params(note.params, language, python))
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
    """The params of a note as they are written in a language."""

    def __init__(self, params: Mapping[str, Any], language: str, python: bool) -> None:
        super().__init__(
            {
                name: value if isinstance(value, str) and name in _NAMES else self._write(value, language, python)
                for name, value in params.items()
            }
        )
        self._python = python

    def __missing__(self, name: str) -> str:
        if not name.startswith("--"):
            raise KeyError(name)
        return _write_option(name, self._python)

    def _write(self, value: Any, language: str, python: bool) -> Any:
        if isinstance(value, Note):
            return say(value, language, python)
        if isinstance(value, Mapping):
            if ENGLISH in value:  # a text in every language
                return value[language]
            signs = read_messages(language).signs
            counts = [signs["count"].format(name=translate(str(name), language), n=n) for name, n in value.items()]
            return join_names(counts, language)
        if isinstance(value, list | tuple):
            parts = [str(self._write(part, language, python)) for part in value]
            if value and isinstance(value[0], Note):
                return read_messages(language).signs["semicolon"].join(parts)
            return join_names(parts, language)
        if isinstance(value, str):
            return _write_option(value, python) if value.startswith("--") else translate(value, language)
        return value


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
