"""The times of questions, and a graph at one: it hides what is later, and nothing else."""

import inspect
import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from quadrag.baselines.crag.kg.clock import GraphAt, at, parse
from quadrag.baselines.crag.kg.graph import Graph
from quadrag.baselines.crag.kg.tools import FUNCTIONS
from quadrag.errors import QuadragError

OPEN = "02/28/2024, 10:04:54 PT"  # a real question's; 13:04:54 in New York


PLAYS = "sports_nba_get_play_by_play_data_by_game_ids"
OSCARS = [{"year_ceremony": 2011}, {"year_ceremony": 2025}]
FILMS: dict[int, dict[str, Any]] = {
    1: {"id": 1, "title": "Old film", "release_date": "2010-05-01", "oscar_awards": OSCARS},
    2: {"id": 2, "title": "New film", "release_date": "2024-02-29"},
    3: {"id": 3, "title": "Some film", "release_date": ""},
    4: {"id": 4, "title": "Torn film", "release_date": "soon"},
}
SUMMER: dict[str, Any] = {"2023-07-24 00:00:00 EST": {}, "2023-07-25 00:00:00 EDT": {}}
MINUTES = [f"2024-02-28 {time} EST" for time in ("13:04:00", "13:04:54", "10:05:00", "13:05:00")]


def files() -> dict[str, Any]:
    """A graph with something earlier and something later than most of the times below, in every domain."""
    filler = {f"filler{number}": {} for number in range(100)}
    soccer = pd.DataFrame(
        {"date": pd.to_datetime(["2024-02-27", "2024-02-28", "2024-02-29", None]), "result": ["W", "L", "D", None]},
        index=pd.MultiIndex.from_tuples(
            [("L", "2324", "A", f"game {n}") for n in range(4)], names=["league", "season", "team", "game"]
        ),
    )
    names = ("team_name_home", "team_name_away")
    nba = {
        "game": [
            {"game_id": str(n), "game_date": f"2024-02-{day} 00:00:00", **dict.fromkeys(names, "A")}
            for n, day in enumerate((29, 27, 28))
        ],
        "play_by_play": [{"game_id": str(n), "eventnum": 1} for n in (0, 1, 2, 9)],
    }
    charts = {day: [day, "Song", "Artist", "1", "2", "3", "4"] for day in ("2024-02-24", "2024-03-02")}
    return {
        "open/kg.0.jsonl.bz2": [["Florida", {"summary_text": "a state"}]],
        "movie/movie_db.json": {
            **{film["title"].lower(): film for film in FILMS.values()},
            **{f"film{n} filler{n}": {"id": n} for n in range(10, 20)},
        },
        "movie/person_db.json": {
            "ann": {"id": 7, "birthday": "2030-01-01", "oscar_awards": [{"year_ceremony": 2025}, {}, None]}
        },
        "movie/year_db.json": {"1995": {"movie_list": [1]}, "2021": {"movie_list": [2]}},
        "finance/finance_price.sqlite": {
            "A": {f"2024-02-{day} 00:00:00 EST": {"Close": day} for day in (27, 28, 29)} | {"some day": {"Close": 0}},
            "SUMMER": SUMMER,
        },
        "finance/finance_detailed_price.sqlite": {"A": {key: {} for key in MINUTES}},
        "finance/finance_dividend.sqlite": {"A": {"2024-02-21 00:00:00 EST": 0.5, "2024-03-01 00:00:00 EST": 0.5}},
        "finance/finance_marketcap.sqlite": {"A": 5.0},
        "finance/finance_info.sqlite": {"A": {"forwardEps": 1.5, "forwardPE": 20.0}},
        "music/artist_dict_simplified.pickle": {
            "A": {"country": "US", "birth_date": "1950", "end_date": "2024-02-29", "members": ["x"]},
            "B": {"country": "US", "birth_date": "1950-01", "end_date": "2024-02", "members": []},
            **filler,
        },
        "music/song_dict_simplified.pickle": {
            "Old": {"author": "A", "country": "US", "date": "2024-02"},
            "New": {"author": "A", "country": "US", "date": "2024-03"},
            "Undated": {"author": "A", "country": "US", "date": None},
            **filler,
        },
        "music/rank_dict_hot100.pickle": {
            "1": [
                {"Date": "2024-02-24", "Song": "s1", "Artist": "a1"},
                {"Date": "2024-03-02", "Song": "s2", "Artist": "a2"},
            ],
            "2": [{"Date": "2024-03-02", "Song": "s3", "Artist": "a3"}],
        },
        "music/song_dict_hot100.pickle": {"Song": charts},
        "music/grammy_df.pickle": pd.DataFrame(
            {
                "year": [2012, 2013],
                "category": ["Best New Artist"] * 2,
                "nominee": ["X", "Y"],
                "artist": ["Z", "Z"],
                "workers": [None, None],
            }
        ),
        "sports/soccer_team_match_stats.pkl": soccer,
        "sports/nba.sqlite": nba,
    }


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept") / "kg.sqlite"


