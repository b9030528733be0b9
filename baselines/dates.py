"""Dates and times of day that a text says, resolved against the day on which it was said.

A date is ``YYYY-MM-DD``, ``YYYY-MM`` or ``YYYY``. It reads English as questions write it: numbers, names of months and
days, quarters, spans such as ``last week``, counts such as ``two days ago``. It knows no holidays, eras or decades, and
no season of a league.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta

MOST = 31  # dates of one text, and days of one span

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_COUNTS = {
    word: number
    for number, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], 1
    )
} | {"a": 1, "an": 1, "couple": 2}
_MONTH = (
    "(?P<month>"
    + "|".join(f"{name}|{name[:3]}\\.?|sept\\.?" if name[0] == "s" else f"{name}|{name[:3]}\\.?" for name in _MONTHS)
    + ")"
)
_DAY = r"[0-3]?[0-9](?:st|nd|rd|th)?"
_MORE = rf"(?:\s*(?:,\s*(?:and\s+)?|-|\u2013|and\s+|to\s+|through\s+|or\s+|&\s*){_DAY}(?![0-9:])(?!\s*(?:am|pm|%)\b))*"
_COUNT = r"(?P<count>[0-9]{1,3}|" + "|".join(_COUNTS) + r")(?:\s+of)?"
_YEAR = r"(?P<year>1[5-9][0-9]{2}|20[0-9]{2}|21[0-9]{2})"
_WEEKDAY = "(?P<weekday>" + "|".join(_DAYS) + ")"

# Tried at every place in this order; each says what its groups mean by its name.
_FORMS = tuple(
    (name, re.compile(pattern, re.ASCII))
    for name, pattern in (
        ("iso", r"(?<![0-9.])(?P<year>[12][0-9]{3})[-/](?P<mon>[01]?[0-9])(?:[-/](?P<day>[0-3]?[0-9]))?(?![0-9])"),
        ("american", r"(?<![0-9.])(?P<mon>[01]?[0-9])/(?P<day>[0-3]?[0-9])/(?P<year>[12][0-9]{3})(?![0-9])"),
        (
            "month_days",
            rf"\b{_MONTH}\s+(?P<days>(?:the\s+)?{_DAY}{_MORE})(?![0-9:])(?:\s*,?\s*(?:of\s+)?{_YEAR}(?![0-9]))?",
        ),
        ("days_month", rf"\b(?P<days>{_DAY}{_MORE})\s+(?:of\s+)?{_MONTH}(?![a-z])(?:\s*,?\s*{_YEAR}(?![0-9]))?"),
        ("month_year", rf"\b{_MONTH}\s*,?\s*(?:of\s+)?{_YEAR}(?![0-9])"),
        (
            "quarter",
            rf"\b(?:q(?P<quarter>[1-4])|(?P<ordinal>first|second|third|fourth) quarter)(?:\s+of|,)?\s+{_YEAR}\b",
        ),
        ("month", rf"\b(?:in|of|during|since|for|until|by|last|this|past)\s+{_MONTH}(?![a-z.])(?!\s+[0-9])"),
        ("ago", rf"\b{_COUNT}\s+(?P<unit>day|week|month|year)s?\s+ago\b"),
        ("past", rf"\b(?:last|past|previous)\s+{_COUNT}\s+(?:trading\s+)?(?P<unit>day|week|month|year)s?\b"),
        ("before_yesterday", r"\bday before yesterday\b"),
        (
            "named",
            r"\b(?P<named>today|tonight|right now|this (?:morning|evening)|yesterday|last night|tomorrow)(?![a-z])",
        ),
        ("weekday", rf"\b(?:(?P<which>last|past|previous|this|next|coming)\s+)?(?:past\s+)?{_WEEKDAY}(?![a-z])"),
        ("weekend", r"\b(?P<which>last|past|previous|this|next)\s+weekend\b"),
        ("span", r"\b(?P<which>last|past|previous|this|current|next)\s+(?P<unit>week|month|year)(?![a-z])"),
        ("year", rf"(?<![0-9$#.,:/-]){_YEAR}(?![0-9a-z%:]|,[0-9]{{3}}|\.[0-9])"),
    )
)
_CLOCK = re.compile(
    r"(?<![0-9:t])(?P<hour>[01]?[0-9]|2[0-3])(?::(?P<minute>[0-5][0-9]))?(?::[0-5][0-9])?\s*(?P<half>[ap]\.?m\b\.?)?"
    r"(?:\s*\(?(?P<zone>[ecmp][sd]?t|eastern|pacific)\b)?",
    re.ASCII,
)
_HOURS = {"p": 3, "m": 2, "c": 1, "e": 0}  # that New York is ahead


def said(text: str, day: date | None = None) -> tuple[str, ...]:
    """Return the dates that a text says, in order of mention, each once.

    Args:
        text: any; of a long one the first 2,000 characters are read.
        day: when it was said. A month or day without a year is the nearest to it, a weekday alone the last one. None
            leaves out what hangs on it.

    Returns:
        At most `MOST` dates. ``last week`` and the like are days from Monday on, the current week's up to `day`.
    """
    text = text[:2_000].lower()
    found: dict[str, None] = {}
    spot = 0
    while spot < len(text) and len(found) < MOST:
        name, match = min(
            ((name, match) for name, form in _FORMS if (match := form.search(text, spot))),
            key=lambda one: one[1].start(),
            default=(None, None),
        )
        if name is None or match is None:
            break
        try:
            found |= dict.fromkeys(_dates(name, match, day, text))
        except (ValueError, OverflowError):  # a day that no month has, or the calendar's end
            spot = match.start() + 1
            continue
        spot = max(match.end(), spot + 1)
    return tuple(found)[:MOST]


def clock(text: str) -> tuple[str, ...]:
    """Return the times of day that a text says as ``HH:MM`` of New York, whose time is meant where none is named."""
    found: dict[str, None] = {}
    for match in _CLOCK.finditer(text[:2_000].lower()):
        hour, minute, half = int(match["hour"]), match["minute"], match["half"]
        if minute is None and half is None:
            continue
        if half is not None:
            if not 1 <= hour <= 12:
                continue
            hour = hour % 12 + 12 * half.startswith("p")
        ahead = _HOURS[match["zone"][0]] if match["zone"] else 0
        if hour + ahead < 24:
            found[f"{hour + ahead:02}:{minute or '00'}"] = None
    return tuple(found)


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where dates and times of day stand in a text; a year alone, which a name may hold, is none here."""
    lower = text.lower()
    for name, form in _FORMS:
        if name != "year" and len(lower) == len(text):
            yield from (match.span() for match in form.finditer(lower))
    for match in _CLOCK.finditer(lower):
        if len(lower) == len(text) and (match["minute"] or match["half"]):
            yield match.span()


