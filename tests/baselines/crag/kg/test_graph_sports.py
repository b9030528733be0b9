"""The functions of sports on small graphs: games, teams and plays, by the rules that the specification has."""

import json
import math
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from quadrag.baselines.crag.kg.graph import Graph

INJECTIONS = ["' OR '1'='1", "'; DROP TABLE soccer; --", '" OR 1=1 --', "%", "_", "*", "a\x00b", "\ud800", "Everton'--"]
# sports

GAMES = [
    (("ENG-Premier League", "2324", "Everton", "2024-03-09 Manchester Utd-Everton"), "2024-03-09", "0", 1.6),
    (("ENG-Premier League", "2324", "Manchester Utd", "2024-03-09 Manchester Utd-Everton"), "2024-03-09", "2", 2.7),
    (("ENG-Premier League", "2324", "Everton", "2024-03-30 Bournemouth-Everton"), "2024-03-30", "1", 1 / 3),
    (("ESP-La Liga", "2223", "Almería", "2023-03-09 Nott'ham-Almería"), "2023-03-09", "1", math.nan),
    ((math.nan, "2324", "Everton", "2024-03-09 of no league"), "2024-03-09", "9", 9.0),
    (("ESP-La Liga", "2223", "Almería", "undated"), None, "1", 0.5),
]
NBA = [
    {"game_id": f"002220000{n}", "game_date": f"{day} 00:00:00", "team_name_home": home, "team_name_away": away,
     "pts": pts}
    for n, (day, home, away, pts) in enumerate(
        [("2022-10-11", "Bulls", "Bucks", 127.0), ("2022-10-12", "Jazz", "Bulls", None),
         ("2023-10-11", "Jazz", "Bucks", 1 / 3), ("2022-01-05", "Bulls", "Jazz", 3)]
    )
]  # fmt: skip
PLAYS = [{"game_id": "0022200000", "eventnum": 2, "note": None}, {"game_id": "0022200001", "eventnum": 4, "note": "x"},
         {"game_id": "0022200000", "eventnum": 7, "note": "y"}]  # fmt: skip
SPORTS = {
    "sports/soccer_team_match_stats.pkl": pd.DataFrame(
        {"date": pd.to_datetime([date for _, date, *_ in GAMES]), "GF": [goals for *_, goals, _ in GAMES],
         "xG": [expected for *_, expected in GAMES]},
        index=pd.MultiIndex.from_tuples([label for label, *_ in GAMES], names=["league", "season", "team", "game"]),
    ),
    "sports/nba.sqlite": {"game": NBA, "play_by_play": PLAYS},
}  # fmt: skip


@pytest.fixture
def sports(graph_of: Callable[..., Graph]) -> Graph:
    return graph_of(SPORTS)


def test_soccer_games_are_columns_of_printed_tuples(sports: Graph) -> None:
    label = "('ENG-Premier League', '2324', 'Everton', '2024-03-09 Manchester Utd-Everton')"
    assert sports.sports_soccer_get_games_on_date("2024-03-09", "Everton") == {
        "date": {label: "2024-03-09T00:00:00.000"},
        "GF": {label: "0"},
        "xG": {label: 1.6},
    }
    quoted = sports.sports_soccer_get_games_on_date("2023-03-09")
    assert quoted is not None
    assert quoted["xG"] == {"('ESP-La Liga', '2223', 'Almería', \"2023-03-09 Nott'ham-Almería\")": None}


def test_soccer_rows_of_no_league_are_dropped_and_floats_have_ten_decimals(sports: Graph) -> None:
    month = sports.sports_soccer_get_games_on_date("2024-03")
    assert month is not None
    assert list(month["GF"].values()) == ["0", "2", "1"]
    assert list(month["xG"].values()) == [1.6, 2.7, 0.3333333333]
    assert sports.sports_soccer_get_games_on_date("2024-03", "") == month


def test_soccer_is_what_pandas_writes(sports: Graph) -> None:
    frame = SPORTS["sports/soccer_team_match_stats.pkl"]
    assert isinstance(frame, pd.DataFrame)
    frame = frame[frame.index.get_level_values("league").notna()]
    for year in ("2023", "2024"):
        part = frame[frame["date"].dt.strftime("%Y") == year]
        assert sports.sports_soccer_get_games_on_date(year) == json.loads(part.to_json(date_format="iso"))


