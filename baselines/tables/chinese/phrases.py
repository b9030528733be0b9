"""The phrases: a line for each English text, with slots for what changes in it, and its Chinese."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

SLOT = re.compile(r"(\{\d…?\})")
_BRACKET = re.compile(r"[^(]*\)")  # that a slot stands in, whose end is its own
_AMID = re.compile(r" \w")  # what follows a slot within words
FILE = Path(__file__).with_name("tables.yaml")
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the quick one, where it was built


class Phrase(NamedTuple):
    """A text with slots: what finds it, and what stands for it."""

    english: re.Pattern[str]
    chinese: str


class Phrases(NamedTuple):
    """Texts by what they are in English, and those with slots, in the order in which they are tried."""

    whole: dict[str, str]
    changing: list[Phrase]


@cache
def read_phrases() -> Phrases:
    """Read the phrases: of those with slots such as begin with a word stand first, and of these the longest."""
    whole = yaml.load(FILE.read_text(encoding="utf-8"), Loader)
    changing = {
        english: Phrase(match(english, chinese), chinese) for english, chinese in whole.items() if SLOT.search(english)
    }
    order = sorted(changing, key=lambda english: (english.startswith("{"), -len(SLOT.sub("", english))))
    return Phrases(whole, [changing[english] for english in order])


def match(english: str, chinese: str) -> re.Pattern[str]:
    """Return what finds a phrase.

    A list with semicolons may stand where a part of a whole sentence ends, not within its words; in a part of a
    sentence stands none, nor a head before it. A slot right behind another one holds no list, but at the end.
    """
    found, last = "", english.count("{") - 1
    pieces = SLOT.split(english)
    for before, piece, after in zip(["", *pieces], pieces, [*pieces[1:], ""], strict=False):
        if not SLOT.fullmatch(piece):
            found += re.escape(piece)
        elif piece.endswith("…}") or f"“{piece}”" in chinese:
            found += f"(?P<s{piece[1]}>.+?)"
        else:
            ends = r"; |\. " if _AMID.match(after) or not english.endswith(".") else r"\. "
            here = ": |" * (english.startswith(piece) or int(piece[1]) < last) + r"\), |" * bool(_BRACKET.match(after))
            here += ", |" * ((before == " " and after != "") or before.endswith("/"))
            found += rf"(?P<s{piece[1]}>(?:(?!{here}{ends}).)+?(?<![,:])(?<![^.]\.))"
    return re.compile(found)


@cache
def read_written() -> str:
    """Return the phrases as they stand in the file, without quotes and capitals."""
    return re.sub("""(?m)^["']|["'](?=: )""", "", f"\n{FILE.read_text(encoding='utf-8')}").lower()
