"""Dates and times in a question, as ``dates.yaml`` says: some stand for themselves, others hang on its day."""

from datetime import date
from pathlib import Path

import pytest
import yaml

from quadrag.baselines.crag.language.dates import find_dates, find_times

CASES = yaml.safe_load(Path(__file__).with_name("dates.yaml").read_text(encoding="utf-8"))
DAY = date(2024, 3, 13)  # a Wednesday


@pytest.mark.parametrize(("text", "dates"), CASES["alone"].items())
def test_dates_that_stand_for_themselves(text, dates):
    assert find_dates(text) == find_dates(text, DAY) == tuple(dates.split())


@pytest.mark.parametrize(("text", "dates"), [*CASES["hanging"].items(), *((text, "") for text in CASES["none"])])
def test_dates_that_hang_on_the_day(text, dates):
    assert find_dates(text, DAY) == tuple(dates.split())
    assert find_dates(text) == ()


@pytest.mark.parametrize(("text", "times"), CASES["times"].items())
def test_times_of_day_are_of_new_york(text, times):
    assert find_times(text) == tuple(times.split())


def test_dates_at_the_ends_of_the_calendar_and_in_long_texts():
    assert find_dates("last week", date(1, 1, 3)) == () and find_dates("next month", date(9999, 12, 3)) == ()
    assert len(find_dates(" ".join(f"{year}" for year in range(1900, 2000)))) == 31
    for text in ("30 feb " * 5000, "1 and " * 5000, "1:1 " * 5000):
        assert find_dates(text, DAY) == find_times(text) == ()