def test_nba_games_are_columns_of_numbered_rows(sports: Graph) -> None:
    found = sports.sports_nba_get_games_on_date("2022-10")
    assert found == {
        "game_id": {"0": "0022200000", "1": "0022200001"},
        "game_date": {"0": "2022-10-11 00:00:00", "1": "2022-10-12 00:00:00"},
        "team_name_home": {"0": "Bulls", "1": "Jazz"},
        "team_name_away": {"0": "Bucks", "1": "Bulls"},
        "pts": {"0": 127.0, "1": None},
    }
    home_or_away = sports.sports_nba_get_games_on_date("2022", "Bulls")
    assert home_or_away is not None
    assert list(home_or_away["game_id"].values()) == ["0022200000", "0022200001", "0022200003"]
    # Beside a null and a float a whole number is a float, as in pandas.
    assert str(list(home_or_away["pts"].values())) == "[127.0, None, 3.0]"
    alone = sports.sports_nba_get_games_on_date("2022-01-05")
    assert alone is not None
    assert str(alone["pts"]) == "{'0': 3}"


def test_a_date_of_four_parts_is_no_soccer_and_every_nba_game(sports: Graph) -> None:
    assert sports.sports_soccer_get_games_on_date("2024-03-09-1") is None
    every = sports.sports_nba_get_games_on_date("2024-03-09-1")
    assert every is not None
    assert len(every["game_id"]) == len(NBA)
    bucks = sports.sports_nba_get_games_on_date("---", "Bucks")
    assert bucks is not None
    assert len(bucks["game_id"]) == 2


NO_DATES = ["", "24", "2024-3-9", "2024-03-9", "2024-3", "20", "2024-", "2024-03-", "24-03-09", " 2024", "2024/03/09",
            "２０２４", "2024-03-09T00", "x-y-z", *INJECTIONS, None, 2024, ["2024"]]  # fmt: skip


@pytest.mark.parametrize("date", NO_DATES)
def test_what_is_no_date_gives_null(sports: Graph, date: Any) -> None:
    assert sports.sports_soccer_get_games_on_date(date) is None
    assert sports.sports_nba_get_games_on_date(date) is None


@pytest.mark.parametrize("team", [*INJECTIONS, "everton", "Everton ", "Ever"])
def test_teams_are_exact_and_nothing_is_interpolated(sports: Graph, team: str) -> None:
    assert sports.sports_soccer_get_games_on_date("2024", team) is None
    assert sports.sports_nba_get_games_on_date("2022", team) is None
    assert sports.sports_nba_get_play_by_play_data_by_game_ids([team]) is None
    assert sports.sports_soccer_get_games_on_date("2024", "Everton") is not None


def test_plays_are_those_of_the_games_in_file_order(sports: Graph) -> None:
    ask = sports.sports_nba_get_play_by_play_data_by_game_ids
    assert ask(["0022200000"]) == {
        "game_id": {"0": "0022200000", "1": "0022200000"},
        "eventnum": {"0": 2, "1": 7},
        "note": {"0": None, "1": "y"},
    }
    both = ask(["0022200001", "0022200000", "0022200000", *map(str, range(50_000))])
    assert both is not None
    assert list(both["eventnum"].values()) == [2, 4, 7]
    for ids in ([], ["22200000"], [22200000], "0022200000", None, [None], [["0022200000"]]):
        assert ask(ids) is None  # type: ignore[arg-type]


def test_rows_that_share_a_label_give_null(graph_of: Callable[..., Graph]) -> None:
    labels = [("L", "2324", "A", "g"), ("L", "2324", "A", "g"), ("L", "2324", "B", "g")]
    graph = graph_of(
        {
            "sports/soccer_team_match_stats.pkl": pd.DataFrame(
                {"date": pd.to_datetime(["2024-01-01"] * 3)},
                index=pd.MultiIndex.from_tuples(labels, names=["league", "season", "team", "game"]),
            )
        }
    )
    assert graph.sports_soccer_get_games_on_date("2024") is None
    assert graph.sports_soccer_get_games_on_date("2024", "B") is not None
