"""A build takes what is there, names what is lacking or damaged, and leaves nothing half-made."""

from __future__ import annotations

import bz2
import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from quadrag.data.files import sample_dir
from quadrag.errors import QuadragError
from quadrag.kg.build import Step, build
from quadrag.kg.graph import PARTS, Graph

FILES = sorted({name for part in PARTS for name in part.files})
WHOLE: dict[str, Any] = {
    "finance/company_name.dict": [["Apple Inc.", "AAPL"]],
    "finance/finance_price.sqlite": {"AAPL": {"2024-02-28 00:00:00 EST": {"Open": 1.5}}},
    "finance/finance_detailed_price.sqlite": {"AAPL": {"2024-02-28 09:30:00 EST": {"Open": 1.5}}},
    "finance/finance_dividend.sqlite": {"AAPL": {}},
    "finance/finance_marketcap.sqlite": {"AAPL": 2.5e12},
    "finance/finance_info.sqlite": {"AAPL": {"forwardEps": 7.1, "forwardPE": 25.5}},
    "movie/movie_db.json": {"up": {"id": 1, "title": "Up"}},
    "movie/person_db.json": {"pete docter": {"id": 2, "name": "Pete Docter"}},
    "movie/year_db.json": {"2009": {"movie_list": [1], "oscar_awards": []}},
    "music/artist_dict_simplified.pickle": {"Adele": {"country": "GB"}},
    "music/song_dict_simplified.pickle": {"Hello": {"author": "Adele"}},
    "music/artist_work_dict.pickle": {"Adele": ["19", "21"]},
    "music/rank_dict_hot100.pickle": {"1": [{"Date": "2015-11-14", "Song": "Hello", "Artist": "Adele"}]},
    "music/song_dict_hot100.pickle": {"Hello": {"2015-11-14": ["", "", "", "1", "1", "1", "2"]}},
    "music/grammy_df.pickle": pd.DataFrame(
        {"year": [2016], "category": ["Song Of The Year"], "nominee": ["Hello"], "artist": ["Adele"], "workers": [None]}
    ),
    "open/kg.0.jsonl.bz2": [["Florida", {"summary_text": "a state"}]],
    "open/kg.1.jsonl.bz2": [["Ohio", {"summary_text": "another"}]],
    "sports/nba.sqlite": {
        "game": [{"game_id": "1", "game_date": "2022-10-11 00:00:00", "team_name_home": "A", "team_name_away": "B"}],
        "play_by_play": [{"game_id": "1", "eventnum": 2}],
    },
    "sports/soccer_team_match_stats.pkl": pd.DataFrame(
        {"date": pd.to_datetime(["2024-01-01"]), "GF": ["1"]},
        index=pd.MultiIndex.from_tuples([("L", "2324", "A", "g")], names=["league", "season", "team", "game"]),
    ),
}


@pytest.fixture
def failing(upstream: Any, target: Path) -> Callable[[dict[str, Any]], str]:
    """A function that has a build refused, checks that it left nothing, and returns the message."""

    def check(files: dict[str, Any]) -> str:
        target.write_bytes(b"")
        target.unlink()
        root = upstream({"movie/year_db.json": {"2000": 1}, "movie/movie_db.json": {}, **files})
        with pytest.raises(QuadragError) as caught:
            build(root, target)
        assert "\n" not in str(caught.value)
        assert [path.name for path in target.parent.iterdir()] == ["src"]
        return str(caught.value)

    return check


def test_every_file_goes_in_and_is_recorded(upstream: Any, target: Path) -> None:
    assert sorted(WHOLE) == FILES
    root = upstream(WHOLE)
    built = build(root, target)
    assert (built.path, built.lacking) == (target, [])
    assert built.rows == {part.table: 2 if part.table == "open" else 1 for part in PARTS}
    with Graph(target) as graph:
        assert graph.sources == [
            {
                "file": name,
                "size": (root / name).stat().st_size,
                "sha256": hashlib.sha256((root / name).read_bytes()).hexdigest(),
            }
            for name in FILES
        ]
    assert [path.name for path in target.parent.iterdir() if path.name != "src"] == ["kg.sqlite"]


