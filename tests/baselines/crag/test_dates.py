"""Dates and times in a question: those that stand for themselves, and those that hang on its day."""

from __future__ import annotations

import time
from datetime import date

import pytest

from quadrag.baselines.crag.language.dates import find_dates, find_times

# Dates

DAY = date(2024, 3, 13)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("on february 20, 2024?", "2024-02-20"),
        ("Feb. 20th, 2024", "2024-02-20"),
        ("20 february 2024", "2024-02-20"),
        ("the 20th of February, 2024", "2024-02-20"),
        ("2024-02-20", "2024-02-20"),
        ("2024/2/5", "2024-02-05"),
        ("02/20/2024", "2024-02-20"),
        ("2024-02", "2024-02"),
        ("in march 2023", "2023-03"),
        ("march of 2020", "2020-03"),
        ("over the whole of 2023?", "2023"),
        ("between 2010 and 2015", "2010 2015"),
        ("from february 12 to february 16, 2024", "2024-02-12 2024-02-16"),
        ("of february 9 and 11, 2024", "2024-02-09 2024-02-11"),
        ("march 9-11, 2024", "2024-03-09 2024-03-10 2024-03-11"),
        ("q4 2023", "2023-10 2023-11 2023-12"),
        ("in the first quarter of 2022", "2022-01 2022-02 2022-03"),
    ],
)
def test_dates_that_stand_for_themselves(text, dates):
    assert find_dates(text) == find_dates(text, DAY) == tuple(dates.split())


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("today", "2024-03-13"),
        ("right now", "2024-03-13"),
        ("yesterday's close", "2024-03-12"),
        ("last night", "2024-03-12"),
        ("the day before yesterday", "2024-03-11"),
        ("tomorrow", "2024-03-14"),
        ("last friday", "2024-03-08"),
        ("on friday", "2024-03-08"),
        ("this friday", "2024-03-15"),
        ("next friday", "2024-03-15"),
        ("last wednesday", "2024-03-06"),
        ("on wednesday", "2024-03-13"),
        ("next wednesday", "2024-03-20"),
        ("this week", "2024-03-11 2024-03-12 2024-03-13"),
        ("last week", "2024-03-04 2024-03-05 2024-03-06 2024-03-07 2024-03-08 2024-03-09 2024-03-10"),
        ("last weekend", "2024-03-09 2024-03-10"),
        ("this month", "2024-03"),
        ("last month", "2024-02"),
        ("next month", "2024-04"),
        ("this year", "2024"),
        ("last year", "2023"),
        ("next year", "2025"),
        ("two days ago", "2024-03-11"),
        ("3 weeks ago", "2024-02-21"),
        ("two months ago", "2024-01"),
        ("a year ago", "2023"),
        ("in the past 3 days", "2024-03-11 2024-03-12 2024-03-13"),
        ("last two years", "2023 2024"),
        ("march 9", "2024-03-09"),
        ("on march 15", "2024-03-15"),
        ("december 25", "2023-12-25"),
        ("in june", "2023-06"),
        ("in march", "2024-03"),
    ],
)
def test_dates_that_hang_on_the_day(text, dates):
    assert find_dates(text, DAY) == tuple(dates.split())
    assert find_dates(text) == ()


@pytest.mark.parametrize(
    "text",
    ["", "may i ask", "mars", "$2024", "1990s", "1,2024,000", "version 2.2019", "february 30", "route 66", "12345"],
)
def test_what_is_no_date(text):
    assert find_dates(text, DAY) == ()


def test_dates_at_the_ends_of_the_calendar_and_in_long_texts():
    assert find_dates("last week", date(1, 1, 3)) == () and find_dates("next month", date(9999, 12, 3)) == ()
    assert len(find_dates(" ".join(f"{year}" for year in range(1900, 2000)))) == 31
    began = time.process_time()
    find_dates("30 feb " * 5000, DAY), find_dates("1 and " * 5000, DAY), find_times("1:1 " * 5000)
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("at 10:30 am", "10:30"),
        ("at 3pm est", "15:00"),
        ("01:30 pm PT", "16:30"),
        ("12 am", "00:00"),
        ("12:05 p.m.", "12:05"),
        ("9:45 (pacific)", "12:45"),
        ("14:02:59", "14:02"),
        ("a 3 to 2 game of 2024", ""),
        ("13 pm", ""),
        ("11 pm pt", ""),
    ],
)
def test_times_of_day_are_of_new_york(text, times):
    assert find_times(text) == tuple(times.split())
