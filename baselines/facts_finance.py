"""Facts of the finance domain: from the name of a company to its ticker, and from that to prices and figures.

Of prices those of the days asked about are told, else the last five before the question; of a longer time than a month
its first and last day and its extremes. A day on which trading had not closed when the question was asked says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from quadrag.kg.names import normalise

from .fact_asked import MOST, Asked
from .fact_calls import Calls, core, cut, fact, flat, shown, within
from .wording import is_name_word

_DAYS = 5  # of trading, where no date is asked about
_MONTH = 31  # days that are told one by one
_DIVIDENDS = 12
_CLOSING = 13  # the hour in California at which trading closes
_SUMMARY = 300  # characters of the business summary
# Where a company's name ends and its form or kind of share begins.
_FORM_WORDS = (
    "inc incorporated corp corporation co company ltd limited plc llc lp nv sa ag se common ordinary class american "
    "depositary warrant warrants unit units right rights preferred series holdings holding group"
)
_FORMS = frozenset(_FORM_WORDS.split())
_NO_SHARE = frozenset(("warrant", "warrants", "unit", "units", "right", "rights", "preferred", "notes", "debentures"))
_NOISE = re.compile(
    r"(?:Key|Disp|MilliSeconds|Milliseconds)$|^(?:maxAge|uuid|messageBoardId|priceHint|underlyingSymbol)$"
)
_GIVEN = frozenset(("forwardEps", "forwardPE", "companyOfficers", "longBusinessSummary"))
_MAIN_LABELS = (
    "longName symbol sector industry city state country fullTimeEmployees currentPrice previousClose open dayLow "
    "dayHigh fiftyTwoWeekLow fiftyTwoWeekHigh marketCap trailingPE trailingEps dividendRate dividendYield totalRevenue"
)
_MAIN = _MAIN_LABELS.split()


def find(calls: Calls, asked: Asked) -> None:
    """Add the figures of the companies of a question."""
    subjects: dict[str, str] = {}
    for ticker in asked.entities.tickers:
        subjects.setdefault(ticker, ticker)
    for name, known in asked.candidates("finance", "companies"):
        if len(subjects) >= MOST or any(within(core(name), _core(subject)) for subject in subjects.values()):
            continue
        sure = known is not None or asked.entities.domain == "finance"
        listed = _companies(name, calls.ask("finance_get_company_name", name) or (), sure, asked.query)
        for company in listed:
            ticker = calls.ask("finance_get_ticker_by_name", company)
            if isinstance(ticker, str) and ticker:
                subjects[ticker] = f"{_short(company)} ({ticker})"
                calls.add([fact(company, "ticker", ticker)], "finance_get_ticker_by_name", company)
        word = name.upper()
        if sure and not listed and re.fullmatch(r"[A-Z]{1,5}", word):
            subjects.setdefault(word, word)
    for ticker, subject in list(subjects.items())[:MOST]:
        _figures(calls, asked, ticker, subject)


def _core(company: str) -> tuple[str, ...]:
    words = core(company)
    end = next((at for at, word in enumerate(words) if at and word in _FORMS), len(words))
    return words[:end]


def _short(company: str) -> str:
    """A company's name without its kind of share."""
    return re.sub(
        r"\s+(?:Common|Class|Ordinary|American Depositary|Warrants?|Units?|Rights?|Preferred)\b.*", "", company
    )


def _companies(asked: str, found: Sequence[str], sure: bool, query: str) -> list[str]:
    """Choose at most two companies: of the same name, of one that begins so, or of one that the phrase holds."""
    words = _core(asked)
    shares = [name for name in dict.fromkeys(found) if not _NO_SHARE & {*normalise(name).split()} - {*query.split()}]
    ranked: list[tuple[int, str]] = []
    for name in shares or list(dict.fromkeys(found)):
        held = _core(name)
        if held == words:
            ranked.append((0, name))
        elif sure and words and held[: len(words)] == words:
            ranked.append((1, name))
        elif within(held, words) and any(map(is_name_word, held)) and (sure or len(held) > 1):
            ranked.append((2, name))
    best = min((rank for rank, _ in ranked), default=0)
    return [name for rank, name in ranked if rank == best][: 1 if best == 0 else 2]


