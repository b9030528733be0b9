"""A graph is opened only if it is one and whole, cannot be written through, and is shared by threads."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from quadrag.errors import QuadragError
from quadrag.kg.build import build
from quadrag.kg.graph import Graph
from quadrag.kg.seal import check


def test_a_graph_that_was_altered_is_told(upstream: Any, target: Path) -> None:
    build(upstream({"movie/movie_db.json": {"up": {"id": 1}}}), target)
    check(target)
    content = target.read_bytes()
    for at in (100, len(content) // 2, len(content) - 1):
        target.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        with pytest.raises(QuadragError, match="is damaged; build it again: quadrag kg build SRC"):
            check(target)
    target.write_bytes(content[:-12])  # as of an older version
    check(target)
    with Graph(target) as graph:
        assert graph.movie_get_movie_info_by_id(1) == {"id": 1}


@pytest.mark.parametrize("content", [b"", b"a text", "database", "version", None])
def test_what_is_no_graph_is_not_opened(content: Any, upstream: Any, target: Path) -> None:
    if content == "version":
        build(upstream({"movie/year_db.json": {"2000": 1}}), target)
        with closing(sqlite3.connect(target)) as db:
            db.execute("PRAGMA user_version = 99")
    elif content == "database":
        with closing(sqlite3.connect(target)) as db:
            db.execute("CREATE TABLE a (b)")
    elif content is not None:
        target.write_bytes(content)
    with pytest.raises(QuadragError, match="quadrag kg build"):
        Graph(target)


def test_a_graph_cannot_be_written_through(graph_of: Any) -> None:
    graph = graph_of({"movie/year_db.json": {"2000": 1}})
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        graph._db.execute("DELETE FROM year")


def test_threads_share_a_graph(graph_of: Any) -> None:
    graph = graph_of({"movie/movie_db.json": {f"film {n}": {"id": n} for n in range(2000)}})
    ready = threading.Barrier(8)

    def ask(number: int) -> bool:
        ready.wait()
        return all(
            graph.movie_get_movie_info_by_id(n) == {"id": n} and graph.movie_get_movie_info(f"film {n}")[0] == {"id": n}
            for n in range(number, 2000, 80)
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(8)))
