"""CRAG prepared: what is read from the cache, what is left of a broken archive, how rows are written."""

from __future__ import annotations

import bz2
import random
import shutil
from pathlib import Path

import pytest
from crag_files import FIVE, WITHHELD, lines, put, record, rows

from quadrag import catalogue
from quadrag.data import builders, files
from quadrag.data.prepare import prepare
from quadrag.errors import QuadragError


def test_what_is_prepared_is_read_from_the_cache(own_cache: Path, tmp_path: Path) -> None:
    shutil.copytree(files.sample_dir("crag"), tmp_path / "root")
    done = prepare("crag", None, str(tmp_path / "root"))
    assert {name: list(splits) for name, splits in done.built.items()} == {
        name: ["validation", "public"] for name in catalogue.configs("crag")
    }
    assert done.partial == {name: [WITHHELD] for name in done.built}
    for config in done.built:
        for split in ("validation", "public"):
            builder, source = builders.open_builder("crag", config, split=split)
            assert source.text.endswith("unverified), as prepared")
            assert list(builders.rows(builder, split)) == rows(config, split)


@pytest.mark.slow
def test_nothing_is_left_of_a_broken_archive(own_cache: Path, tmp_path: Path) -> None:
    """The first rows are whole; the fault is found at the end, and named."""
    large = (random.Random(number).randbytes(200_000).hex() for number in range(8))
    records = [record(n, search_results=[{"page_result": text}]) for n, text in enumerate(large)]
    content = bz2.compress(lines(*records))
    path = put(tmp_path / "root", content[:-5]) / FIVE["v5"]
    with pytest.raises(QuadragError) as caught:
        prepare("crag", "task_1_2", str(tmp_path / "root"))
    assert str(caught.value) == f"{path} is cut short, its bzip2 data do not end; fetch it again"
    assert [each for each in own_cache.rglob("*") if each.is_file() and each.suffix != ".lock"] == []
    assert [each for each in own_cache.iterdir() if each.name.startswith("quadrag-")] == []
    # What came before the fault can be streamed.
    found = builders.rows(builders.open_builder("crag", "task_1_2", str(tmp_path / "root"))[0], "public")
    assert [next(found)["id"] for _ in range(2)] == ["id-1", "id-3"]
    with pytest.raises(QuadragError, match="is cut short"):
        list(found)


def test_rows_are_written_one_by_one(tmp_path: Path) -> None:
    """Fifty pages a row: what gathers rows takes gigabytes."""
    import pyarrow as pa

    builder = catalogue.builder_class("crag")(config_name="task_3")
    builders.point_to(builder, files.sample_dir("crag"), "public")
    builder.download_and_prepare(output_dir=str(tmp_path / "out"))
    (path,) = (tmp_path / "out").glob("*.arrow")
    with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as reader:
        assert {batch.num_rows for batch in reader} == {1}
