"""Facts of the finance domain: from the name of a company to its ticker, and from that to prices and figures.

Of prices those of the days asked about are told, else the last five before the question; of a longer time than a month
its first and last day and its extremes. A day on which trading had not closed when the question was asked says so.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ..kg.names import normalise
from ..language.wording import WORDS, is_name_word
from .calls import Calls, field_text, flatten, format_fact, format_value, truncate
from .question import MOST, FactQuestion, Words, occurs_in, split_name

_DAYS = 5  # of trading, where no date is asked about
_MONTH = 31  # days that are told one by one
_DIVIDENDS = 12
_CLOSING = 13  # the hour in California at which trading closes
_SUMMARY = 300  # characters of the business summary
_EXTREMES = (("Close", max, "highest"), ("Close", min, "lowest"), ("Volume", max, "highest"))
_UNCLOSED = " (asked before trading closed)"
_FORMS = frozenset(WORDS["company_forms"].split())
_SHARE = re.compile(r"\s+(?:Common|Class|Ordinary|American Depositary|Warrants?|Units?|Rights?|Preferred)\b.*")
_NO_SHARE = frozenset(("warrant", "warrants", "unit", "units", "right", "rights", "preferred", "notes", "debentures"))
_NOISE = re.compile(
    r"(?:Key|Disp|MilliSeconds|Milliseconds)$|^(?:maxAge|uuid|messageBoardId|priceHint|underlyingSymbol)$"
    r"|^(?:forwardEps|forwardPE|companyOfficers|longBusinessSummary)$"  # told otherwise
)
_STAMPED = re.compile(r"Date|Epoch|FiscalYearEnd|Quarter$")
_MAIN = WORDS["main_figures"].split()


def add_facts(calls: Calls, question: FactQuestion) -> None:
    """Add the figures of the companies of a question."""
    subjects = {ticker: ticker for ticker in question.entities.tickers}
    for name, known in question.candidates("finance", "companies"):
        words = split_name(name)
        if len(subjects) >= MOST or any(occurs_in(words, _split_company(subject)) for subject in subjects.values()):
            continue
        sure = known is not None or question.entities.domain == "finance"
        listed = _match_companies(name, calls.ask("finance_get_company_name", name) or (), sure, question.query)
        for company in listed:
            ticker = calls.ask("finance_get_ticker_by_name", company)
            if isinstance(ticker, str) and ticker:
                subjects[ticker] = f"{_SHARE.sub('', company)} ({ticker})"
                calls.add([format_fact(company, "ticker", ticker)], "finance_get_ticker_by_name", company)
        if sure and not listed and re.fullmatch(r"[A-Z]{1,5}", symbol := name.upper()):
            subjects.setdefault(symbol, symbol)
    for ticker, subject in list(subjects.items())[:MOST]:
        _add_figures(calls, question, ticker, subject)


def _split_company(company: str) -> Words:
    words = split_name(company)
    return words[: next((at for at, word in enumerate(words) if at and word in _FORMS), len(words))]


def _match_companies(asked: str, found: Sequence[str], sure: bool, query: str) -> list[str]:
    """Choose at most two companies: of the same name, of one that begins so, or of one that the phrase holds."""
    words = _split_company(asked)
    names = list(dict.fromkeys(found))
    shares = [name for name in names if not _NO_SHARE & {*normalise(name).split()} - {*query.split()}]
    ranked: list[tuple[int, str]] = []
    for name in shares or names:
        own = _split_company(name)
        if own == words:
            ranked.append((0, name))
        elif sure and words and own[: len(words)] == words:
            ranked.append((1, name))
        elif occurs_in(own, words) and any(map(is_name_word, own)) and (sure or len(own) > 1):
            ranked.append((2, name))
    best = min((rank for rank, _ in ranked), default=0)
    return [name for rank, name in ranked if rank == best][: 1 if best == 0 else 2]


def _add_figures(calls: Calls, question: FactQuestion, ticker: str, subject: str) -> None:
    prices, info = calls.ask("finance_get_price_history", ticker), calls.ask("finance_get_info", ticker)
    if subject == ticker and prices is None and info is None:
        return  # a word that only looks like a ticker
    if isinstance(prices, dict):
        calls.add(_prices(calls, subject, prices, question), "finance_get_price_history", ticker)
    minutes = calls.ask_record("finance_get_detailed_price_history", ticker)
    calls.add(_minutes(subject, minutes, question), "finance_get_detailed_price_history", ticker)
    dividends = calls.ask_record("finance_get_dividends_history", ticker)
    dated = {stamp: paid for stamp, paid in dividends.items() if stamp.startswith(question.dates)}
    chosen = list((dated or dividends).items())[-_DIVIDENDS:]
    lines = [format_fact(subject, f"dividend per share of {stamp[:10]}", paid) for stamp, paid in reversed(chosen)]
    calls.add(lines, "finance_get_dividends_history", ticker)
    calls.add_value(subject, "market capitalization", "finance_get_market_capitalization", ticker)
    calls.add_value(subject, "forward EPS (earnings per share)", "finance_get_eps", ticker)
    calls.add_value(subject, "forward P/E (price-to-earnings ratio)", "finance_get_pe_ratio", ticker)
    if isinstance(info, dict):
        calls.add(_info(subject, info), "finance_get_info", ticker)


def _prices(calls: Calls, subject: str, history: Mapping[str, Any], question: FactQuestion) -> Iterator[str]:
    rows = {stamp[:10]: row for stamp, row in sorted(history.items()) if isinstance(row, dict)}
    today = str(question.day)
    picked: dict[str, str] = {}  # a day, and what is told beside its prices
    for date in question.dates:
        if len(date) == 10:
            last = max((day for day in rows if day <= date), default=None)
            if last is not None and (last == date or date <= today):
                picked.setdefault(last, "" if last == date else f" (no trading on {date}; the last day before)")
            continue
        days = [day for day in rows if day.startswith(date)]
        if len(days) <= _MONTH:
            picked |= {day: picked.get(day, "") for day in days}
            continue
        picked |= {days[0]: f" (first day of {date})", days[-1]: f" (last day of {date})"}
        for label, choose, word in _EXTREMES:
            known = {day: rows[day][label] for day in days if isinstance(rows[day].get(label), (int, float))}
            if known:
                best = choose(known, key=known.__getitem__)
                picked[best] = f"{picked.get(best, '')} ({word} {label} of {date})"
    if not picked:
        picked = dict.fromkeys([day for day in rows if day <= today][-_DAYS:], "")
    if today in picked and question.moment.hour < _CLOSING:
        picked[today] += _UNCLOSED
    # What is told beside a day counts before the day itself: lines of one overlap stay in this order.
    latest = sorted(picked, reverse=True)
    for day in sorted(latest, key=lambda day: (-calls.overlap(picked[day]), _UNCLOSED in picked[day])):
        yield f"{subject} | {day}{picked[day]} | {_row(rows[day])}"


def _minutes(subject: str, history: Mapping[str, Any], question: FactQuestion) -> Iterator[str]:
    """The minutes asked about, else how trading began and stood last; of the days asked about, else the last day."""
    stamps = [stamp for stamp in sorted(history) if isinstance(history[stamp], dict)]
    known = dict.fromkeys(stamp[:10] for stamp in stamps)
    days = [day for day in question.dates if day in known] or [day for day in known if day <= str(question.day)][-1:]
    for day in days:
        of_day = [stamp for stamp in stamps if stamp.startswith(day)]
        wanted = [stamp for stamp in of_day if stamp[11:16] in question.entities.times]
        for stamp in wanted or dict.fromkeys((of_day[-1], of_day[0])):
            yield f"{subject} | {stamp[:16]} New York time | {_row(history[stamp])}"


def _row(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{label}: {text}" for label, value in row.items() if (text := format_value(value)))


def _info(subject: str, info: Mapping[str, Any]) -> Iterator[str | None]:
    officers = info.get("companyOfficers")
    for one in officers if isinstance(officers, list) else ():
        if isinstance(one, dict):
            age = f", aged {text}" if (text := field_text(one, "age")) else ""
            yield format_fact(subject, field_text(one, "title") or "officer", field_text(one, "name") + age)
    for label in sorted(info, key=lambda label: _MAIN.index(label) if label in _MAIN else len(_MAIN)):
        if not _NOISE.search(label):
            for name, value in flatten(info[label], label):
                yield format_fact(subject, name, _day(value) if _STAMPED.search(name) else value)
    if isinstance(summary := info.get("longBusinessSummary"), str):
        yield format_fact(subject, "business", truncate(summary, _SUMMARY))


def _day(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and 10**8 < value < 10**10:
        return str(datetime.fromtimestamp(value, UTC).date())
    return value
