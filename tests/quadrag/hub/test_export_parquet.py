"""The Parquet files of an export: small groups of rows, shards of the size asked, rows taken a group at a time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quadrag import catalogue
from quadrag.errors import QuadragError
from quadrag.hub.export.parquet import write_split


def test_row_groups_are_small_and_shards_of_the_size_asked(tmp_path: Path) -> None:
    draw = random.Random(6)
    builder = catalogue.builder_class("crag")(config_name="task_1_2")
    schema = builder.info.features.arrow_schema

    def row(number: int) -> dict[str, Any]:
        pages = [draw.randbytes(300_000).hex() for _ in range(5)]  # 3 MB that hardly pack
        return {"id": str(number), "alternatives": [], "search_results": [], "page_result": pages}

    told: list[int] = []
    written = write_split(map(row, range(22)), schema, tmp_path, "public", told.append, shard_bytes=12_000_000)
    assert told == [5, 10, 15, 20, 22]
    assert list(written.files) == [f"public-0000{number}-of-00003.parquet" for number in range(3)]
    assert written.rows == 22
    ids = []
    for name, size in written.files.items():
        file = pq.ParquetFile(tmp_path / name)
        assert size < 25_000_000
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            assert group.num_rows <= 5
            columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
            others = [c.total_compressed_size for path, c in columns.items() if not path.startswith("page_result")]
            assert sum(others) < 10_000
        ids += file.read(columns=["id"])["id"].to_pylist()
    assert ids == [str(number) for number in range(22)]
    # One that is larger than a group may be is a group of its own; small ones are a thousand together.
    large = [{"id": str(number), "page_result": ["x" * 17_000_000]} for number in range(2)]
    written = write_split(iter(large), schema, tmp_path / "large", "public")
    assert pq.ParquetFile(tmp_path / "large" / next(iter(written.files))).num_row_groups == 2
    written = write_split(({"id": str(number)} for number in range(2500)), schema, tmp_path / "small", "public")
    metadata = pq.ParquetFile(tmp_path / "small" / next(iter(written.files))).metadata
    assert [metadata.row_group(number).num_rows for number in range(3)] == [1000, 1000, 500]


def test_rows_are_taken_a_group_at_a_time(tmp_path: Path) -> None:
    ahead = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal ahead
        for number in range(3500):
            ahead += 1
            yield {"id": str(number)}

    def told(count: int) -> None:
        assert ahead <= count + 1, "no more than the row that begins the next group"

    write_split(rows(), pa.schema([("id", pa.string())]), tmp_path, "all", told)
    assert ahead == 3500


def test_a_row_that_does_not_fit_gets_one_line(tmp_path: Path) -> None:
    rows = [{"id": "a"}, {"id": ["b"]}]
    with pytest.raises(QuadragError, match=r"^rows 0 to 1: .*; expected the columns of the card$"):
        write_split(rows, pa.schema([("id", pa.string())]), tmp_path, "all")
    assert not list(tmp_path.glob("*.parquet"))


def test_an_empty_split_is_one_file(tmp_path: Path) -> None:
    written = write_split([], pa.schema([("id", pa.string())]), tmp_path, "all")
    assert (written.rows, list(written.files)) == (0, ["all-00000-of-00001.parquet"])
    assert pq.read_table(tmp_path / "all-00000-of-00001.parquet").num_rows == 0
