"""A text as it is compared with others, and as it is shown in a finding."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

_LONGEST = 60  # characters of a text that is shown


@lru_cache(maxsize=4096)
def clean(text: str) -> str:
    """Return a text in one width, each run of white space as one space."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def shorten(text: str, around: str = "") -> str:
    """Return a text on one line, a long one cut around what is to be seen in it, else behind its beginning."""
    line = clean(text)
    at = max(line.lower().find(clean(around).lower()) - _LONGEST // 3, 0) if around else 0
    cut = line[at : at + _LONGEST]
    return f"{'…' * (at > 0)}{cut}{'…' * (at + len(cut) < len(line))}"


def count_off(places: Sequence[str], total: int | None = None) -> str:
    """Return which of how many: ``negative[2], negative[5] of 12``; the first three, and how many more."""
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return f"{', '.join(places[:3])}{more}" + ("" if total is None else f" of {total}")
