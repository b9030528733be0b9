"""Values as people write them: every form of a number and of a date that an answer may have."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal

from .table import Value

_MONTHS = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_LARGE = ((Decimal(10**9), "billion"), (Decimal(10**6), "million"))
_GROUPED = 10_000  # from here on a number without a unit is written with commas; below it may be a year


def forms(value: Value, unit: str | None = None) -> list[str]:
    """Return every form of a value, the one to show first.

    `unit`: of a number: a sign that stands before it, as ``$``, or a word behind it.
    """
    if isinstance(value, datetime.date):
        month = _MONTHS[value.month - 1]
        return [f"{month} {value.day}, {value.year}", value.isoformat(), f"{value.day} {month} {value.year}"]
    if isinstance(value, str):
        return [value]
    bare = _numerals(value, grouped=unit is not None or abs(value) >= _GROUPED)
    if unit is None:
        return bare
    before = len(unit) == 1 and not unit.isalpha()
    return [*(f"{unit}{one}" if before else f"{one} {unit}" for one in bare), *bare]


def _numerals(value: Decimal, grouped: bool) -> list[str]:
    plain = _plain(value)
    found = [f"{Decimal(plain):,f}", plain] if grouped else [plain]
    if plain.isdigit() and int(plain) < len(_WORDS):
        found.append(_WORDS[int(plain)])
    for size, word in _LARGE:
        short = _plain(value / size)
        if abs(value) >= size and len(short.partition(".")[2]) <= 2:
            found.append(f"{short} {word}")
            break
    return list(dict.fromkeys(found))


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return (text.rstrip("0").rstrip(".") or "0") if "." in text else text


def list_forms(values: Sequence[Value]) -> list[str]:
    """Return several values as one answer, in their order: with commas, and with a last "and"."""
    texts = [forms(value)[0] for value in sorted(values)]
    return [", ".join(texts), f"{', '.join(texts[:-1])} and {texts[-1]}"]