@pytest.fixture
def graph(kept: Path, request: pytest.FixtureRequest) -> Iterator[Graph]:
    """The graph of `files`, built for the first test and opened anew for each."""
    if not kept.is_file():
        shutil.copyfile(request.getfixturevalue("graph_of")(files()).path, kept)
    with closing(Graph(kept)) as opened:
        yield opened


BEFORE = "02/27/2024, 23:59:59 PT"  # the snapshot of the companies' figures
CAN = "02/28/2024, 00:00:00 PT"
Y2012, Y2020, Y2025 = (f"06/01/{year}, 00:00:00 PT" for year in (2012, 2020, 2025))
FIGURES = {"market_capitalization": 5.0, "eps": 1.5, "pe_ratio": 20.0, "info": {"forwardEps": 1.5, "forwardPE": 20.0}}
SONG = [f"music_get_song_{field}" for field in ("author", "release_country", "release_date")]


def days(*stamps: str) -> dict[str, Any]:
    """The prices of A on these days."""
    return {f"2024-02-{day} 00:00:00 EST": {"Close": int(day)} for day in stamps}


@pytest.mark.parametrize(
    ("time", "name", "arguments", "expected"),
    [
        # A day's prices carry its midnight in New York; what carries no readable stamp cannot be said to be earlier.
        (OPEN, "finance_get_price_history", ["A"], days("27", "28")),
        ("02/27/2024, 20:59:59 PT", "finance_get_price_history", ["A"], days("27")),
        ("02/27/2024, 21:00:00 PT", "finance_get_price_history", ["A"], days("27", "28")),
        # In summer the exchange is three hours ahead too: with EST taken for UTC-5 the second row would come at 22:00.
        ("07/24/2023, 20:59:59 PT", "finance_get_price_history", ["SUMMER"], {"2023-07-24 00:00:00 EST": {}}),
        ("07/24/2023, 21:00:00 PT", "finance_get_price_history", ["SUMMER"], SUMMER),
        (OPEN, "finance_get_detailed_price_history", ["A"], {key: {} for key in MINUTES[:3]}),
        (OPEN, "finance_get_dividends_history", ["A"], {"2024-02-21 00:00:00 EST": 0.5}),
        ("01/01/2024, 00:00:00 PT", "finance_get_dividends_history", ["A"], {}),
        (OPEN, "finance_get_dividends_history", ["unknown"], None),
        *((BEFORE, f"finance_get_{name}", ["A"], None) for name in FIGURES),
        *((CAN, f"finance_get_{name}", ["A"], value) for name, value in FIGURES.items()),
        (OPEN, "open_get_entity", ["Florida"], {"summary_text": "a state", "undated": True}),
        (OPEN, "open_get_entity", ["unknown"], None),
        # Of film 4 the date cannot be read; film 3 has none.
        *((OPEN, "movie_get_movie_info_by_id", [number], None) for number in (2, 4)),
        (OPEN, "movie_get_movie_info_by_id", [3], FILMS[3]),
        ("02/29/2024, 00:00:00 PT", "movie_get_movie_info_by_id", [2], FILMS[2]),
        (OPEN, "movie_get_movie_info_by_id", [1], {**FILMS[1], "oscar_awards": [{"year_ceremony": 2011}]}),
        (Y2025, "movie_get_movie_info_by_id", [1], FILMS[1]),
        (OPEN, "movie_get_movie_info", ["film"], [{**FILMS[1], "oscar_awards": [{"year_ceremony": 2011}]}, FILMS[3]]),
        (OPEN, "movie_get_person_info", ["Ann"], [{"id": 7, "birthday": "2030-01-01", "oscar_awards": []}]),
        (OPEN, "movie_get_person_info_by_id", [7], {"id": 7, "birthday": "2030-01-01", "oscar_awards": []}),
        (Y2020, "movie_get_year_info", ["1995"], {"movie_list": [1]}),
        (OPEN, "movie_get_year_info", ["2021"], {"movie_list": [2]}),
        (OPEN, "music_get_billboard_rank_date", [1], [["s1"], ["a1"]]),
        (OPEN, "music_get_billboard_rank_date", [1, "2024-02-24"], [["s1"], ["a1"]]),
        (OPEN, "music_get_billboard_rank_date", [1, "2024-03-02"], [[], []]),
        (OPEN, "music_get_billboard_rank_date", [2], [None, None]),  # as a rank nobody has held
        ("03/02/2024, 00:00:00 PT", "music_get_billboard_rank_date", [1], [["s1", "s2"], ["a1", "a2"]]),
        (OPEN, "music_get_billboard_attributes", ["2024-02-24", "rank", "Song"], "1"),
        (OPEN, "music_get_billboard_attributes", ["2024-03-02", "rank", "Song"], None),
        (Y2012, "music_grammy_get_award_count_by_artist", ["Z"], 1),
        (OPEN, "music_grammy_get_award_count_by_artist", ["Z"], 2),
        (Y2012, "music_grammy_get_award_count_by_song", ["Y"], 0),
        (Y2012, "music_grammy_get_award_date_by_artist", ["Z"], [2012]),
        (Y2012, "music_grammy_get_all_awarded_artists", [], ["X"]),
        (Y2012, "music_grammy_get_best_artist_by_year", [2012], ["X"]),
        (Y2012, "music_grammy_get_best_artist_by_year", [2013], []),
        (OPEN, "music_get_lifespan", ["A"], ["1950", None]),
        (OPEN, "music_get_lifespan", ["B"], ["1950-01", "2024-02"]),
        (OPEN, "music_get_artist_birth_date", ["A"], "1950"),
        (OPEN, "music_get_artist_birth_place", ["A"], "US"),
        (OPEN, "music_get_members", ["A"], ["x"]),
        *((OPEN, name, ["Old"], value) for name, value in zip(SONG, ("A", "US", "2024-02"), strict=True)),
        *((OPEN, name, ["New"], None) for name in SONG),
        *((OPEN, name, ["Undated"], value) for name, value in zip(SONG, ("A", "US", None), strict=True)),
        (OPEN, "sports_soccer_get_games_on_date", ["2024-02-29"], None),
        (OPEN, "sports_nba_get_games_on_date", ["2024-02-29"], None),
        *((OPEN, PLAYS, [games], None) for games in (["0"], "0")),
    ],
)  # fmt: skip
def test_what_is_later_is_hidden(graph: Graph, time: str, name: str, arguments: list[Any], expected: Any) -> None:
    hidden = expected in (None, [None, None], [[], []], {}, []) and arguments[0] not in ("unknown", "0", "Undated")
    assert getattr(at(graph, time), name)(*arguments) == expected
    assert not hidden or getattr(graph, name)(*arguments) != expected, "it is there, and another time shows it"


