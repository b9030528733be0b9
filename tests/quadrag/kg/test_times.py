"""The times of questions: read as they are written, or refused in one line."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadrag.errors import QuadragError
from quadrag.kg.clock import parse


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("02/28/2024, 10:04:54 PT", "2024-02-28T18:04:54"),  # winter: 8 hours
        ("03/13/2024, 08:29:31 PT", "2024-03-13T15:29:31"),  # summer time since 10 March: 7 hours
        ("03/05/2024, 23:18:31 PT", "2024-03-06T07:18:31"),
        (" 3/5/2024, 1:02:03 PT\n", "2024-03-05T09:02:03"),
        ("11/03/2024, 01:30:00 PT", "2024-11-03T08:30:00"),  # twice on that night: the first
    ],
)
def test_times_of_questions(text: str, utc: str) -> None:
    assert parse(text).astimezone(UTC).isoformat() == utc + "+00:00"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024-02-28 10:04:54",
        "02/28/2024, 10:04:54",
        "02/28/2024, 10:04:54 EST",
        "02/30/2024, 10:04:54 PT",
        "13/01/2024, 10:04:54 PT",
        "02/28/2024, 24:00:00 PT",
        "02/28/0000, 10:04:54 PT",
        "12/31/9999, 23:59:59 PT",
        "٠٢/28/2024, 10:04:54 PT",
        None,
        1709143494,
    ],
)
def test_what_is_no_time_gets_one_line(text: Any) -> None:
    with pytest.raises(QuadragError, match="expected MM/DD/YYYY, HH:MM:SS PT") as caught:
        parse(text)
    assert "\n" not in str(caught.value)


@given(st.text() | st.from_regex(r"\d{1,2}/\d{1,2}/\d{4}, \d{1,2}:\d\d:\d\d PT", fullmatch=True))
def test_any_text_is_a_time_or_refused(text: str) -> None:
    try:
        moment = parse(text)
    except QuadragError as error:
        assert "\n" not in str(error)
        return
    stated = text.strip()
    month, day, year = stated.split(",")[0].split("/")
    assert (moment.year, moment.month, moment.day) == (int(year), int(month), int(day))
    assert moment.utcoffset() is not None