def _dates(name: str, match: re.Match[str], day: date | None, text: str) -> Iterable[str]:
    groups = match.groupdict()
    if name in ("iso", "american"):
        year, month = int(groups["year"]), int(groups["mon"])
        if groups["day"] is None:
            return [f"{date(year, month, 1):%Y-%m}"]
        return [str(date(year, month, int(groups["day"])))]
    if name == "year":
        return [groups["year"]]
    if name == "quarter":
        quarter = int(groups["quarter"] or ("first", "second", "third", "fourth").index(groups["ordinal"]) + 1)
        return [f"{groups['year']}-{month:02}" for month in range(3 * quarter - 2, 3 * quarter + 1)]
    if name == "month_year":
        return [f"{groups['year']}-{_month(groups['month']):02}"]
    if name in ("month_days", "days_month"):
        return _of_month(match, day, text)
    return [] if day is None else _relative(name, groups, day)


def _of_month(match: re.Match[str], day: date | None, text: str) -> list[str]:
    """The days of a month; a year that is not said is that of the next full date in the text, else the nearest."""
    month, numbers = _month(match["month"]), [int(number) for number in re.findall(r"[0-9]+", match["days"])]
    if match["year"] is not None:
        year = int(match["year"])
    else:
        later = re.compile(rf"{_MONTH}\s+{_DAY}{_MORE}\s*,?\s*{_YEAR}(?![0-9])").search(text, match.end())
        if later is not None:
            year = int(later["year"])
        elif day is None:
            return []
        else:
            near = [date(day.year + more, month, min(numbers[0], 28)) for more in (0, -1, 1)]
            year = min(near, key=lambda one: abs(one - day)).year
    days = [date(year, month, number) for number in numbers]
    if len(days) == 2 and days[0] < days[1] and re.search(r"-|\u2013|to|through", match["days"]):
        days = [days[0] + timedelta(more) for more in range((days[1] - days[0]).days + 1)]
    return [str(one) for one in days]


def _relative(name: str, groups: dict[str, str | None], day: date) -> Iterable[str]:
    which = groups.get("which") or ""
    back = which in ("last", "past", "previous")
    if name == "month":
        month = _month(str(groups["month"]))
        return [f"{day.year - (month > day.month)}-{month:02}"]
    if name == "before_yesterday":
        return [str(day - timedelta(2))]
    if name == "named":
        named = str(groups["named"])
        return [str(day + timedelta({"yesterday": -1, "last night": -1, "tomorrow": 1}.get(named, 0)))]
    if name == "weekday":
        behind = (day.weekday() - _DAYS.index(str(groups["weekday"]))) % 7
        if which == "this":
            return [str(day - timedelta(day.weekday()) + timedelta(_DAYS.index(str(groups["weekday"]))))]
        if which in ("next", "coming"):
            return [str(day + timedelta(7 - behind))]
        return [str(day - timedelta(behind or (7 if back else 0)))]
    monday = day - timedelta(day.weekday())
    if name == "weekend":
        saturday = monday + timedelta(5 + 7 * ((which == "next") - back))
        return [str(saturday), str(saturday + timedelta(1))]
    unit = str(groups["unit"])
    if name == "span":
        return _span(unit, -1 if back else 1 if which == "next" else 0, day)
    word = str(groups["count"])
    count = int(word) if word.isdecimal() else _COUNTS[word]
    if name == "ago":
        if unit in ("day", "week"):
            return [str(day - timedelta(count * (7 if unit == "week" else 1)))]
        return _span(unit, -count, day)
    if unit in ("day", "week"):
        days = min(count * (7 if unit == "week" else 1), MOST)
        return [str(day - timedelta(back)) for back in range(days - 1, -1, -1)]
    return [one for more in range(min(count, MOST) - 1, -1, -1) for one in _span(unit, -more, day)]


def _span(unit: str, more: int, day: date) -> list[str]:
    """The week, month or year that lies `more` of them from that of `day`."""
    if unit == "year":
        return [f"{date(day.year + more, 1, 1):%Y}"]
    if unit == "month":
        months = day.year * 12 + day.month - 1 + more
        return [f"{date(months // 12, months % 12 + 1, 1):%Y-%m}"]
    monday = day - timedelta(day.weekday()) + timedelta(7 * more)
    return [str(monday + timedelta(n)) for n in range(7) if more or monday + timedelta(n) <= day]


def _month(name: str) -> int:
    return next(number for number, full in enumerate(_MONTHS, 1) if full.startswith(name.rstrip(".")[:3]))
