"""Names, ticker symbols and ranks in a question, found by rules.

Questions of CRAG are mostly in lower case: a name is then what is left between the words of asking (`wording.py`).
Where there are quotation marks or capitals, these tell more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .dates import spans
from .wording import ASKING, CUE_PHRASES, JOINING, is_name_word

_SYMBOL = re.compile(r"[A-Z]{1,6}(?:[.-][A-Z]{1,2})?")
# Capitals that are no ticker symbols, or hardly meant as such.
_ABBREVIATIONS = (
    "A I CEO CFO CTO IPO EPS PE P/E ETF USA US UK EU UN NBA NFL MLB NHL NCAA FIFA UEFA MVP TV DVD CD DJ EP LP PT "
    "EST PST AM PM AI OK ID II III IV VI VII VIII IX GDP NYSE AMEX SEC NASA FBI CIA DC LA NYC BBC HBO ABC NBC CBS"
)
_NO_TICKERS = frozenset(_ABBREVIATIONS.split())
_QUOTED = re.compile(
    r"\"([^\"]{2,100})\"|\u201c([^\u201d]{2,100})\u201d|(?<!\w)['\u2018]([^'\u2019]{2,100}?)['\u2019](?!\w)"
)
_WORD = re.compile(r"[\w$][\w'\u2019&./+!-]*")
_HARD = re.compile(r"[,;:?!()|\"\u201c\u201d\u2026]|\.\s")  # between two words: no name goes on
_RANK = re.compile(
    r"(?:\bnumber|\bno\.?|#|\branked|\brank|\bposition|\bspot)\s*(?P<rank>[0-9]{1,3}|one|two|three|four|five|six|seven|"
    r"eight|nine|ten)\b(?!\s*(?:%|million|dollars))|\b"
    r"(?P<top>top(?:ped)? (?:song|single|spot|the (?:billboard|hot|chart)))"
)
_YEAR = re.compile("1[89][0-9]{2}|20[0-9]{2}")
_RANKS = "one two three four five six seven eight nine ten"
_NUMBERS = {word: number for number, word in enumerate(_RANKS.split(), 1)}


def names(query: str) -> Iterator[str]:
    """Yield the names in a question: what is quoted, runs in capitals, then what is not of asking, runs whole first."""
    yield from (next(filter(None, match.groups())).strip() for match in _QUOTED.finditer(query))
    blank = list(query)
    for start, end in [*spans(query), *(match.span() for match in CUE_PHRASES.finditer(query))]:
        blank[start:end] = "|" * (end - start)
    yield from _phrases("".join(blank))


def symbol(text: str) -> str:
    """Return a ticker symbol in its form, empty where it can be none: ``$tsla``, ``NASDAQ: TSLA``."""
    plain = text.upper().lstrip("$").rpartition(":")[2].strip()
    return plain if _SYMBOL.fullmatch(plain) else ""


def tickers(query: str) -> Iterator[str]:
    """Yield what looks like ticker symbols in a question: after a dollar sign or the word, or capitals among others."""
    for match in re.finditer(
        r"\$([A-Za-z]{1,6})\b|\b(?:nasdaq:|nyse:|ticker(?: symbol)?:?)\s*([A-Za-z.]{1,6})\b", query, re.I
    ):
        found = match[1] or match[2]
        if found.lower() not in ASKING and found.lower() not in JOINING:
            yield symbol(found)
    if query != query.upper():
        for word in re.findall(r"(?<![\w'.&/-])[A-Z]{2,5}(?:[.-][A-Z])?(?![\w'&/-])", query):
            if word not in _NO_TICKERS:
                yield word


def ranks(text: str) -> Iterator[int]:
    """Yield the ranks of 1 to 100 that a text asks about."""
    for match in _RANK.finditer(text.lower()):
        said_rank = match["rank"]
        rank = 1 if said_rank is None else int(said_rank) if said_rank.isdecimal() else _NUMBERS[said_rank]
        if 1 <= rank <= 100:
            yield rank


def _phrases(query: str) -> Iterator[str]:
    """Yield runs in capitals, then runs of words that are not of asking: with the words that join them, then alone."""
    words: list[tuple[str, str]] = []  # the word and what stands before it
    end = 0
    for match in _WORD.finditer(query):
        word = match[0].rstrip("'\u2019.-/!&") or match[0]
        words.append((word, query[end : match.start()]))
        end = match.start() + len(word)
    runs: list[list[list[str]]] = [[]]  # runs of parts of words
    capitals: list[list[str]] = [[]]
    inside = False
    for number, (word, before) in enumerate(words):
        lower = re.sub(r"['\u2019]s$", "", word.lower())
        if _HARD.search(before):
            runs.append([])
            capitals.append([])
            inside = False
        upper = word[0].isupper() or (word[0].isdecimal() and bool(capitals[-1]))
        if (upper and (number or is_name_word(lower))) or (lower in JOINING and capitals[-1]):
            capitals[-1].append(word)
        else:
            capitals.append([])
        if _YEAR.fullmatch(word):
            if inside:
                runs[-1].append([word])
            else:
                runs.append([])
            inside = False
        elif is_name_word(lower) and lower[0] != "$":
            if not inside:
                runs[-1].append([])
            runs[-1][-1].append(word)
            inside = lower == word.lower()  # a genitive ends a part
        elif lower in JOINING and runs[-1]:
            runs[-1].append([word])
            inside = False
        else:
            runs.append([])
            inside = False
    yield from (" ".join(run) for run in map(_trimmed, capitals) if run)
    for parts in runs:
        yield from _of_run(parts)


def _trimmed(run: list[str]) -> list[str]:
    while run and run[-1].lower() in JOINING:
        run = run[:-1]
    return run


def _of_run(run: list[list[str]]) -> list[str]:
    while run and run[-1][0].lower() in JOINING:
        run = run[:-1]
    parts = [" ".join(part) for part in run]
    alone = [re.sub(r"['\u2019]s$", "", part) for part in parts if not (part.isdecimal() or part.lower() in JOINING)]
    return [" ".join(parts), *alone] if len(parts) > 1 else alone
