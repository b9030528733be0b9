"""What a build leaves that failed or was killed, and that no file of another is written over."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from quadrag.errors import QuadragError
from quadrag.kg.build import Step, build
from quadrag.kg.graph import Graph


def test_a_failed_build_leaves_the_graph_before_it(upstream: Any, target: Path) -> None:
    build(upstream({"movie/year_db.json": {"2000": 1}}), target)
    before = target.read_bytes()
    with pytest.raises(QuadragError):
        build(upstream({"movie/year_db.json": b"{"}), target)
    assert target.read_bytes() == before
    build(upstream({"movie/year_db.json": {"2000": 2}}), target)
    with Graph(target) as graph:
        assert graph.movie_get_year_info("2000") == 2


@pytest.mark.parametrize("content", [b"", b"a text", "database"])
def test_another_file_is_not_replaced(content: Any, upstream: Any, target: Path) -> None:
    if content == "database":
        with closing(sqlite3.connect(target)) as db:
            db.execute("CREATE TABLE precious (a)")
    else:
        target.write_bytes(content)
    before = target.read_bytes()
    with pytest.raises(QuadragError, match="no knowledge graph; name another file"):
        build(upstream({"movie/year_db.json": {"2000": 1}}), target)
    assert target.read_bytes() == before


def test_a_target_that_cannot_be_written_is_named(upstream: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(QuadragError, match="cannot write"):
        build(upstream({"movie/year_db.json": {"2000": 1}}), tmp_path / "file" / "kg.sqlite")


FULL = """
import resource, sys
from quadrag.errors import QuadragError
from quadrag.kg.build import build
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
try:
    build(sys.argv[1], sys.argv[2])
except QuadragError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("room", [2000, 60_000, 400_000])
def test_a_full_disk_is_one_line_and_leaves_nothing(
    room: int, upstream: Any, target: Path, forked_python: Any, environment: Any
) -> None:
    films = {f"film {n}": {"id": n, "overview": "x" * 400} for n in range(1200)}
    root = upstream({"movie/movie_db.json": films})
    build(root, target)
    before = target.read_bytes()
    done = forked_python(FULL, root, target, room, env=environment())
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith(f"cannot write {target} (") and done.stdout.count("\n") == 1
    assert f"free some space in {target.parent}, or name another file" in done.stdout
    assert not list(target.parent.glob(".*"))
    assert target.read_bytes() == before


KILLED = """
import os, sys
from quadrag.kg.build import build
build(sys.argv[1], sys.argv[2], lambda step: os.kill(os.getpid(), 9) if step.rows or step.done else None)
"""


def test_what_a_killed_build_left_goes_with_the_next(
    upstream: Any, target: Path, forked_python: Any, environment: Any
) -> None:
    root = upstream({"movie/movie_db.json": {"up": {"id": 1}}, "movie/year_db.json": {"2000": {"movie_list": [1]}}})
    for _ in range(2):
        assert forked_python(KILLED, root, target, env=environment()).returncode != 0
        assert len(list(target.parent.glob(f".{target.name}.*.part"))) == 1

    def meanwhile(step: Step) -> None:
        # A build that is at work is not touched by another one's start.
        if not step.done and not started:
            started.append(build(root, target))

    started: list[Any] = []
    build(root, target, meanwhile)
    assert started
    assert [path.name for path in target.parent.iterdir() if path.name.startswith(".")] == []
