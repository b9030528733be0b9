"""The words of tables in another language: what stands in English in the code is looked up where it is shown.

`chinese.yaml` has a line for each text, `{0}` and `{1}` standing for what changes in it, which is looked up in turn. Of
several that fit, one that begins with a word counts, and of these the longest. What changes is never several sentences,
so that each is looked up by itself. A text without a line is shown as it is, and so are quoted texts, and names of
metrics, models, configs and files.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import yaml

from .grid import Grid, Line

ENGLISH, CHINESE = LANGUAGES = ("en", "zh")
_SLOT = re.compile(r"\\{(\d)\\}")
# What parts of a line stand between, the longer parts first, and what stands there in Chinese.
_JOINTS = {re.compile(r"(?<=\.) "): " ", re.compile("; "): "；", re.compile(": "): "：", re.compile(", "): "，"}
_COLUMN = re.compile("([A-Z](?:, [A-Z])*): (.+)")  # of which runs of a comparison something is said
_PAIR = re.compile("([A-Z] - [A-Z]): (.+)")  # of which two
_COUNT = re.compile(r"(\d+) of (\d+)")
_RANGE = re.compile(r"([-+]?[\d.]+%?) to ([-+]?[\d.]+%?)")
# A text of data or of a model as Python writes it, and the first of the signs that stand for such texts.
_QUOTED = re.compile(r"""(?<![\w\\])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)""")
_ASIDE = 0xE000
Text = TypeVar("Text", bound=str)


class _Phrases(NamedTuple):
    whole: dict[str, str]
    patterns: list[tuple[re.Pattern[str], str]]


@cache
def _read() -> _Phrases:
    found = yaml.safe_load(Path(__file__).with_name("chinese.yaml").read_text(encoding="utf-8"))
    changing = [english for english in found if "{0}" in english]
    changing.sort(key=lambda english: (english.startswith("{"), -len(english)))
    return _Phrases(found, [(_match(english), found[english]) for english in changing])


def _match(english: str) -> re.Pattern[str]:
    """Return what finds a phrase: in a whole sentence may stand a list, in a part of one not, nor a head before it."""
    ends = r"\. " if english.endswith(".") else r"; |\. "
    found = _SLOT.sub(rf"(?P<s\1>(?:(?!{ends}).)+?)", re.escape(english))
    return re.compile(found.replace("(?!", "(?!: |", 1) if english.startswith("{") else found)


def speak(text: Text, language: str) -> Text:
    """Return a text, which may be an alarm or a detail, in a language."""
    return text if language == ENGLISH else type(text)(_speak_chinese(text))


def _speak_chinese(text: str) -> str:
    """Return a text in Chinese; what is quoted in it stands aside meanwhile."""
    quoted: list[str] = []

    def take(found: re.Match[str]) -> str:
        quoted.append(found[0])
        return chr(_ASIDE + len(quoted) - 1)

    ours = _translate(_QUOTED.sub(take, text))
    return "".join(quoted[at] if 0 <= (at := ord(sign) - _ASIDE) < len(quoted) else sign for sign in ours)


def _translate(text: str) -> str:
    """Return a text in Chinese, as a whole or, where it has no line, by its parts."""
    begin = " " * (len(text) - len(text.lstrip(" ")))
    plain = text[len(begin) :].rstrip(" ")
    if not plain:
        return text
    if found := _COUNT.fullmatch(plain):
        return f"{begin}{found[1]}/{found[2]}"
    if found := _RANGE.fullmatch(plain):
        return f"{begin}{found[1]} 至 {found[2]}"
    if found := _COLUMN.fullmatch(plain):
        return f"{begin}{found[1]}：{_translate(found[2])}"
    whole, patterns = _read()
    if plain in whole:
        return begin + whole[plain]
    for pattern, chinese in patterns:
        if found := pattern.fullmatch(plain):
            slots = [_translate(found[f"s{at}"]) for at in range(len(found.groupdict()))]
            return begin + chinese.format(*slots)
    if found := _PAIR.fullmatch(plain):
        return f"{begin}{found[1]}：{_translate(found[2])}"
    for mark, joint in _JOINTS.items():  # a list, or several sentences
        parts = mark.split(plain, 1)
        ours = [_translate(part) for part in parts] if len(parts) > 1 else parts
        if ours != parts:
            return begin + joint.join(ours)
    return text


def speak_grid(grid: Grid, language: str) -> Grid:
    """Return a table whose words are in a language."""
    if language == ENGLISH:
        return grid

    def say(text: str) -> str:
        joined = text.replace("-\n", "").replace("_\n", "_").strip("\n")
        ours = _speak_chinese(joined)
        return text if ours == joined else text[: len(text) - len(text.lstrip("\n"))] + ours

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
        return replace(one, label=_speak_chinese(one.label), cells=cells)

    return replace(
        grid,
        title=_speak_chinese(grid.title),
        corner=say(grid.corner),
        columns=[say(column) for column in grid.columns],
        lines=[line(one) for one in grid.lines],
        notes=[speak(note, language) for note in grid.notes],
        names=[say(name) for name in grid.names],
    )


def speak_grids(grids: Sequence[Grid], language: str) -> list[Grid]:
    """Return tables whose words are in a language."""
    return [speak_grid(grid, language) for grid in grids]
