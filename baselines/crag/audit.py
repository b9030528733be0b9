"""What may be wrong with CRAG's data: what is dated after the question was asked, pages without a text."""

import email.utils
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from quadrag.audit import Audited, Fault, count_off, shorten
from quadrag.errors import QuadragError

from .entities import find_dates
from .kg.clock import parse


def audit(audited: Audited) -> Iterator[Fault]:
    for place in audited.questions:
        for row in audited.rows(*place):
            for check, evidence in _faults(row):
                yield Fault(*place, row["id"], check, evidence)


def _faults(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    asked = _asked(row["query_time"])
    pages = row.get("search_results", [])
    if asked:
        day = str(asked.date())
        later = [date for date in find_dates(row["answer"] or "") if date > day[: len(date)]]
        if later:
            yield "later_date", f"asked {day}, the answer names {', '.join(later)}: {shorten(row['answer'])}"
        dated = [(f"page[{at}]", when) for at, page in enumerate(pages) if (when := _changed(page)) and when > asked]
        if dated:
            places = count_off([place for place, _ in dated], len(pages))
            latest = max(when for _, when in dated).astimezone(asked.tzinfo)
            yield "later_date", f"asked {asked:%Y-%m-%d %H:%M}, {places} last changed {latest:%Y-%m-%d %H:%M}"
    empty = [f"page[{at}]" for at, text in enumerate(row.get("page_result", ())) if not text.strip()]
    if empty:
        first = pages[int(empty[0][5:-1])]["page_url"]
        yield "broken_reference", f"{count_off(empty, len(pages))} holds no text: {shorten(first)}"


def _asked(query_time: str | None) -> datetime | None:
    try:
        return parse(query_time or "")
    except QuadragError:
        return None


def _changed(page: Mapping[str, str]) -> datetime | None:
    """When a page was last changed, as its server told; None where it did not, as mostly."""
    try:
        changed = email.utils.parsedate_to_datetime(page["page_last_modified"].strip())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return changed if changed.tzinfo else changed.replace(tzinfo=UTC)
