"""A build takes what is there, names what is lacking or damaged, and leaves nothing half-made."""

import bz2
import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sample_graph import SOURCE

from quadrag.baselines.crag.kg.build import build
from quadrag.baselines.crag.kg.graph import PARTS, Graph
from quadrag.errors import QuadragError

FILES = sorted({name for part in PARTS for name in part.files})
WHOLE = {name: (SOURCE / name).read_bytes() for name in FILES}


def test_every_file_goes_in_and_is_recorded(upstream: Any, target: Path) -> None:
    root = upstream(WHOLE)
    rows, lacking = build(root, target)
    assert lacking == []
    assert list(rows) == [part.table for part in PARTS] and min(rows.values()) > 0
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
    build(root, target.with_name("again.sqlite"))
    assert target.read_bytes() == target.with_name("again.sqlite").read_bytes()


ASKED = {
    "open_get_entity": "open/kg.0.jsonl.bz2",
    "movie_get_movie_info": "movie/movie_db.json",
    "finance_get_eps": "finance/finance_info.sqlite",
    "music_grammy_get_award_count_by_song": "music/grammy_df.pickle",
    "music_get_members": "music/artist_dict_simplified.pickle",
    "sports_soccer_get_games_on_date": "sports/soccer_team_match_stats.pkl",
    "sports_nba_get_play_by_play_data_by_game_ids": "sports/nba.sqlite",
}


@pytest.mark.parametrize("name", FILES)
def test_one_file_alone_is_built_and_a_function_of_another_says_which(name: str, upstream: Any, target: Path) -> None:
    rows, lacking = build(upstream({name: WHOLE[name]}), target)
    assert sorted(lacking) == [other for other in FILES if other != name]
    assert sorted(rows) == sorted(part.table for part in PARTS if name in part.files)
    with Graph(target) as graph:
        for call, file in ASKED.items():
            if file.split("/")[0] != name.split("/")[0]:
                with pytest.raises(QuadragError, match=file):
                    getattr(graph, call)("2024-01-01")


@pytest.mark.parametrize("below", ["", "mock_api/cragkg", "cragkg"])
def test_a_checkout_will_do_and_a_folder_without_a_file_will_not(below: str, tmp_path: Path, target: Path) -> None:
    folder = tmp_path / "checkout" / below / "movie"
    folder.mkdir(parents=True)
    with pytest.raises(QuadragError):
        build(tmp_path / "checkout", target)
    (folder / "year_db.json").write_text('{"2000": 1}')
    assert build(tmp_path / "checkout", target)[0] == {"year": 1}


LINE = bz2.compress(b'["a", {}]\n')


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("movie/movie_db.json", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
        ("movie/movie_db.json", b""),
        ("movie/movie_db.json", b"[]"),
        ("movie/movie_db.json", b'{"a": {"id": 1}'),
        ("movie/movie_db.json", b'{"a": "\xff"}'),
        ("open/kg.0.jsonl.bz2", b"no bz2"),
        ("open/kg.0.jsonl.bz2", LINE[:-6]),
        ("open/kg.0.jsonl.bz2", bz2.compress(b'["a", {}]\n["b"]\n')),
        ("open/kg.0.jsonl.bz2", bz2.compress(b"[1, {}]\n")),
        ("finance/company_name.dict", b"Company,Ticker\nA,B\n"),
        ("finance/company_name.dict", b"Name,Symbol\n\xff,B\n"),
        ("finance/finance_info.sqlite", b"no database"),
        ("finance/finance_info.sqlite", {"A": b"no pickle"}),
        ("music/artist_dict_simplified.pickle", [1]),
        ("music/rank_dict_hot100.pickle", {"1": [{"Date": "x"}]}),
        ("music/song_dict_hot100.pickle", {"a": ["x"]}),
        ("music/grammy_df.pickle", pd.DataFrame({"year": [1]})),
        ("sports/soccer_team_match_stats.pkl", pd.DataFrame({"date": [1]})),
        ("sports/nba.sqlite", {"game": [{"game_id": 1}]}),
        ("sports/nba.sqlite", {"other": [{"game_id": 1}]}),
        ("sports/nba.sqlite", b"no database at all, but long enough to be looked at"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_what_is_damaged_is_named_and_the_graph_before_it_stays(
    name: str, value: Any, upstream: Any, target: Path
) -> None:
    build(upstream({"movie/year_db.json": {"2000": 1}, "movie/movie_db.json": {}}), target)
    before = target.read_bytes()
    with pytest.raises(QuadragError, match=rf"^[^\n]*{name.split('/')[1]}[^\n]*$"):
        build(upstream({name: value}), target)
    assert target.read_bytes() == before
    assert sorted(path.name for path in target.parent.iterdir()) == ["kg.sqlite", "src"]


def test_an_interrupted_build_leaves_nothing(upstream: Any, target: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(upstream(WHOLE), target, interrupt)
    assert [path.name for path in target.parent.iterdir()] == ["src"]


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


def foreign(content: Any, target: Path, upstream: Any) -> None:
    """Put something at the target that is no graph of this version, or nothing."""
    if content == "version":
        build(upstream({"movie/year_db.json": {"2000": 1}}), target)
        with closing(sqlite3.connect(target)) as db:
            db.execute("PRAGMA user_version = 99")
    elif content == "database":
        with closing(sqlite3.connect(target)) as db:
            db.execute("CREATE TABLE precious (a)")
    elif content is not None:
        target.write_bytes(content)


@pytest.mark.parametrize("content", [b"", b"a text", "database", "version", None])
def test_another_file_is_neither_opened_nor_replaced(content: Any, upstream: Any, target: Path) -> None:
    foreign(content, target, upstream)
    with pytest.raises(QuadragError, match=target.name):
        Graph(target)
    if content not in ("version", None):
        before = target.read_bytes()
        with pytest.raises(QuadragError, match=target.name):
            build(upstream({"movie/year_db.json": {"2000": 1}}), target)
        assert target.read_bytes() == before


def test_a_target_that_cannot_be_written_is_named(upstream: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(QuadragError, match=r"file/kg\.sqlite"):
        build(upstream({"movie/year_db.json": {"2000": 1}}), tmp_path / "file" / "kg.sqlite")