def test_later_film_years_are_unknown(graph: Graph) -> None:
    with pytest.raises(QuadragError, match="'2021'"):
        at(graph, Y2020).movie_get_year_info("2021")


def test_games(graph: Graph) -> None:
    then = at(graph, OPEN)
    soccer, nba = then.sports_soccer_get_games_on_date("2024-02"), then.sports_nba_get_games_on_date("2024-02")
    # Game 0 is later, and of game 9 nobody knows the day.
    plays = then.sports_nba_get_play_by_play_data_by_game_ids(["0", "2", "1", "9"])
    assert soccer and list(soccer["result"].values()) == ["W", "L"]
    assert nba and nba["game_id"] == plays["game_id"] == {"0": "1", "1": "2"}


LATE = "01/01/2099, 00:00:00 PT"
ASKED: dict[str, list[Any]] = {
    "movie_get_movie_info_by_id": [1],
    "movie_get_person_info_by_id": [7],
    "movie_get_year_info": ["1995"],
    "music_get_billboard_rank_date": [1],
    "music_get_billboard_attributes": ["2024-02-24", "rank", "Song"],
    "sports_soccer_get_games_on_date": ["2024"],
    "sports_nba_get_games_on_date": ["2024"],
    PLAYS: [["0", "1", "2"]],
}


