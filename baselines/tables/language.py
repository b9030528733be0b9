"""The words of tables and messages in another language: what is English in the code is looked up where it is shown.

`chinese.yaml` and its neighbours have a line for each text, `{0}` and `{1}` standing for what changes in it, which is
looked up in turn. Of several that fit, one that begins with a word counts, and of these the longest. What changes is
never several sentences, so that each is looked up by itself, unless it is `{0…}`; what stands in “{0}” are another's
words, which are kept. A line's or a column's label is looked up with the corner of its table before it, too. A text
without a line is shown as it is, and so are quoted texts, and names of metrics, models, configs and files. In messages
single words are such names. A name that reads as words of ours stands between two `MARKS`, which nobody sees and no
shown text has. Of what is left the signs between parts, and around quoted texts, become Chinese ones, but in code.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import yaml

from quadrag import catalogue
from quadrag.labels import LANGUAGES

from .grid import Grid, Line

ENGLISH, CHINESE = LANGUAGES
_SLOT = re.compile(r"(\{\d…?\})")
_BRACKET = re.compile(r"[^(]*\)")  # that a slot stands in, whose end is its own
_HAN = re.compile("[\u4e00-\u9fff]")
_MARKS = "，。；：？！、（）“”"  # which take no blank beside them
# What parts of a line stand between, the longer parts first and none within brackets, and what stands there in Chinese.
_JOINTS = {
    re.compile(rf"{mark} (?![^()]*\))"): joint
    for mark, joint in {r"(?<=\.)": " ", ";": "；", ":": "：", ",": "，"}.items()
}
_ENCLOSED = re.compile(r"(.+) \(([^()]+)\)")  # what is said in brackets at the end of a part
_AMID = re.compile(r" \w")  # what follows a slot within words
_COLUMN = re.compile("([A-Z](?:, [A-Z])*): (.+)")  # of which runs of a comparison something is said
_PAIR = re.compile("([^:]+?) minus ([^:]+): (.+)")  # of which two
_ALONE = "all"  # is ours where it stands alone; among other words it is what a config is called
_COUNT = re.compile(r"(\d+) of (\d+)")
_SUM = re.compile(r"(\d+ \+ \d+) of (\d+)")
_END = re.compile(r"(?<!\.)\.$")
_NAMES = re.compile(r"\S+(?:, \S+)*|quadrag [\w-]+")  # or a command
_EITHER = re.compile(r"\S+(?:(?:,| or) \S+)* or \S+")  # of names
_BOTH = re.compile(r"(\S+) and (\S+)")  # names
_LISTED = re.compile(r"(?:all \d+ splits/)?[^\s()]+(?: \([^()]*\)| and \d+ more)?")  # a name, as a list has it
_COUNTED = re.compile(r"(\d+) ([a-z_ ]+)")
_A_TYPE = re.compile(r"an? ([A-Z]\w*|\w{2,})")  # as Python calls it
_NUMBERS = re.compile(r"\d+(?:, \d+)+")
_RANGE = re.compile(r"(\S*[\d_]\S*) to (\S*[\d_]\S*)")  # of numbers, or of files that are numbered
MARKS = "\u2068\u2069"  # before and behind a name: Unicode's, for a part of a text that is no part of its sentence
_NO_MARKS = str.maketrans("", "", MARKS)
# A name between marks, a text of data or of a model as Python writes it, or a folder that is points alone; and the
# first of the signs that stand for such texts.
_QUOTED = re.compile(
    r"""\u2068.*?\u2069|(?<![\w\\])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)|(?<!\S)\.\.?(?=[ ;,:])"""
)
_BETWEEN = re.compile(r"\u2068.*?\u2069|[,:] (?![^()]*\))")  # what is between marks, or a sign between parts of a title
# An exception as Python tells it.
_RAISED = re.compile(r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Timeout|Expired)(?:: .+)?")
_ASIDE = 0xE000
_SIGN = "[\ue000-\uf8ff]"  # of those that stand for quoted texts
# What keeps its signs: others' words, code and commands, an option with its value, what stands in brackets.
_CODE = re.compile(
    r"“[^”]*”|`[^`]*`|(?:quadrag|iconv|pip|git) [a-z-][^，。；：、（）\u4e00-\u9fff]*"
    rf"|--[\w-]+[ =]{_SIGN}|[\w.\[]*\w[=(]{_SIGN}|\{{[^{{}}]*\}}|\[[^\[\]]*\]|[\w.]*\([^()]*\)"
)
_BESIDE = re.compile(rf"(?<=[\u4e00-\u9fff]): |: (?=[\u4e00-\u9fff]|{_SIGN})")
_REST_OF_LIST = re.compile(r"(?:、|, )\.\.\.(?![\w.])")
# Whether words in the slots of a file's phrases are names.
_FILES = {"chinese.yaml": False, "chinese_settings.yaml": False, "chinese_errors.yaml": True, "chinese_help.yaml": True}
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the quick one, where it was built
_LEAD = "这一行还没有中文，原文："
_SMALL = "an|and|are|as|be|each|for|from|has|have|is|it|its|not|of|or|that|the|their|to|which|with"
# Words of English: three together, or one that is no name.
_LEFT = re.compile(rf"\b[a-z]{{2,}} [a-z]{{2,}} [a-z]{{2,}}\b|(?<![\w./'\"-])(?:{_SMALL})(?![\w./'\"-])")
_PLACES = "|".join(catalogue.benchmarks())
# Others' words, commands, a benchmark with its config and split.
_NOT_OURS = re.compile(rf"“.*?”|`.*?`|quadrag [\w-]+|\b(?:{_PLACES}) \w+ \w+|{_QUOTED.pattern}")
Text = TypeVar("Text", bound=str)


class _Phrase(NamedTuple):
    """A text with slots: what finds it, what stands for it, and whether words in its slots, or lists, are names."""

    english: re.Pattern[str]
    chinese: str
    names: bool


class _Phrases(NamedTuple):
    whole: dict[str, str]
    changing: list[_Phrase]


@cache
def _read() -> _Phrases:
    whole, changing = {}, {}
    for file, names in _FILES.items():
        text = Path(__file__).with_name(file).read_text(encoding="utf-8")
        for english, chinese in yaml.load(text, _Loader).items():
            whole[english] = chinese
            if _SLOT.search(english):
                changing[english] = _Phrase(_match(english, chinese), chinese, names)
    order = sorted(changing, key=lambda english: (english.startswith("{"), -len(_SLOT.sub("", english))))
    return _Phrases(whole, [changing[english] for english in order])


def _match(english: str, chinese: str) -> re.Pattern[str]:
    """Return what finds a phrase.

    A list with semicolons may stand where a part of a whole sentence ends, not within its words; in a part of a
    sentence stands none, nor a head before it. A slot right behind another one holds no list, but at the end.
    """
    found, last = "", english.count("{") - 1
    pieces = _SLOT.split(english)
    for before, piece, after in zip(["", *pieces], pieces, [*pieces[1:], ""], strict=False):
        if not _SLOT.fullmatch(piece):
            found += re.escape(piece)
        elif piece.endswith("…}") or f"“{piece}”" in chinese:
            found += f"(?P<s{piece[1]}>.+?)"
        else:
            ends = r"; |\. " if _AMID.match(after) or not english.endswith(".") else r"\. "
            here = ": |" * (english.startswith(piece) or int(piece[1]) < last) + r"\), |" * bool(_BRACKET.match(after))
            here += ", |" * ((before == " " and after != "") or before.endswith("/"))
            found += rf"(?P<s{piece[1]}>(?:(?!{here}{ends}).)+?(?<![,:])(?<![^.]\.))"
    return re.compile(found)


def speak(text: Text, language: str) -> Text:
    """Return a text, which may be an alarm or a detail, in a language."""
    return speak_note(text, language, ())


def speak_line(line: str, language: str, names: Sequence[str] = ()) -> str:
    """Return a line of a message in a language: wholly or, where that has no words for a part, in English.

    In one that is none of ours it is said in all of them: who mistyped the name reads one. It may be a note on runs of
    these names.
    """
    if language not in LANGUAGES:
        return " / ".join(speak_line(line, known, names) for known in LANGUAGES)
    if language == CHINESE and not line.startswith(_LEAD):
        ours = _speak_note(line, names)
        line = f"{_LEAD}{line}" if _LEFT.search(_NOT_OURS.sub("", ours)) else ours
    return line.translate(_NO_MARKS)


def is_ours(name: str) -> bool:
    """Whether a name reads as words of ours: it would be translated, or has a sign between parts, each looked up."""
    if " " not in name and f"\n{name}:".lower() not in _written():
        return False  # told without parsing the phrases, half a second for nothing in English
    return any(mark.search(name) for mark in _JOINTS) or speak(name, CHINESE) != name


@cache
def _written() -> str:
    """Return the files of phrases as they stand, without quotes and capitals."""
    texts = (Path(__file__).with_name(file).read_text(encoding="utf-8") for file in _FILES)
    return re.sub("""(?m)^["']|["'](?=: )""", "", "\n".join(["", *texts])).lower()


def _speak_chinese(text: str, comma: str = "、") -> str:
    """Return a text in Chinese, with a comma between its names; what is quoted in it stands aside meanwhile."""
    quoted: list[str] = []

    def take(found: re.Match[str]) -> str:
        quoted.append(found[0])
        return chr(_ASIDE + len(quoted) - 1)

    aside = _QUOTED.sub(take, text)
    ours = _translate(aside)
    ours = ours if ours == aside else _punctuate(ours, quoted, comma)
    return "".join(quoted[at] if 0 <= (at := ord(sign) - _ASIDE) < len(quoted) else sign for sign in ours)


def _punctuate(ours: str, quoted: list[str], comma: str) -> str:
    """Return a Chinese text with the signs of its language between names and around what is quoted, but in code."""
    turned: set[str] = set()  # signs of what stands in Chinese quotes

    def quote(found: re.Match[str]) -> str:
        at = ord(found[1]) - _ASIDE
        if at < len(quoted) and quoted[at][0] in "'\"":
            quoted[at] = "“{}”".format(quoted[at][1:-1].replace("\\'", "'"))
            turned.add(found[1])
            return found[1]
        return found[0]

    said, last = "", 0
    for code in [*_CODE.finditer(ours), None]:
        part = ours[last : code.start() if code else len(ours)]
        part = part.replace(", ", comma).replace("; ", "；")
        part = re.sub(f" ?({_SIGN}) ?", quote, _BESIDE.sub("：", _REST_OF_LIST.sub("……", part)))
        said += part
        if code:
            before = said.rstrip(" ")[-1:]
            aside = code[0][0] == "(" and (before in turned or said.endswith(" "))
            wide = aside and (before in turned or _HAN.search(before + code[0]))
            said = f"{said.rstrip(' ')}（{code[0][1:-1]}）" if wide else said + code[0]
        last = code.end() if code else last
    return said


def _translate(text: str) -> str:
    """Return a text in Chinese, its end as well."""
    ours = _look_up(text)
    return ours if ours == text else _END.sub("。", ours)


def _look_up(text: str) -> str:
    """Return a text in Chinese, as a whole or, where it has no line, by its parts."""
    begin = " " * (len(text) - len(text.lstrip(" ")))
    plain = text[len(begin) :].rstrip(" ")
    if not plain:
        return text
    if found := _COUNT.fullmatch(plain):
        return f"{begin}{found[1]}/{found[2]}"
    if found := _SUM.fullmatch(plain):
        return f"{begin}{found[2]} 题中 {found[1]}"
    if found := _RANGE.fullmatch(plain):
        return f"{begin}{found[1]} 至 {found[2]}"
    if _NUMBERS.fullmatch(plain):
        return begin + plain.replace(", ", "、")
    if _EITHER.fullmatch(plain):
        *names, last = re.split(", | or ", plain)
        return begin + _link("、".join(names), "或", last)
    if found := _COLUMN.fullmatch(plain):
        return f"{begin}{found[1]}：{_translate(found[2])}"
    if found := _PAIR.fullmatch(plain):
        return f"{begin}{_link(found[1], '减', found[2])}：{_translate(found[3])}"
    if (ours := _find(plain)) is not None:
        return begin + ours
    if " " in plain and not plain.endswith(".") and (ours := _find(f"{plain}.")) is not None:
        return begin + ours.removesuffix("。")  # a sentence may stand without its point
    if plain.endswith(".") and (ours := _find(plain[:-1])) is not None:
        return f"{begin}{ours}."  # what has no point in the list may end a sentence
    if found := _A_TYPE.fullmatch(plain):
        return begin + _look_up(found[1])
    if found := _BOTH.fullmatch(plain):
        return begin + _link(found[1], "与", found[2])
    if _RAISED.fullmatch(plain):
        return f"{begin}“{plain}”"
    for mark, joint in _JOINTS.items():  # a list, or several sentences
        parts = mark.split(plain, 1)
        spoken = [part if part == _ALONE else _translate(part) for part in parts] if len(parts) > 1 else parts
        if spoken != parts:
            if joint == " ":
                spoken[0] = _END.sub("。", spoken[0])  # a sentence among Chinese ones, as of names alone
            joint = "、" if joint == "，" and _is_list(mark.split(plain), spoken[0]) else joint
            rest = mark.sub(joint, spoken[1]) if spoken[1] == parts[1] else spoken[1]  # a list has one sign between all
            return begin + meet(meet(spoken[0], joint), rest)
    if found := _ENCLOSED.fullmatch(plain):
        parts = [found[1], found[2]]
        spoken = [_translate(part) for part in parts]
        return text if spoken == parts else f"{begin}{spoken[0]}（{spoken[1]}）"
    return text


def _is_list(parts: Sequence[str], first: str) -> bool:
    """Whether parts are a list of names, by how it begins and, of two, ends; the first of them in Chinese is known."""
    names = [bool(_LISTED.fullmatch(part)) for part in (parts[0], parts[-1])]
    return (
        names[0] and (first == parts[0] or "/" in first) and (len(parts) > 2 or (names[1] and not parts[1].isalpha()))
    )


def _find(text: str) -> str | None:
    """Return the Chinese of a text that has a line; None where it has none."""
    whole, changing = _read()
    if text in whole:
        return whole[text]
    if (found := _COUNTED.fullmatch(text)) and found[2] in whole and f"{{0}} {found[2]}" not in whole:
        return f"{whole[found[2]]} {found[1]}"
    for phrase in changing:
        if found := phrase.english.fullmatch(text):
            return _fill(phrase, found)
    return None


def _fill(phrase: _Phrase, found: re.Match[str]) -> str:
    """Return the Chinese of a phrase with what stands in its slots."""
    ours = ""
    for piece in _SLOT.split(phrase.chinese):
        if not _SLOT.fullmatch(piece):
            ours = meet(ours, piece)
            continue
        value = found[f"s{piece[1]}"]
        name = ours.endswith("“") or (phrase.names and _NAMES.fullmatch(value))
        ours = meet(ours, value if name else _translate(value))
    return ours


def _link(before: str, word: str, after: str) -> str:
    """Join two names by a word."""
    return meet(meet(before, word), after)


def meet(before: str, after: str) -> str:
    """Join two texts: a blank between Chinese and other letters, none within Chinese, or beside a mark of it."""
    left, right = before.rstrip(" "), after.lstrip(" ")
    if not left or not right:
        return before + after
    sides = left[-1], right[0]
    han = [bool(_HAN.match(side)) for side in sides]
    if all(han) or any(side in _MARKS for side in sides):
        return left + right
    return f"{left} {right}" if any(han) and sides[han[0]] not in "()[]*," else before + after


def speak_grid(grid: Grid, language: str) -> Grid:
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
        return _read().whole.get(f"{grid.corner}: {label}") if language == CHINESE else None

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
        notes=[speak_note(note, language, grid.names) for note in grid.notes],
        names=[say(name) for name in grid.names],
    )


