"""The 38 functions on two small graphs, by ``calls.yaml``: look-up, dates, nulls, errors, and what is later."""

import datetime
import json
import math
import random
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from quadrag.baselines.crag.kg.build import build
from quadrag.baselines.crag.kg.clock import GraphAt, parse
from quadrag.baselines.crag.kg.graph import Graph
from quadrag.baselines.crag.kg.search import normalise
from quadrag.baselines.crag.kg.server import FUNCTIONS
from quadrag.errors import QuadragError

FILLER: dict[str, dict[str, Any]] = {f"filler{number}": {} for number in range(400)}
INJECTIONS = ["' OR '1'='1", "'; DROP TABLE soccer; --", '" OR 1=1 --', "%", "_", "*", "a\x00b", "\ud800", "Everton'--"]
LEVELS = ["league", "season", "team", "game"]


class Plain(yaml.SafeLoader):
    """YAML without dates."""


Plain.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
CALLS, GRAPHS = (
    yaml.load(Path(__file__).with_name(name).read_text(encoding="utf-8"), Plain)
    for name in ("calls.yaml", "graphs.yaml")
)
GAME = ("game_id", "game_date", "team_name_home", "team_name_away", "pts")


def upstream_file(name: str, value: Any) -> Any:
    """What `write_upstream` takes of a file of ``graphs.yaml``."""
    if name.startswith("open"):
        return [*value.items(), *((f"Place {filler}", {}) for filler in FILLER)]
    if name == "finance/company_name.dict":
        return [*value, *([filler, "X"] for filler in FILLER)]
    if name == "music/grammy_df.pickle":
        return pd.DataFrame(value, columns=["year", "category", "nominee", "artist", "workers"])
    if name == "sports/soccer_team_match_stats.pkl":
        labels = [[math.nan if part is None else part for part in row[:4]] for row in value]
        frame = pd.DataFrame([row[4:] for row in value], columns=["date", "GF", "xG"][: len(value[0]) - 4])
        frame.index = pd.MultiIndex.from_tuples(map(tuple, labels), names=LEVELS)
        return frame.assign(date=pd.to_datetime(frame["date"]))
    if name == "sports/nba.sqlite":
        columns = {"game": GAME, "play_by_play": ("game_id", "eventnum", "note")}
        return {table: [dict(zip(columns[table], row, strict=False)) for row in rows] for table, rows in value.items()}
    searched = name.startswith(("movie/movie", "movie/person", "music/artist_dict", "music/song_dict_s"))
    return {**value, **FILLER} if searched else value


RULES, CLOCK = (
    {name: upstream_file(name, value) for name, value in GRAPHS[graph].items()} for graph in ("rules", "clock")
)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory, write_upstream: Any) -> Iterator[dict[str, Graph]]:
    """Both graphs, by their names in ``calls.yaml``."""
    opened = {}
    for name, files in {"rules": RULES, "clock": CLOCK}.items():
        root = tmp_path_factory.mktemp(name)
        for file, value in files.items():
            write_upstream(root / "src" / file, value)
        build(root / "src", root / "kg.sqlite")
        opened[name] = Graph(root / "kg.sqlite")
    yield opened
    for graph in opened.values():
        graph.close()


CASES = [(graph, name, case) for graph, calls in CALLS.items() for name, cases in calls.items() for case in cases]


@pytest.mark.parametrize(("graph", "name", "case"), CASES, ids=lambda value: str(value)[:50])
def test_a_call(graphs: dict[str, Graph], graph: str, name: str, case: list[Any]) -> None:
    *time, arguments, expected = case
    asked = GraphAt(graphs[graph], time[0]) if time else graphs[graph]
    arguments = arguments if isinstance(arguments, list) else [arguments]
    if expected == "error":
        with pytest.raises((QuadragError, ValueError, IndexError)):
            getattr(asked, name)(*arguments)
        return
    found = getattr(asked, name)(*arguments)
    # As text: a whole number is none with a point.
    assert json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)


def test_the_table_has_every_function() -> None:
    assert set(CALLS["rules"]) == set(FUNCTIONS)


