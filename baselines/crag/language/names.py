"""Names, ticker symbols and ranks in a question, found by rules.

Questions of CRAG are mostly in lower case: a name is then what is left between the words of asking (`wording.py`).
Where there are quotation marks or capitals, these tell more.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from .dates import find_spans
from .wording import ASKING, CUE_PHRASES, JOINING, WORDS, is_name_word

_SYMBOL = re.compile(r"[A-Z]{1,6}(?:[.-][A-Z]{1,2})?")
_NO_TICKERS = frozenset(WORDS["no_tickers"].split())
_MARKED_TICKER = re.compile(r"\$([A-Za-z]{1,6})\b|\b(?:nasdaq:|nyse:|ticker(?: symbol)?:?)\s*([A-Za-z.]{1,6})\b", re.I)
_CAPITALS = re.compile(r"(?<![\w'.&/-])[A-Z]{2,5}(?:[.-][A-Z])?(?![\w'&/-])")
_QUOTED = re.compile(
    r"\"([^\"]{2,100})\"|\u201c([^\u201d]{2,100})\u201d|(?<!\w)['\u2018]([^'\u2019]{2,100}?)['\u2019](?!\w)"
)
_WORD = re.compile(r"[\w$][\w'\u2019&./+!-]*")
_GENITIVE = re.compile(r"['\u2019]s$")
_HARD = re.compile(r"[,;:?!()|\"\u201c\u201d\u2026]|\.\s")  # between two words: no name goes on
_NUMBERS = {word: number for number, word in enumerate(WORDS["numbers"].split()[:10], 1)}
_RANK = re.compile(
    rf"(?:\bnumber|\bno\.?|#|\branked|\brank|\bposition|\bspot)\s*(?P<rank>[0-9]{{1,3}}|{'|'.join(_NUMBERS)})\b"
    r"(?!\s*(?:%|million|dollars))|\b(?P<top>top(?:ped)? (?:song|single|spot|the (?:billboard|hot|chart)))"
)
_YEAR = re.compile("1[89][0-9]{2}|20[0-9]{2}")


def find_names(query: str) -> Iterator[str]:
    """Yield the names in a question: what is quoted, runs in capitals, then what is not of asking, runs whole first."""
    yield from (next(filter(None, match.groups())).strip() for match in _QUOTED.finditer(query))
    blank = list(query)
    for start, end in [*find_spans(query), *(match.span() for match in CUE_PHRASES.finditer(query))]:
        blank[start:end] = "|" * (end - start)
    words = list(_split("".join(blank)))
    yield from (" ".join(run) for run in _capital_runs(words) if run)
    for run in _plain_runs(words):
        yield from _names_of_run(run)


def parse_symbol(text: str) -> str:
    """Return a ticker symbol in its form, empty where it can be none: ``$tsla``, ``NASDAQ: TSLA``."""
    plain = text.upper().lstrip("$").rpartition(":")[2].strip()
    return plain if _SYMBOL.fullmatch(plain) else ""


def find_tickers(query: str) -> Iterator[str]:
    """Yield what looks like ticker symbols in a question: after a dollar sign or the word, or capitals among others."""
    for match in _MARKED_TICKER.finditer(query):
        found = match[1] or match[2]
        if found.lower() not in ASKING | JOINING:
            yield parse_symbol(found)
    if query != query.upper():
        yield from (word for word in _CAPITALS.findall(query) if word not in _NO_TICKERS)


def find_ranks(text: str) -> Iterator[int]:
    """Yield the ranks of 1 to 100 that a text asks about."""
    for match in _RANK.finditer(text.lower()):
        word = match["rank"] or "1"
        rank = int(word) if word.isdecimal() else _NUMBERS[word]
        if 1 <= rank <= 100:
            yield rank


class _Word(NamedTuple):
    """A word, in lower case without a genitive's ending, and whether no name goes on from the word before it."""

    text: str
    lower: str
    begins: bool


def _split(query: str) -> Iterator[_Word]:
    end = 0
    for match in _WORD.finditer(query):
        word = match[0].rstrip("'\u2019.-/!&") or match[0]
        yield _Word(word, _GENITIVE.sub("", word.lower()), bool(_HARD.search(query[end : match.start()])))
        end = match.start() + len(word)


def _capital_runs(words: list[_Word]) -> Iterator[list[str]]:
    """Yield runs of words in capitals, numbers and joining words among them."""
    run: list[str] = []
    for place, word in enumerate(words):
        if word.begins:
            yield _trim(run)
            run = []
        capital = word.text[0].isupper() or (word.text[0].isdecimal() and bool(run))
        if (capital and (place or is_name_word(word.lower))) or (word.lower in JOINING and run):
            run.append(word.text)
        else:
            yield _trim(run)
            run = []
    yield _trim(run)


def _plain_runs(words: list[_Word]) -> Iterator[list[str]]:
    """Yield runs of words that are not of asking, as the parts that years, genitives and joining words leave."""
    run: list[str] = []
    inside = False  # the last part goes on with the next word
    for word in words:
        if word.begins:
            yield run
            run, inside = [], False
        named = is_name_word(word.lower) and word.lower[0] != "$" and not _YEAR.fullmatch(word.text)
        if named and inside:
            run[-1] += f" {word.text}"
        elif named or (inside if _YEAR.fullmatch(word.text) else run and word.lower in JOINING):
            run.append(word.text)
        else:
            yield run
            run = []
        inside = named and word.lower == word.text.lower()  # a genitive ends a part
    yield run


def _trim(run: list[str]) -> list[str]:
    while run and run[-1].lower() in JOINING:
        run = run[:-1]
    return run


def _names_of_run(run: list[str]) -> list[str]:
    """The whole run, then its parts that are neither numbers nor joining words."""
    parts = _trim(run)
    alone = [_GENITIVE.sub("", part) for part in parts if not (part.isdecimal() or part.lower() in JOINING)]
    return [" ".join(parts), *alone] if len(parts) > 1 else alone