def _figures(calls: Calls, asked: Asked, ticker: str, subject: str) -> None:
    prices, info = calls.ask("finance_get_price_history", ticker), calls.ask("finance_get_info", ticker)
    if subject == ticker and prices is None and info is None:
        return  # a word that only looks like a ticker
    if isinstance(prices, dict):
        calls.add(_prices(calls, subject, prices, asked), "finance_get_price_history", ticker)
    minutes = calls.ask("finance_get_detailed_price_history", ticker)
    if isinstance(minutes, dict):
        calls.add(_minutes(subject, minutes, asked), "finance_get_detailed_price_history", ticker)
    dividends = calls.ask("finance_get_dividends_history", ticker)
    if isinstance(dividends, dict):
        dated = {stamp: paid for stamp, paid in dividends.items() if stamp.startswith(asked.dates)}
        chosen = list((dated or dividends).items())[-_DIVIDENDS:]
        lines = [fact(subject, f"dividend per share of {stamp[:10]}", paid) for stamp, paid in reversed(chosen)]
        calls.add(lines, "finance_get_dividends_history", ticker)
    calls.tell(subject, "market capitalization", "finance_get_market_capitalization", ticker)
    calls.tell(subject, "forward EPS (earnings per share)", "finance_get_eps", ticker)
    calls.tell(subject, "forward P/E (price-to-earnings ratio)", "finance_get_pe_ratio", ticker)
    if isinstance(info, dict):
        calls.add(_info(subject, info), "finance_get_info", ticker)


def _prices(calls: Calls, subject: str, history: Mapping[str, Any], asked: Asked) -> Iterator[str]:
    rows = {stamp[:10]: row for stamp, row in sorted(history.items()) if isinstance(row, dict)}
    picked: dict[str, str] = {}  # day to what is said about it
    for date in asked.dates:
        if len(date) == 10:
            last = max((day for day in rows if day <= date), default=None)
            if last is not None and (last == date or date <= str(asked.day)):
                picked.setdefault(last, "" if last == date else f" (no trading on {date}; the last day before)")
            continue
        days = [day for day in rows if day.startswith(date)]
        if len(days) <= _MONTH:
            picked |= {day: picked.get(day, "") for day in days}
        else:
            picked |= {days[0]: f" (first day of {date})", days[-1]: f" (last day of {date})"}
            for label, choose, word in (
                ("Close", max, "highest"),
                ("Close", min, "lowest"),
                ("Volume", max, "highest"),
            ):
                known = [day for day in days if isinstance(rows[day].get(label), (int, float))]
                if known:
                    best = choose(known, key=lambda day: rows[day][label])
                    picked[best] = f"{picked.get(best, '')} ({word} {label} of {date})"
    if not picked:
        picked = dict.fromkeys([day for day in rows if day <= str(asked.day)][-_DAYS:], "")
    if (today := str(asked.day)) in picked and asked.moment.hour < _CLOSING:
        picked[today] += " (asked before trading closed)"
    # What is said of a day counts before the day itself: lines of one overlap stay in this order.
    days = sorted(
        sorted(picked, reverse=True), key=lambda day: (-calls.overlap(picked[day]), "asked before" in picked[day])
    )
    for day in days:
        yield f"{subject} | {day}{picked[day]} | {_row(rows[day])}"


def _minutes(subject: str, history: Mapping[str, Any], asked: Asked) -> Iterator[str]:
    """The minutes asked about, else how trading began and stood last; of the days asked about, else the last day."""
    stamps = [stamp for stamp in sorted(history) if isinstance(history[stamp], dict)]
    days = [day for day in asked.dates if len(day) == 10 and any(one.startswith(day) for one in stamps)]
    latest = max((stamp[:10] for stamp in stamps if stamp[:10] <= str(asked.day)), default=None)
    for day in days or filter(None, [latest]):
        of_day = [stamp for stamp in stamps if stamp.startswith(day)]
        wanted = [stamp for stamp in of_day if stamp[11:16] in asked.entities.times]
        for stamp in wanted or dict.fromkeys((of_day[-1], of_day[0])):
            yield f"{subject} | {stamp[:16]} New York time | {_row(history[stamp])}"


def _row(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{label}: {text}" for label, value in row.items() if (text := shown(value)))


def _info(subject: str, info: Mapping[str, Any]) -> Iterator[str | None]:
    labels = [*(label for label in _MAIN if label in info), *(label for label in info if label not in _MAIN)]
    officers = info.get("companyOfficers")
    for one in officers if isinstance(officers, list) else ():
        if isinstance(one, dict):
            age = f", aged {text}" if (text := shown(one.get("age"))) else ""
            yield fact(subject, shown(one.get("title")) or "officer", shown(one.get("name")) + age)
    for label in labels:
        if label in _GIVEN or _NOISE.search(label):
            continue
        for name, value in flat(info[label], label):
            yield fact(subject, name, _day(value) if re.search(r"Date|Epoch|FiscalYearEnd|Quarter$", name) else value)
    if isinstance(summary := info.get("longBusinessSummary"), str):
        yield fact(subject, "business", cut(summary, _SUMMARY))


def _day(value: Any) -> Any:
    """A moment in seconds as a day; what is none stays."""
    if isinstance(value, int) and not isinstance(value, bool) and 10**8 < value < 10**10:
        return str(datetime.fromtimestamp(value, timezone.utc).date())
    return value
