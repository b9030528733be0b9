"""Dates and times of day in a text, resolved against the day on which it was written.

A date is ``YYYY-MM-DD``, ``YYYY-MM`` or ``YYYY``. It reads English as questions write it: numbers, names of months and
days, quarters, spans such as ``last week``, counts such as ``two days ago``. It knows no holidays, eras or decades, and
no season of a league.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta

from .wording import WORDS

MOST = 31  # dates of one text, and days of one span
_LONGEST = 2_000  # characters that are read

_MONTHS = WORDS["months"].split()
_DAYS = WORDS["days"].split()
_ORDINALS = ("first", "second", "third", "fourth")
_COUNTS = {word: number for number, word in enumerate(WORDS["numbers"].split(), 1)}
_COUNTS |= {"a": 1, "an": 1, "couple": 2}
_NAMED = {"day before yesterday": -2, "yesterday": -1, "last night": -1, "tomorrow": 1}
_BACK = ("last", "past", "previous")

# Pieces of the forms; each group's name says what it holds.
_MONTH = "(?P<month>" + "|".join(f"{name}|{name[:3]}\\.?" for name in _MONTHS) + "|sept\\.?)"
_DAY = r"[0-3]?[0-9](?:st|nd|rd|th)?"
_MORE = rf"(?:\s*(?:,\s*(?:and\s+)?|-|\u2013|and\s+|to\s+|through\s+|or\s+|&\s*){_DAY}(?![0-9:])(?!\s*(?:am|pm|%)\b))*"
_COUNT = r"(?P<count>[0-9]{1,3}|" + "|".join(_COUNTS) + r")(?:\s+of)?"
_YEAR = r"(?P<year>1[5-9][0-9]{2}|20[0-9]{2}|21[0-9]{2})"
_WEEKDAY = "(?P<weekday>" + "|".join(_DAYS) + ")"
_UNIT = "(?P<unit>day|week|month|year)s?"
_THEN_YEAR = rf"(?:\s*,?\s*(?:of\s+)?{_YEAR}(?![0-9]))?"

# The first in the text counts; of those that begin at one place, the first of these.
_FORMS = {
    name: re.compile(pattern, re.ASCII)
    for name, pattern in {
        "iso": r"(?<![0-9.])(?P<year>[12][0-9]{3})[-/](?P<mon>[01]?[0-9])(?:[-/](?P<day>[0-3]?[0-9]))?(?![0-9])",
        "american": r"(?<![0-9.])(?P<mon>[01]?[0-9])/(?P<day>[0-3]?[0-9])/(?P<year>[12][0-9]{3})(?![0-9])",
        "month_days": rf"\b{_MONTH}\s+(?P<days>(?:the\s+)?{_DAY}{_MORE})(?![0-9:]){_THEN_YEAR}",
        "days_month": rf"\b(?P<days>{_DAY}{_MORE})\s+(?:of\s+)?{_MONTH}(?![a-z])(?:\s*,?\s*{_YEAR}(?![0-9]))?",
        "month_year": rf"\b{_MONTH}\s*,?\s*(?:of\s+)?{_YEAR}(?![0-9])",
        "quarter": rf"\b(?:q(?P<quarter>[1-4])|(?P<ordinal>{'|'.join(_ORDINALS)}) quarter)(?:\s+of|,)?\s+{_YEAR}\b",
        "month": rf"\b(?:in|of|during|since|for|until|by|last|this|past)\s+{_MONTH}(?![a-z.])(?!\s+[0-9])",
        "ago": rf"\b{_COUNT}\s+{_UNIT}\s+ago\b",
        "past": rf"\b(?:last|past|previous)\s+{_COUNT}\s+(?:trading\s+)?{_UNIT}\b",
        "named": r"\b(?P<named>day before yesterday\b|today|tonight|right now|this (?:morning|evening)|yesterday"
        r"|last night|tomorrow)(?![a-z])",
        "weekday": rf"\b(?:(?P<which>last|past|previous|this|next|coming)\s+)?(?:past\s+)?{_WEEKDAY}(?![a-z])",
        "weekend": r"\b(?P<which>last|past|previous|this|next)\s+weekend\b",
        "span": r"\b(?P<which>last|past|previous|this|current|next)\s+(?P<unit>week|month|year)(?![a-z])",
        "year": rf"(?<![0-9$#.,:/-]){_YEAR}(?![0-9a-z%:]|,[0-9]{{3}}|\.[0-9])",
    }.items()
}
_DATED_LATER = re.compile(rf"{_MONTH}\s+{_DAY}{_MORE}\s*,?\s*{_YEAR}(?![0-9])")
_CLOCK = re.compile(
    r"(?<![0-9:t])(?P<hour>[01]?[0-9]|2[0-3])(?::(?P<minute>[0-5][0-9]))?(?::[0-5][0-9])?\s*(?P<half>[ap]\.?m\b\.?)?"
    r"(?:\s*\(?(?P<zone>[ecmp][sd]?t|eastern|pacific)\b)?",
    re.ASCII,
)
_HOURS = {"p": 3, "m": 2, "c": 1, "e": 0}  # that New York is ahead


def find_dates(text: str, day: date | None = None) -> tuple[str, ...]:
    """Return at most `MOST` dates that a text names, in order of mention, each once; 2,000 characters of it are read.

    `day` is when it was written: a month or day without a year is the nearest to it, a weekday alone the last one;
    ``last week`` and the like are days from Monday on, the current week's up to `day`. None leaves out what depends on
    it.
    """
    text = text[:_LONGEST].lower()
    found: dict[str, None] = {}
    spot = 0
    while spot < len(text) and len(found) < MOST:
        matches = [(form, match) for form, pattern in _FORMS.items() if (match := pattern.search(text, spot))]
        if not matches:
            break
        form, match = min(matches, key=lambda one: one[1].start())
        try:
            found |= dict.fromkeys(_resolve(form, match, day, text))
        except (ValueError, OverflowError):  # a day that no month has, or the calendar's end
            spot = match.start() + 1
            continue
        spot = max(match.end(), spot + 1)
    return tuple(found)[:MOST]


def find_times(text: str) -> tuple[str, ...]:
    """Return the times of day in a text as ``HH:MM`` of New York, whose time is meant where none is named."""
    found: dict[str, None] = {}
    for match in _CLOCK.finditer(text[:_LONGEST].lower()):
        hour, half = int(match["hour"]), match["half"]
        if not _names_time(match) or (half and not 1 <= hour <= 12):
            continue
        if half:
            hour = hour % 12 + 12 * half.startswith("p")
        hour += _HOURS[match["zone"][0]] if match["zone"] else 0
        if hour < 24:
            found[f"{hour:02}:{match['minute'] or '00'}"] = None
    return tuple(found)


def find_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where dates and times of day stand in a text; a year alone, which a name may hold, is none here."""
    lower = text.lower()
    if len(lower) != len(text):  # places in one are not those in the other
        return
    for form, pattern in _FORMS.items():
        if form != "year":
            yield from (match.span() for match in pattern.finditer(lower))
    yield from (match.span() for match in _CLOCK.finditer(lower) if _names_time(match))