def speak_title(title: str, language: str) -> str:
    """Return a title in a language: what stands between names, as of a config and a model, is a Chinese sign too."""
    if language == ENGLISH:
        return speak(title, language)
    spoken = _BETWEEN.sub(lambda found: {", ": "，", ": ": "："}.get(found[0], found[0]), _speak_note(title, (), "，"))
    return spoken.translate(_NO_MARKS)


def speak_note(note: Text, language: str, names: Sequence[str]) -> Text:
    """Return a note in a language; runs that it is said of stand before it by their names."""
    ours = note if language == ENGLISH else _speak_note(note, names)
    return type(note)(ours.translate(_NO_MARKS))


def _speak_note(note: str, names: Sequence[str], comma: str = "、") -> str:
    """Return a note in Chinese, with marks where it has names; what is said of some tasks may be a whole phrase."""
    head, _, told = note.partition(": ")
    if told and {*(said := head.split(", "))} <= {*names}:
        ours = _speak_chinese(told, comma)
        if (
            ours != told or _find(note.removesuffix(".")) is None
        ):  # what is said of a run may be a phrase that begins with its name
            return f"{'、'.join(said)}：{_END.sub('。', ours)}"
    if "; " in told and ";" not in head and _find(note) is None and _find(told) is not None:
        return f"{_look_up(head)}：{_END.sub('。', _speak_chinese(told, comma))}"
    return _speak_chinese(note, comma)


def speak_grids(grids: Sequence[Grid], language: str) -> list[Grid]:
    """Return tables whose words are in a language."""
    return [speak_grid(grid, language) for grid in grids]