OF_TEXTS = {name: [one.kind for one in function.parameters.values()] for name, function in FUNCTIONS.items()}


@pytest.mark.parametrize("name", [n for n, kinds in OF_TEXTS.items() if {*kinds} == {"str"} and "year" not in n])
def test_hostile_texts_are_names_like_any_other(graphs: dict[str, Graph], name: str) -> None:
    for text in INJECTIONS:
        found = getattr(graphs["rules"], name)(*[text] * len(OF_TEXTS[name]))
        assert not found or found == [None, None] or "award_count" in name
    assert graphs["rules"].sports_soccer_get_games_on_date("2024", "Everton") is not None


NO_DATES = ["", "24", "2024-3-9", "2024-03-9", "2024-3", "20", "2024-", "2024-03-", "24-03-09", " 2024", "2024/03/09",
            "２０２４", "2024-03-09T00", "x-y-z", *INJECTIONS, None, 2024, ["2024"]]  # fmt: skip


def test_what_is_no_date_gives_null_and_one_of_four_parts_every_nba_game(graphs: dict[str, Graph]) -> None:
    graph = graphs["rules"]
    for date in NO_DATES:
        assert graph.sports_soccer_get_games_on_date(date) is None, date
        assert graph.sports_nba_get_games_on_date(date) is None, date
    every = graph.sports_nba_get_games_on_date("2024-03-09-1")
    assert every is not None and len(every["game_id"]) == 4
    many = graph.sports_nba_get_play_by_play_data_by_game_ids(["01", "00", *map(str, range(50_000))])
    assert many is not None and list(many["eventnum"].values()) == [2, 4, 7]


def test_soccer_is_what_pandas_writes(graphs: dict[str, Graph]) -> None:
    frame = RULES["sports/soccer_team_match_stats.pkl"]
    frame = frame[frame.index.get_level_values("league").notna()]
    for year in ("2023", "2024"):
        part = frame[frame["date"].dt.strftime("%Y") == year]
        assert graphs["rules"].sports_soccer_get_games_on_date(year) == json.loads(part.to_json(date_format="iso"))


@given(query=st.text(max_size=30))
def test_any_text_may_be_asked_for(graphs: dict[str, Graph], query: str) -> None:
    for name in ("open_search_entity_by_name", "finance_get_company_name", "music_search_song_entity_by_name"):
        found = getattr(graphs["rules"], name)(query)
        assert len(found) <= 10
        assert all(set(normalise(query).split()) & set(normalise(title).split()) for title in found)
    assert graphs["rules"].sports_soccer_get_games_on_date(query) is None


NAMES = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=8, unique=True)