def _names_time(match: re.Match[str]) -> bool:
    return bool(match["minute"] or match["half"])


def _resolve(form: str, match: re.Match[str], day: date | None, text: str) -> Iterable[str]:
    groups = match.groupdict()
    if form in ("iso", "american"):
        first = date(int(groups["year"]), int(groups["mon"]), int(groups["day"] or 1))
        return [str(first) if groups["day"] else f"{first:%Y-%m}"]
    if form == "year":
        return [groups["year"]]
    if form == "quarter":
        quarter = int(groups["quarter"] or _ORDINALS.index(groups["ordinal"]) + 1)
        return [f"{groups['year']}-{month:02}" for month in range(3 * quarter - 2, 3 * quarter + 1)]
    if form == "month_year":
        return [f"{groups['year']}-{_month_number(groups['month']):02}"]
    if form in ("month_days", "days_month"):
        return _resolve_days(match, day, text)
    return [] if day is None else _resolve_relative(form, groups, day)


def _resolve_days(match: re.Match[str], day: date | None, text: str) -> list[str]:
    """The days of a month; a year that is not named is that of the next full date in the text, else the nearest."""
    month, numbers = _month_number(match["month"]), [int(number) for number in re.findall(r"[0-9]+", match["days"])]
    dated = match if match["year"] else _DATED_LATER.search(text, match.end())
    if dated is not None:
        year = int(dated["year"])
    elif day is None:
        return []
    else:
        near = [date(day.year + more, month, min(numbers[0], 28)) for more in (0, -1, 1)]
        year = min(near, key=lambda one: abs(one - day)).year
    days = [date(year, month, number) for number in numbers]
    if len(days) == 2 and days[0] < days[1] and re.search(r"-|\u2013|to|through", match["days"]):
        days = [days[0] + timedelta(more) for more in range((days[1] - days[0]).days + 1)]
    return [str(one) for one in days]


def _resolve_relative(form: str, groups: dict[str, str], day: date) -> Iterable[str]:
    if form == "month":
        month = _month_number(groups["month"])
        return [f"{day.year - (month > day.month)}-{month:02}"]
    if form == "named":
        return [str(day + timedelta(_NAMED.get(groups["named"], 0)))]
    if form in ("ago", "past"):
        return _count_back(form, groups["count"], groups["unit"], day)
    which = groups["which"]
    ahead = (which in ("next", "coming")) - (which in _BACK)
    if form == "span":
        return _resolve_span(groups["unit"], ahead, day)
    monday = timedelta(-day.weekday())
    if form == "weekend":
        return [str(day + monday + timedelta(more + 7 * ahead)) for more in (5, 6)]
    number = _DAYS.index(groups["weekday"])
    if which == "this":
        return [str(day + monday + timedelta(number))]
    behind = (day.weekday() - number) % 7
    return [str(day + timedelta(7 - behind if ahead > 0 else -(behind or -7 * ahead)))]


def _count_back(form: str, word: str, unit: str, day: date) -> list[str]:
    """``two days ago`` is one day, ``the past two days`` are two; months and years are named whole."""
    count = int(word) if word.isdecimal() else _COUNTS[word]
    if unit in ("day", "week"):
        days = count * (7 if unit == "week" else 1)
        backs = [days] if form == "ago" else reversed(range(min(days, MOST)))
        return [str(day - timedelta(back)) for back in backs]
    backs = [count] if form == "ago" else reversed(range(min(count, MOST)))
    return [one for back in backs for one in _resolve_span(unit, -back, day)]


def _resolve_span(unit: str, more: int, day: date) -> list[str]:
    if unit == "year":
        return [f"{date(day.year + more, 1, 1):%Y}"]
    if unit == "month":
        months = day.year * 12 + day.month - 1 + more
        return [f"{date(months // 12, months % 12 + 1, 1):%Y-%m}"]
    monday = day - timedelta(day.weekday()) + timedelta(7 * more)
    return [str(monday + timedelta(n)) for n in range(7) if more or monday + timedelta(n) <= day]


def _month_number(name: str) -> int:
    return next(number for number, full in enumerate(_MONTHS, 1) if full.startswith(name.rstrip(".")[:3]))