def test_long_after_everything_nothing_is_hidden(graph: Graph) -> None:
    then = at(graph, LATE)
    for name, function in FUNCTIONS.items():
        if "finance_get_company" in name or "ticker" in name or name == "music_get_artist_all_works":
            continue  # this graph was built without their files
        integer = any(one.kind == "int" for one in function.parameters.values())
        values = ASKED.get(name, ([2012] if integer else ["A"]) if function.parameters else [])
        expected = getattr(graph, name)(*values)
        found = getattr(then, name)(*values)
        if name == "finance_get_price_history":
            expected.pop("some day")
        if name == "sports_soccer_get_games_on_date":
            assert len(found["date"]) == len(expected["date"]) == 3
        if name == "movie_get_person_info_by_id":
            expected["oscar_awards"] = [{"year_ceremony": 2025}]
        assert found == expected, name


def test_a_graph_at_a_time_is_called_as_the_graph() -> None:
    for name in FUNCTIONS:
        ours, theirs = (inspect.signature(getattr(cls, name)).parameters for cls in (GraphAt, Graph))
        assert list(ours) == list(theirs)
        assert [one.default for one in ours.values()] == [one.default for one in theirs.values()]


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
        *("", "2024-02-28 10:04:54", "02/28/2024, 10:04:54", "02/28/2024, 10:04:54 EST", "02/30/2024, 10:04:54 PT"),
        *("13/01/2024, 10:04:54 PT", "02/28/2024, 24:00:00 PT", "02/28/0000, 10:04:54 PT", "12/31/9999, 23:59:59 PT"),
        *(None, 1709143494),
    ],
)
def test_what_is_no_time_gets_one_line(text: Any) -> None:
    with pytest.raises(QuadragError, match="MM/DD/YYYY, HH:MM:SS PT"):
        parse(text)


@pytest.mark.slow(300, 3_000, 200_000)
def test_whatever_date_is_asked_about_nothing_later_is_shown(graph: Graph, rounds: int) -> None:
    draw = random.Random(2334)
    dates = ["2024-02-27", "2024-02-28", "2024-02-29", "2024-02", "2024", "2024-03-02", "---", "2024-02-28 00:00:00"]
    for _ in range(rounds):
        today = f"2024-02-{draw.randint(26, 29)}"
        then = at(graph, f"02/{today[-2:]}/2024, {draw.choice(['00:00:00', '23:59:59'])} PT")
        asked = draw.choice(dates)
        place = draw.randrange(len(asked))
        asked = (
            asked[:place] + draw.choice(["", "-", "0", "\u0663", "\0", "'", " "]) + asked[place + draw.randint(0, 1) :]
        )
        for games, column in (
            (then.sports_soccer_get_games_on_date(asked), "date"),
            (then.sports_nba_get_games_on_date(asked), "game_date"),
        ):
            assert games is None or all(str(day)[:10] <= today for day in games[column].values()), (asked, today)
        songs, _ = then.music_get_billboard_rank_date(1, asked)
        assert "s2" not in (songs or []), (asked, today)
