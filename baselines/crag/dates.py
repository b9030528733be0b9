"""Dates that a text names in full, as ``YYYY-MM-DD``, ``YYYY-MM`` or ``YYYY``.

It reads numbers and English names of months. What hangs on another day, such as "yesterday", it leaves to others.
"""

import re
from datetime import date

MOST = 31  # dates of one text
_LONGEST = 2_000  # characters that are read
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_MONTH = rf"\b(?P<name>{'|'.join(f'{name}|{name[:3]}' for name in _MONTHS)}|sept)\.?(?![a-z])"
_DAY = r"(?P<day>[0-3]?[0-9])(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[12][0-9]{3})(?![0-9])"
# The first in the text counts; of those that begin at one place, the first of these.
_FORMS = [
    re.compile(pattern, re.ASCII)
    for pattern in (
        rf"(?<![0-9.]){_YEAR}[-/](?P<month>[01]?[0-9])(?:[-/](?P<day>[0-3]?[0-9]))?(?![0-9])",
        rf"(?<![0-9.])(?P<month>[01]?[0-9])/(?P<day>[0-3]?[0-9])/{_YEAR}",
        rf"{_MONTH}\s+{_DAY}(?![0-9:])\s*,?\s*(?:of\s+)?{_YEAR}",
        rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}\s*,?\s*{_YEAR}",
        rf"{_MONTH}\s*,?\s*(?:of\s+)?{_YEAR}",
        r"(?<![0-9$#.,:/-])(?P<year>1[5-9][0-9]{2}|20[0-9]{2}|21[0-9]{2})(?![0-9a-z%:]|,[0-9]{3}|\.[0-9])",
    )
]


def find_dates(text: str) -> tuple[str, ...]:
    """Return at most `MOST` dates that a text names, in order of mention; 2,000 characters of it are read."""
    text = text[:_LONGEST].lower()
    dates: dict[str, None] = {}
    place = 0
    while matches := [match for form in _FORMS if (match := form.search(text, place))]:
        match = min(matches, key=lambda match: match.start())
        try:
            dates[_format(match.groupdict())] = None
            place = match.end()
        except ValueError:  # a day that no month has
            place = match.start() + 1
    return tuple(dates)[:MOST]


def _format(parts: dict[str, str | None]) -> str:
    name, year = parts.get("name"), int(parts["year"] or 0)
    month = int(parts.get("month") or 0)
    if name:
        month = next(number for number, full in enumerate(_MONTHS, 1) if full.startswith(name[:3]))
    if not month:
        return f"{year}"
    first = date(year, month, int(parts.get("day") or 1))
    return str(first) if parts.get("day") else f"{first:%Y-%m}"
