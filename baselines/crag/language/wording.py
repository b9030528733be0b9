"""The words of CRAG's questions: which say more than that something is asked, and how near a line of facts is."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

WORDS: Mapping[str, Any] = yaml.safe_load((Path(__file__).parents[1] / "words.yaml").read_text(encoding="utf-8"))
JOINING = frozenset(WORDS["joining"].split())
ASKING = frozenset(WORDS["asking"].split())
_NO_NAME = JOINING.union(ASKING, *(words.split() for words in WORDS["cues"].values()))
_IN_NO_FIELD = JOINING | ASKING.difference(WORDS["in_fields"].split())
_WORD = re.compile(r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?|[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|[0-9]+(?:\.[0-9]+)?")
_ENDINGS = ("ations", "ation", "ings", "ing", "ors", "ers", "ies", "ed", "or", "er", "es", "s", "e", "y")


def is_name_word(word: str) -> bool:
    """Whether a word, in lower case, says more than that something is asked."""
    return word not in _NO_NAME


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Cut the commonest endings off a word in lower case; four letters stay."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words; ``camelCase`` is two words, and a date counts with its year and month."""
    found = set()
    for word in _WORD.findall(text.replace("P/E", "PE")):
        found.add(stem(word.lower()))
        if word[:4].isdecimal() and "-" in word:
            found |= {word[:4], word[:7]}
    return frozenset(found)


def expand_query(query: str, aspects: Iterable[str] = (), dates: Iterable[str] = ()) -> frozenset[str]:
    """Return the stems that a line of facts on a question and its aspects is likely to hold.

    Each of `dates` counts once, in a line with that date or, of a month or year, one within it.
    """
    words = set(re.findall(r"[^\W_]+", query.lower().replace("p/e", "pe")))
    found = {stem(word) for word in words if word not in _IN_NO_FIELD and (len(word) > 1 or word.isdecimal())}
    for word, fields in _FIELD_STEMS.items():
        if word in words or stem(word) in found:
            found |= fields
    return frozenset(found.union(dates, *map(stems, aspects)))


_FIELD_STEMS = {word: frozenset(map(stem, fields.split())) for word, fields in WORDS["fields"].items()}