def test_two_builds_are_the_same_bytes(upstream: Any, target: Path) -> None:
    root = upstream(WHOLE)
    build(root, target)
    build(root, target.with_name("again.sqlite"))
    assert target.read_bytes() == target.with_name("again.sqlite").read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_one_file_alone_is_built_and_the_others_are_lacking(name: str, upstream: Any, target: Path) -> None:
    built = build(upstream({name: WHOLE[name]}), target)
    assert sorted(built.lacking) == [other for other in FILES if other != name]
    assert sorted(built.rows) == sorted(part.table for part in PARTS if name in part.files)


@pytest.mark.parametrize(
    ("call", "file"),
    [
        ("open_get_entity", "open/kg.0.jsonl.bz2 and open/kg.1.jsonl.bz2"),
        ("open_search_entity_by_name", "open/kg.0.jsonl.bz2"),
        ("movie_get_movie_info", "movie/movie_db.json"),
        ("finance_get_eps", "finance/finance_info.sqlite"),
        ("music_grammy_get_award_count_by_song", "music/grammy_df.pickle"),
        ("music_get_members", "music/artist_dict_simplified.pickle"),
        ("sports_soccer_get_games_on_date", "sports/soccer_team_match_stats.pkl"),
        ("sports_nba_get_games_on_date", "sports/nba.sqlite"),
        ("sports_nba_get_play_by_play_data_by_game_ids", "sports/nba.sqlite"),
    ],
)
def test_a_function_without_its_file_says_which(call: str, file: str, graph_of: Any) -> None:
    graph = graph_of({"movie/year_db.json": {"2000": 1}})
    assert graph.movie_get_year_info("2000") == 1
    with pytest.raises(QuadragError, match=f"was built without {file}"):
        getattr(graph, call)("2024-01-01")


def test_the_bundled_sample_is_whole(target: Path) -> None:
    built = build(sample_dir("crag"), target)
    assert built.lacking == []
    assert all(built.rows.values())


@pytest.mark.parametrize("below", ["", "mock_api/cragkg", "cragkg"])
def test_a_checkout_will_do(below: str, tmp_path: Path, target: Path) -> None:
    folder = tmp_path / "checkout" / below / "movie"
    folder.mkdir(parents=True)
    (folder / "year_db.json").write_text('{"2000": 1}')
    assert build(tmp_path / "checkout", target).rows == {"year": 1}


def test_a_folder_without_a_domain_is_refused(tmp_path: Path, target: Path) -> None:
    with pytest.raises(QuadragError, match="none of the folders finance, movie, music, open, sports"):
        build(tmp_path, target)
    (tmp_path / "movie").mkdir()
    with pytest.raises(QuadragError, match="no file of the knowledge graph"):
        build(tmp_path, target)