@settings(max_examples=30)
@given(names=NAMES)
def test_every_name_is_found_by_itself_and_by_its_normal_form(write_upstream: Any, names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        titles = [[name, {"n": n}] for n, name in enumerate(names)]
        write_upstream(root / "src/open/kg.0.jsonl.bz2", titles + [[name, {}] for name in FILLER])
        build(root / "src", root / "kg.sqlite")
        with Graph(root / "kg.sqlite") as graph:
            for n, name in enumerate(names):
                assert graph.open_get_entity(name) == {"n": n}
                alike = [other for other in names if normalise(other) == normalise(name)]
                if normalise(name):  # a name of punctuation alone has no term to be found by
                    for query in (name, normalise(name)):
                        found = graph.open_search_entity_by_name(query)
                        assert [other for other in found if other in alike] == alike


def test_members_keep_the_order_of_a_pickled_set(graph_of: Callable[..., Graph]) -> None:
    members = {"James", "Matt", "Ryan", "Mickey", "Jesse", "Adam"}
    graph = graph_of({"music/artist_dict_simplified.pickle": {"Maroon 5": {"members": members}}})
    assert graph.music_get_members("Maroon 5") == list(members)


DATES = st.dates(datetime.date(2021, 6, 1), datetime.date(2025, 6, 1)).map(str)
ASKED = (
    DATES
    | DATES.map(lambda day: day[:7])
    | DATES.map(lambda day: day[:4])
    | st.sampled_from(["2022-10-11", "2023-03-09", "2022-10", "2024-03", *NO_DATES[:10]])
)


@given(date=ASKED | st.from_regex(r"\A[0-9]{0,5}(-[0-9]{0,3}){0,2}\Z"))
def test_a_date_stands_for_the_rows_whose_date_begins_with_its_parts(graphs: dict[str, Graph], date: str) -> None:
    length = {1: 4, 2: 7, 3: 10}[min(len(date.split("-")), 3)]
    games = [str(game["game_date"])[:10] for game in RULES["sports/nba.sqlite"]["game"]]
    found = graphs["rules"].sports_nba_get_games_on_date(date)
    expected = [day for day in games if day[:length] == date]
    assert [value[:10] for value in (found or {"game_date": {}})["game_date"].values()] == expected
    frame = RULES["sports/soccer_team_match_stats.pkl"].iloc[:3]
    played = graphs["rules"].sports_soccer_get_games_on_date(date)
    expected = [str(day)[:10] for day in frame["date"] if str(day)[:length] == date]
    assert date[:4] == "2025" or [day[:10] for day in (played or {"date": {}})["date"].values()] == expected


# The times of questions.


def test_long_after_everything_nothing_is_hidden(graphs: dict[str, Graph]) -> None:
    then = GraphAt(graphs["rules"], "01/01/2099, 00:00:00 PT")
    for name, cases in CALLS["rules"].items():
        for arguments, expected in cases:
            if expected != "error" and name != "open_get_entity":
                found = getattr(then, name)(*(arguments if isinstance(arguments, list) else [arguments]))
                assert found == expected, name


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("02/28/2024, 10:04:54 PT", "2024-02-28T18:04:54"),  # winter: 8 hours
        ("03/13/2024, 08:29:31 PT", "2024-03-13T15:29:31"),  # summer time since 10 March: 7 hours
        (" 3/5/2024, 1:02:03 PT\n", "2024-03-05T09:02:03"),
        ("11/03/2024, 01:30:00 PT", "2024-11-03T08:30:00"),  # twice on that night: the first
        *((text, None) for text in ("", "2024-02-28 10:04:54", "02/28/2024, 10:04:54", "02/28/2024, 10:04:54 EST")),
        *((text, None) for text in ("02/30/2024, 10:04:54 PT", "13/01/2024, 10:04:54 PT", "02/28/2024, 24:00:00 PT")),
        *((text, None) for text in ("02/28/0000, 10:04:54 PT", "12/31/9999, 23:59:59 PT", None, 1709143494)),
    ],
)
def test_times_of_questions(text: Any, utc: str | None) -> None:
    if utc:
        assert parse(text).astimezone(UTC).isoformat() == utc + "+00:00"
    else:
        with pytest.raises(QuadragError, match=r"^[^\n]*$"):
            parse(text)


@pytest.mark.slow(300, 3_000, 200_000)
def test_whatever_date_is_asked_about_nothing_later_is_shown(graphs: dict[str, Graph], rounds: int) -> None:
    draw = random.Random(2334)
    dates = ["2024-02-27", "2024-02-28", "2024-02-29", "2024-02", "2024", "2024-03-02", "---", "2024-02-28 00:00:00"]
    for _ in range(rounds):
        today = f"2024-02-{draw.randint(26, 29)}"
        then = GraphAt(graphs["clock"], f"02/{today[-2:]}/2024, {draw.choice(['00:00:00', '23:59:59'])} PT")
        asked = draw.choice(dates)
        place, more = draw.randrange(len(asked)), draw.choice(["", "-", "0", "\u0663", "\0", "'", " "])
        asked = asked[:place] + more + asked[place + draw.randint(0, 1) :]
        for games, column in (
            (then.sports_soccer_get_games_on_date(asked), "date"),
            (then.sports_nba_get_games_on_date(asked), "game_date"),
        ):
            assert games is None or all(str(day)[:10] <= today for day in games[column].values()), (asked, today)
        songs, _ = then.music_get_billboard_rank_date(1, asked)
        assert "s2" not in (songs or []), (asked, today)
