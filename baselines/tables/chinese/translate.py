"""A text in Chinese: by its phrase as a whole or, where that has none, by its parts."""

import re
from collections.abc import Sequence

from .phrases import SLOT, Phrase, read_phrases
from .signs import ASIDE, meet, punctuate

# What parts of a line stand between, the longer parts first and none within brackets, and what stands there in Chinese.
JOINTS = {
    re.compile(rf"{mark} (?![^()]*\))"): joint
    for mark, joint in {r"(?<=\.)": " ", ";": "；", ":": "：", ",": "，"}.items()
}
_ENCLOSED = re.compile(r"(.+) \(([^()]+)\)")  # what is said in brackets at the end of a part
_COLUMN = re.compile("([A-Z](?:, [A-Z])*): (.+)")  # of which runs of a comparison something is said
_PAIR = re.compile("([^:]+?) minus ([^:]+): (.+)")  # of which two
_ALONE = "all"  # is ours where it stands alone; among other words it is what a config is called
_COUNT = re.compile(r"(\d+) of (\d+)")
_SUM = re.compile(r"(\d+ \+ \d+) of (\d+)")
END = re.compile(r"(?<!\.)\.$")
_EITHER = re.compile(r"\S+(?:(?:,| or) \S+)* or \S+")  # of names
_BOTH = re.compile(r"(\S+) and (\S+)")  # names
_LISTED = re.compile(r"(?:all \d+ splits/)?[^\s()]+(?: \([^()]*\)| and \d+ more)?")  # a name, as a list has it
_COUNTED = re.compile(r"(\d+(?:–\d+)?) ([a-z_ ]+)")
_A_TYPE = re.compile(r"an? ([A-Z]\w*|\w{2,})")  # as Python calls it
_NUMBERS = re.compile(r"\d+(?:, \d+)+")
_RANGE = re.compile(r"(\S*[\d_]\S*) to (\S*[\d_]\S*)")  # of numbers, or of files that are numbered
# A name between marks, a text of data or of a model as Python writes it, or a folder that is points alone; and the
# first of the signs that stand for such texts.
QUOTED = re.compile(
    r"""\u2068.*?\u2069|(?<![\w\\])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)|(?<!\S)\.\.?(?=[ ;,:])"""
)
# An exception as Python tells it.
_RAISED = re.compile(r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Timeout|Expired)(?:: .+)?")


def translate(text: str, comma: str = "、") -> str:
    """Return a text in Chinese, with a comma between its names; what is quoted in it stands aside meanwhile."""
    quoted: list[str] = []

    def take(found: re.Match[str]) -> str:
        quoted.append(found[0])
        return chr(ASIDE + len(quoted) - 1)

    aside = QUOTED.sub(take, text)
    ours = _say(aside)
    ours = ours if ours == aside else punctuate(ours, quoted, comma)
    return "".join(quoted[at] if 0 <= (at := ord(sign) - ASIDE) < len(quoted) else sign for sign in ours)


def _say(text: str) -> str:
    """Return a text in Chinese, its end as well."""
    ours = look_up(text)
    return ours if ours == text else END.sub("。", ours)


def look_up(text: str) -> str:
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
        return f"{begin}{found[1]}：{_say(found[2])}"
    if found := _PAIR.fullmatch(plain):
        return f"{begin}{_link(found[1].replace(', ', '、'), '减', found[2])}：{_say(found[3])}"
    if (ours := find(plain)) is not None:
        return begin + ours
    if " " in plain and not plain.endswith(".") and (ours := find(f"{plain}.")) is not None:
        return begin + ours.removesuffix("。")  # a sentence may stand without its point
    if plain.endswith(".") and (ours := find(plain[:-1])) is not None:
        return f"{begin}{ours}."  # what has no point in the list may end a sentence
    if found := _A_TYPE.fullmatch(plain):
        return begin + look_up(found[1])
    if found := _BOTH.fullmatch(plain):
        return begin + _link(found[1], "与", found[2])
    if _RAISED.fullmatch(plain):
        return f"{begin}“{plain}”"
    for mark, joint in JOINTS.items():  # a list, or several sentences
        parts = mark.split(plain, 1)
        spoken = [part if part == _ALONE else _say(part) for part in parts] if len(parts) > 1 else parts
        if spoken != parts:
            if joint == " ":
                spoken[0] = END.sub("。", spoken[0])  # a sentence among Chinese ones, as of names alone
            joint = "、" if joint == "，" and _is_list(mark.split(plain), spoken[0]) else joint
            rest = mark.sub(joint, spoken[1]) if spoken[1] == parts[1] else spoken[1]  # a list has one sign between all
            return begin + meet(meet(spoken[0], joint), rest)
    if found := _ENCLOSED.fullmatch(plain):
        parts = [found[1], found[2]]
        spoken = [_say(part) for part in parts]
        return text if spoken == parts else f"{begin}{spoken[0]}（{spoken[1]}）"
    return text


def _is_list(parts: Sequence[str], first: str) -> bool:
    """Whether parts are a list of names, by how it begins and, of two, ends; the first of them in Chinese is known."""
    names = [bool(_LISTED.fullmatch(part)) for part in (parts[0], parts[-1])]
    return (
        names[0] and (first == parts[0] or "/" in first) and (len(parts) > 2 or (names[1] and not parts[1].isalpha()))
    )


def find(text: str) -> str | None:
    """Return the Chinese of a text that has a line; None where it has none."""
    whole, changing = read_phrases()
    if text in whole:
        return whole[text]
    if (found := _COUNTED.fullmatch(text)) and found[2] in whole and f"{{0}} {found[2]}" not in whole:
        return f"{whole[found[2]]} {found[1]}"
    for phrase in changing:
        if found := phrase.english.fullmatch(text):
            return _fill(phrase, found)
    return None


def _fill(phrase: Phrase, found: re.Match[str]) -> str:
    """Return the Chinese of a phrase with what stands in its slots."""
    ours = ""
    for piece in SLOT.split(phrase.chinese):
        if not SLOT.fullmatch(piece):
            ours = meet(ours, piece)
            continue
        value = found[f"s{piece[1]}"]
        ours = meet(ours, value if ours.endswith("“") else _say(value))
    return ours


def _link(before: str, word: str, after: str) -> str:
    """Join two names by a word."""
    return meet(meet(before, word), after)
