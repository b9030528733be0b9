"""The words of tables and notes in another language: what is English in the code is looked up where it is shown.

`chinese/tables.yaml` has a line for each text, `{0}` and `{1}` standing for what changes in it, which is looked up in
turn. Of several that fit, one that begins with a word counts, and of these the longest. What changes is never several
sentences, so that each is looked up by itself, unless it is `{0…}`; what stands in “{0}” are another's words, which are
kept. A line's or a column's label is looked up with the corner of its table before it, too. A text without a line is
shown as it is, and so are quoted texts, and names of metrics, models, configs and files. A name that reads as words of
ours stands between two `MARKS`, which nobody sees and no shown text has. Of what is left the signs between parts, and
around quoted texts, become Chinese ones, but in code.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from quadrag.labels import LANGUAGES

from ..reporting.messages import say as say_note
from ..results.note import Level, Note, NoteCode
from .chinese.phrases import read_phrases, read_written
from .chinese.translate import END, JOINTS, find, translate
from .grid import Alarm, Detail, Grid, Line, Loud, Verdict

ENGLISH, CHINESE = LANGUAGES
MARKS = "\u2068\u2069"  # before and behind a name: Unicode's, for a part of a text that is no part of its sentence
_NO_MARKS = str.maketrans("", "", MARKS)
_BETWEEN = re.compile(r"\u2068.*?\u2069|[,:] (?![^()]*\))")  # what is between marks, or a sign between parts of a title
Text = TypeVar("Text", bound=str)


def speak(text: Text, language: str) -> Text:
    """Return a text, which may be an alarm or a detail, in a language."""
    ours = text if language == ENGLISH else _speak_note(text, ())
    return type(text)(ours.translate(_NO_MARKS))


def is_ours(name: str) -> bool:
    """Whether a name reads as words of ours: it would be translated, or has a sign between parts, each looked up."""
    if " " not in name and f"\n{name}:".lower() not in read_written():
        return False  # told without parsing the phrases, half a second for nothing in English
    return any(mark.search(name) for mark in JOINTS) or speak(name, CHINESE) != name


def speak_grid(grid: Grid, language: str, python: bool = False) -> Grid:
    """Return a table whose words are in a language."""
    from rich.cells import cell_len

    def say(text: str) -> str:
        if language == ENGLISH:
            return speak(text, language)
        joined = text.replace("-\n", "").replace("_\n", "_").strip("\n")
        ours = speak(joined, language)
        if joined.endswith(" "):  # it is as wide as its column
            ours += " " * (cell_len(joined) - cell_len(ours))
        return text if ours == joined else text[: len(text) - len(text.lstrip("\n"))] + ours

    def special(label: str) -> str | None:
        return read_phrases().whole.get(f"{grid.corner}: {label}") if language == CHINESE else None

    def line(one: Line) -> Line:
        cells = [
            replace(
                cell,
                text=say(cell.text),
                sub=say(cell.sub),
                figure=cell.figure and cell.figure._replace(unit=say(cell.figure.unit)),
            )
            for cell in one.cells
        ]
        return replace(one, label=special(one.label) or speak(one.label, language), cells=cells)

    return replace(
        grid,
        title=speak_title(grid.title, language),
        corner=say(grid.corner),
        columns=[special(column) or say(column) for column in grid.columns],
        lines=[line(one) for one in grid.lines],
        notes=[speak_note(note, language, grid.names, python) for note in grid.notes],
        names=[say(name) for name in grid.names],
    )


def speak_title(title: str, language: str) -> str:
    """Return a title in a language: what stands between names, as of a config and a model, is a Chinese sign too."""
    if language == ENGLISH:
        return speak(title, language)
    spoken = _BETWEEN.sub(lambda found: {", ": "，", ": ": "："}.get(found[0], found[0]), _speak_note(title, (), "，"))
    return spoken.translate(_NO_MARKS)


def speak_note(note: Note | str, language: str, names: Sequence[str] = (), python: bool = False) -> str:
    """Return a note in a language, as what it is for whoever draws it; runs stand before it by their names."""
    if isinstance(note, Note):
        return _kind_of(note)(say_note(note, language, python).translate(_NO_MARKS))
    ours = note if language == ENGLISH else _speak_note(note, names)
    return type(note)(ours.translate(_NO_MARKS))


def _kind_of(note: Note) -> Callable[[str], str]:
    if note.code in (NoteCode.INVALID, NoteCode.UNRELIABLE):
        return Loud if note.level is Level.WARNING else Detail
    kinds: dict[Level, Callable[[str], str]] = {Level.HEADLINE: Verdict, Level.WARNING: Alarm, Level.DETAIL: Detail}
    return kinds.get(note.level, str)


def _speak_note(note: str, names: Sequence[str], comma: str = "、") -> str:
    """Return a note in Chinese, with marks where it has names; what is said of some tasks may be a whole phrase."""
    head, _, told = note.partition(": ")
    if told and {*(said := head.split(", "))} <= {*names}:
        ours = translate(told, comma)
        if (
            ours != told or find(note.removesuffix(".")) is None
        ):  # what is said of a run may be a phrase that begins with its name
            return f"{'、'.join(said)}：{END.sub('。', ours)}"
    if "; " in told and ";" not in head and find(note) is None and find(told) is not None:
        return f"{translate(head, comma)}：{END.sub('。', translate(told, comma))}"
    return translate(note, comma)


def speak_grids(grids: Sequence[Grid], language: str) -> list[Grid]:
    """Return tables whose words are in a language."""
    return [speak_grid(grid, language) for grid in grids]