LINE = bz2.compress(b'["a", {}]\n')


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("movie/movie_db.json", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        ("movie/movie_db.json", b"", "ends too early"),
        ("movie/movie_db.json", b"[]", "in place of"),
        ("movie/movie_db.json", b'{"a": {"id": 1}', "ends too early"),
        ("movie/movie_db.json", b'{"a": {"id": 1} "b": 2}', "in place of"),
        ("movie/movie_db.json", b'{"a": {"id": 1,,}}', "damaged"),
        ("movie/movie_db.json", b'{1: {"id": 1}}', "no text"),
        ("movie/movie_db.json", b'{"a": "\xff"}', "no UTF-8"),
        ("open/kg.0.jsonl.bz2", b"no bz2", "kg.0.jsonl.bz2, line 1"),
        ("open/kg.0.jsonl.bz2", LINE[:-6], "line"),
        ("open/kg.0.jsonl.bz2", bz2.compress(b'["a", {}]\n["b"]\n'), "line 2"),
        ("open/kg.0.jsonl.bz2", bz2.compress(b'["a", {}]\n{"b": 1}\n'), "line 2"),
        ("open/kg.0.jsonl.bz2", bz2.compress(b"[1, {}]\n"), "no text"),
        ("finance/company_name.dict", b"Company,Ticker\nA,B\n", "columns Name and Symbol"),
        ("finance/company_name.dict", b"Name,Symbol\n\xff,B\n", "Name and Symbol"),
        ("finance/finance_info.sqlite", b"no database", "finance_info.sqlite: it cannot be read"),
        ("finance/finance_info.sqlite", {"A": b"no pickle"}, "finance_info.sqlite: the pickle"),
        ("music/artist_dict_simplified.pickle", [1], "expected a dict"),
        ("music/rank_dict_hot100.pickle", {"1": [{"Date": "x"}]}, "expected upstream's layout"),
        ("music/song_dict_hot100.pickle", {"a": ["x"]}, "expected upstream's layout"),
        ("music/grammy_df.pickle", pd.DataFrame({"year": [1]}), "no column category, nominee, artist, workers"),
        ("music/grammy_df.pickle", {"year": 1}, "expected a pandas DataFrame"),
        ("sports/soccer_team_match_stats.pkl", pd.DataFrame({"date": [1]}), "expected ('league'"),
        ("sports/nba.sqlite", {"game": [{"game_id": 1}]}, "no column game_date"),
        ("sports/nba.sqlite", {"other": [{"game_id": 1}]}, "no table game"),
        ("sports/nba.sqlite", b"no database at all, but long enough to be looked at", "expected upstream's layout"),
    ],
)
def test_what_is_damaged_is_named_and_nothing_stays(name: str, value: Any, what: str, failing: Any) -> None:
    message = failing({name: value})
    assert what in message
    assert name.split("/")[1] in message


def test_a_view_does_not_pass_for_a_table(upstream: Any, target: Path) -> None:
    root = upstream({"sports/nba.sqlite": {"other": [{"game_id": 1}]}})
    with closing(sqlite3.connect(root / "sports/nba.sqlite")) as db:
        db.execute("CREATE VIEW game AS SELECT 1 AS game_id, 2 AS game_date, 3 AS team_name_home, 4 AS team_name_away")
        db.commit()
    with pytest.raises(QuadragError, match="no table game"):
        build(root, target)


def test_an_interrupted_build_leaves_nothing(upstream: Any, target: Path) -> None:
    def interrupt(step: Step) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(upstream(WHOLE), target, interrupt)
    assert [path.name for path in target.parent.iterdir()] == ["src"]


def test_progress_tells_files_rows_and_bytes(upstream: Any, target: Path) -> None:
    steps: list[Step] = []
    root = upstream(WHOLE | {"movie/movie_db.json": {f"film {n}": {"id": n} for n in range(25_000)}})
    build(root, target, steps.append)
    assert {step.file for step in steps} == {*FILES, ""}
    assert [step.rows for step in steps if step.file == "movie/movie_db.json"] == [0, 10_000, 20_000]
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    total = sum((root / name).stat().st_size for name in FILES)
    assert steps[-1] == Step("", 0, total, total)


def test_a_repeated_name_has_its_last_value_in_the_first_place(graph_of: Any) -> None:
    graph = graph_of(
        {
            "movie/person_db.json": b'{"a x": {"id": 1}, "b x": {"id": 2}, "a x": {"id": 3}, "c": 4, "d": 5, "e": 6}',
            "open/kg.0.jsonl.bz2": [["A", 1], ["B", 2]],
            "open/kg.1.jsonl.bz2": [["A", 3]],
        }
    )
    assert graph.movie_get_person_info("x") == [{"id": 3}, {"id": 2}]
    assert graph.movie_get_person_info_by_id(1) is None
    assert graph.open_get_entity("A") == 3
