"""What the tests of the knowledge graph share: upstream's files from plain values, and graphs."""

import bz2
import csv
import json
import pickle
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sample_graph import sample_graph

from quadrag.baselines.crag.kg.build import build
from quadrag.baselines.crag.kg.graph import Graph


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "kg.sqlite"


@pytest.fixture(name="objects")
def _objects() -> Callable[[pd.DataFrame], pd.DataFrame]:
    """The function that gives a frame columns of objects."""
    return objects


def objects(frame: pd.DataFrame) -> pd.DataFrame:
    """Give a frame the columns and indexes of objects that upstream's pandas had, in place of pandas 3's own text."""
    frame = frame.astype(
        {
            name: object
            for name in frame
            if not pd.api.types.is_numeric_dtype(frame[name].dtype) and frame[name].dtype.kind != "M"
        }
    )
    frame.columns = frame.columns.astype(object)
    if isinstance(frame.index, pd.MultiIndex):
        frame.index = frame.index.set_levels([level.astype(object) for level in frame.index.levels])
    elif not pd.api.types.is_numeric_dtype(frame.index.dtype):
        frame.index = frame.index.astype(object)
    return frame


def write_upstream(path: Path, value: Any) -> None:
    """Write a value in the format that upstream has a file of that name in; bytes as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(value, bytes):
        path.write_bytes(value)
    elif path.name == "nba.sqlite":
        with closing(sqlite3.connect(path)) as db:
            for name, rows in value.items():
                db.execute(f"CREATE TABLE {name} ({', '.join(rows[0])})")
                marks = ", ".join("?" * len(rows[0]))
                db.executemany(f"INSERT INTO {name} VALUES ({marks})", [tuple(row.values()) for row in rows])
            db.commit()
    elif path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as db:
            db.execute('CREATE TABLE "unnamed" (key TEXT PRIMARY KEY, value BLOB)')
            rows = [(key, entry if isinstance(entry, bytes) else pickle.dumps(entry)) for key, entry in value.items()]
            db.executemany('INSERT INTO "unnamed" VALUES (?, ?)', rows)
            db.commit()
    elif path.suffix == ".bz2":
        path.write_bytes(bz2.compress("".join(json.dumps(entry) + "\n" for entry in value).encode()))
    elif path.suffix == ".json":
        path.write_text(json.dumps(value), encoding="utf-8")
    elif path.suffix == ".dict":
        with path.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([["Name", "Symbol"], *value])
    else:
        path.write_bytes(pickle.dumps(objects(value) if isinstance(value, pd.DataFrame) else value, 4))


@pytest.fixture(name="write_upstream", scope="session")
def _write_upstream() -> Callable[[Path, Any], None]:
    """The function that writes one upstream file."""
    return write_upstream


@pytest.fixture
def upstream(tmp_path: Path) -> Callable[[Mapping[str, Any]], Path]:
    """A function that writes upstream files, by their path below SRC, and returns SRC."""

    def write(files: Mapping[str, Any]) -> Path:
        for name, value in files.items():
            write_upstream(tmp_path / "src" / name, value)
        return tmp_path / "src"

    return write


@pytest.fixture
def graph_of(upstream: Callable[[Mapping[str, Any]], Path], tmp_path: Path) -> Iterator[Callable[..., Graph]]:
    """A function that builds a graph of upstream files and opens it."""
    opened: list[Graph] = []

    def make(files: Mapping[str, Any]) -> Graph:
        build(upstream(files), tmp_path / "kg.sqlite")
        opened.append(Graph(tmp_path / "kg.sqlite"))
        return opened[-1]

    yield make
    for graph in opened:
        graph.close()


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    """The graph of CRAG's sample."""
    with sample_graph(tmp_path_factory.mktemp("kg")) as opened:
        yield opened
