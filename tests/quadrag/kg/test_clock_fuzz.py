"""Many malformed dates and times: refused in one line or read right, and no later row is ever shown.

What a time or a date means is worked out here a second time, by other means than those of `quadrag.kg`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

from quadrag.errors import QuadragError
from quadrag.kg.clock import GraphAt, at, parse
from quadrag.kg.graph import Graph

PACIFIC = ZoneInfo("America/Los_Angeles")
DIGITS = frozenset("0123456789")
_NOISE = (
    "",
    "/",
    ":",
    ",",
    " ",
    "-",
    "0",
    "9",
    "\n",
    "\t",
    "\0",
    "\u0663",
    "\u2212",
    "\u00a0",
    "\ud800",
    "T",
    "Z",
    "%",
    "'",
    "{}",
    "_",
)
_ZONES = (*[" PT"] * 24, " PST", " pt", "PT", "", " EST", " PT PT", " +00:00", " \u0420T")
_OTHERS: tuple[Any, ...] = (
    *(None, 0, -1, 1709143494, 1.5, float("nan"), True, b"02/28/2024, 10:04:54 PT", [], {}, ("02/28/2024",)),
    *("now", "today", "nan", "NaT", "None", "yesterday", "02/28/2024", "10:04:54 PT", "a" * 10_000, "0" * 5000),
    *("02/28/2024, 10:04:54 PT' OR 1=1 --", "02/28/2024, 10:04:54 PT\0", "0x2/28/2024, 10:04:54 PT", "\ufeff"),
    *("+2/28/2024, 10:04:54 PT", "2_2/28/2024, 10:04:54 PT", "02/28/2024 , 10:04:54 PT", "02/28/2024,10:04:54 PT"),
    *(date(2024, 2, 28), datetime(2024, 2, 28, 10, 4, 54), pd.Timestamp("2024-02-28"), pd.NaT),
)


def broken(draw: random.Random, text: str) -> str:
    """Damaged in up to three places, or cut."""
    for _ in range(draw.choice([0, 1, 1, 2, 3])):
        place = draw.randrange(len(text) + 1)
        text = text[:place] + draw.choice(_NOISE) + text[place + draw.randint(0, 2) :]
    return text[: draw.randrange(len(text) + 1)] if draw.random() < 0.05 else text


def query_time(draw: random.Random) -> Any:
    """A question's time with fields in and out of range, then damaged; or something else altogether."""
    if draw.random() < 0.05:
        return draw.choice(_OTHERS)
    wide = draw.choice([0, 0, 0, 0, 0, 0, 1, 2])
    low, high = draw.choice([(2020, 2024), (2020, 2024), (2020, 2024), (1, 9999), (0, 99_999)])
    fields = [
        (1 - wide, 12 + wide),
        (1 - wide, 28 + 2 * wide),
        (low, high),
        (0, 23 + wide),
        (0, 59 + wide),
        (0, 59 + wide),
    ]
    month, day, year, hour, minute, second = (draw.randint(*bounds) for bounds in fields)
    pad = draw.choice(["02", "02", "02", "02", "01", "03"])
    text = f"{month:{pad}}/{day:{pad}}/{year:04}, {hour:{pad}}:{minute:02}:{second:02}{draw.choice(_ZONES)}"
    return broken(draw, text) if draw.random() < 0.5 else text


def meant(text: Any) -> datetime | None:
    """The moment that a text names in upstream's form, None for none; by splitting, not by a pattern."""
    if not isinstance(text, str):
        return None
    head, comma, tail = text.strip().partition(", ")
    clock, zone, rest = tail.partition(" PT")
    fields = [*head.split("/"), *clock.split(":")]
    widths = [(1, 2), (1, 2), (4, 4), (1, 2), (2, 2), (2, 2)]
    if not (comma and zone) or rest or [head.count("/"), clock.count(":")] != [2, 2]:
        return None
    if any(
        not low <= len(field) <= high or set(field) - DIGITS for field, (low, high) in zip(fields, widths, strict=True)
    ):
        return None
    month, day, year, hour, minute, second = map(int, fields)
    try:
        moment = datetime(year, month, day, hour, minute, second)
        moment + timedelta(hours=8)  # which overflows where the calendar of UTC has ended
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=PACIFIC)


@pytest.mark.slow(10_000, 30_000, 2_000_000)
def test_malformed_times(rounds: int) -> None:
    draw = random.Random(2333)
    read = 0
    for _ in range(rounds):
        text = query_time(draw)
        expected = meant(text)
        try:
            found = parse(text)
        except QuadragError as error:
            assert expected is None, text
            assert "\n" not in str(error) and len(str(error)) < 250, text
            continue
        read += 1
        assert expected is not None, text
        assert found == expected and found.replace(tzinfo=None) == expected.replace(tzinfo=None), text
        assert found.utcoffset() == expected.utcoffset(), text
    assert rounds * 0.2 < read < rounds * 0.7, read


@pytest.mark.parametrize("year", [1, 9999])
def test_the_calendar_s_ends_are_read_or_refused(year: int) -> None:
    for moment in (datetime(year, 1, 1) + timedelta(hours=hours) for hours in range(365 * 24)):
        text = f"{moment:%m/%d}/{year:04}, {moment:%H}:59:59 PT"
        if (year, moment.month, moment.day) == (9999, 12, 31) and moment.hour >= 16:
            with pytest.raises(QuadragError, match="is none"):
                parse(text)
        else:
            assert parse(text).replace(tzinfo=None) == moment + timedelta(minutes=59, seconds=59)


# Dates that are asked about, on a graph that holds a game and a chart every ten days of three years.

DAYS = [str(date(2022, 1, 1) + timedelta(days=10 * n)) for n in range(110)]
SHORT = DAYS[50]  # the chart of this day is cut off


@pytest.fixture
def graph(graph_of: Callable[..., Graph]) -> Graph:
    filler = {f"filler{number}": {} for number in range(100)}
    index = [("L", "2324", "A" if n % 2 else "B", f"game {n}") for n in range(len(DAYS))]
    names = ["league", "season", "team", "game"]
    soccer = pd.DataFrame(
        {"date": pd.to_datetime(DAYS), "day": DAYS}, index=pd.MultiIndex.from_tuples(index, names=names)
    )
    teams = {"team_name_home": "A", "team_name_away": "B"}
    charts = {day: [day, "Song", "x", day, "2", "3", "4"][: 3 if day == SHORT else None] for day in DAYS}
    return graph_of(
        {
            "music/artist_dict_simplified.pickle": filler,
            "music/song_dict_simplified.pickle": filler,
            "music/rank_dict_hot100.pickle": {"1": [{"Date": day, "Song": day, "Artist": "x"} for day in DAYS]},
            "music/song_dict_hot100.pickle": {"Song": charts},
            "sports/soccer_team_match_stats.pkl": soccer,
            "sports/nba.sqlite": {
                "game": [{"game_id": str(n), "game_date": f"{day} 00:00:00", **teams} for n, day in enumerate(DAYS)],
                "play_by_play": [{"game_id": str(n), "eventnum": 1} for n in range(len(DAYS))],
            },
        }
    )


def asked_date(draw: random.Random) -> Any:
    """A day, a month or a year that is held or nearly so, then damaged; or something else."""
    if draw.random() < 0.05:
        return draw.choice([other for other in _OTHERS if isinstance(other, str) or other is None])
    text = draw.choice(DAYS)
    shape = draw.choice([text, text, text[:7], text[:4], text + " 00:00:00", text.replace("-0", "-"), text + "-01"])
    return broken(draw, shape) if draw.random() < 0.7 else shape


def prefix(asked: Any) -> list[str] | None:
    """The parts of a date of one to three parts, None where it is none."""
    parts = asked.split("-") if isinstance(asked, str) else []
    sound = len(parts) in (1, 2, 3) and [len(part) for part in parts] == [4, 2, 2][: len(parts)]
    return parts if sound and not set("".join(parts)) - DIGITS else None


def held(asked: Any, today: str) -> list[str]:
    """The days of the graph that a date covers and that are not later than today."""
    parts = prefix(asked)
    days = [day for day in DAYS if day <= today]
    return [day for day in days if parts is not None and day.split("-")[: len(parts)] == parts]


def check(then: GraphAt, today: str, asked: Any, turn: int) -> int:
    """Ask one function about a date; the number of rows shown."""
    if turn == 0:
        games = then.sports_soccer_get_games_on_date(asked)
        found = [] if games is None else list(games["day"].values())
        assert found == held(asked, today), (asked, today)
        assert games is None or [str(cell)[:10] for cell in games["date"].values()] == found
    elif turn == 1:
        games = then.sports_nba_get_games_on_date(asked)
        found = [] if games is None else [str(cell)[:10] for cell in games["game_date"].values()]
        everything = isinstance(asked, str) and asked.count("-") > 2  # as upstream
        expected = [day for day in DAYS if day <= today] if everything else held(asked, today)
        assert found == expected, (asked, today)
        assert games is None or list(games["game_id"]) == [str(n) for n in range(len(found))]
    elif turn == 2:
        songs, _ = then.music_get_billboard_rank_date(1, asked)
        found = songs or []
        expected = [day for day in DAYS if day <= today and (not asked or day == asked)]
        assert found == expected, (asked, today)
    else:
        expected = [asked] if asked in DAYS and asked <= today else []
        try:
            value = then.music_get_billboard_attributes(asked, "rank", "Song")
        except IndexError:  # documented: the chart's row is too short
            assert expected == [SHORT]
            return 0
        found = [] if value is None else [value]
        assert found == expected, (asked, today)
    return len(found)


@pytest.mark.slow(10_000, 30_000, 2_000_000)
def test_malformed_dates_show_nothing_later(graph: Graph, rounds: int) -> None:
    draw = random.Random(2334)
    moments = [f"{day[5:7]}/{day[8:]}/{day[:4]}, {hour}:59:59 PT" for day in DAYS[::4] for hour in ("00", "23")]
    views = [(at(graph, moment), str(parse(moment).date())) for moment in [*moments, "01/01/2000, 00:00:00 PT"]]
    rows = [0, 0, 0, 0]
    for number in range(rounds):
        then, today = draw.choice(views)
        rows[number % 4] += check(then, today, asked_date(draw), number % 4)
    assert min(rows) > rounds / 100, rows


@pytest.mark.slow(500, 2_000, 50_000)
def test_malformed_times_show_nothing_later(graph: Graph, rounds: int) -> None:
    draw = random.Random(2335)
    read = 0
    for _ in range(rounds):
        text = query_time(draw)
        try:
            then = at(graph, text)
        except QuadragError:
            continue
        read += 1
        moment = meant(text) or parse(text)
        today = f"{moment.astimezone(PACIFIC):%Y-%m-%d}".rjust(10, "0")
        for turn, asked in enumerate(("2023", "2022-05", None, draw.choice(DAYS))):
            check(then, today, asked, turn)
        games = then.sports_nba_get_play_by_play_data_by_game_ids([str(n) for n in range(len(DAYS))])
        shown = [] if games is None else [DAYS[int(number)] for number in games["game_id"].values()]
        assert shown == [day for day in DAYS if day <= today]
        assert then.moment.astimezone(UTC) == moment.astimezone(UTC)
    assert read > rounds / 5
