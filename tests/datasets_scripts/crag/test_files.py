"""Where CRAG's files are: layouts, releases, the example file, the private split, and what is lacking."""

import bz2
import hashlib
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from crag_files import EXAMPLE, FIVE, PARTS, QA, lines, put, record, refusal, rows

from quadrag import catalogue
from quadrag.data import builders, files
from quadrag.data.builders import prepare
from quadrag.errors import QuadragError
from quadrag.provenance import Provenance


def test_every_layout_will_do(tmp_path: Path) -> None:
    sample = files.sample_dir("crag") / "data"
    names = [Path(name).name for name in (FIVE["v5"], *PARTS["v5"])]
    expected = {config: rows(config, "public") for config in catalogue.configs("crag")}
    root, joined = tmp_path / "root", tmp_path / "joined"
    (root / "data").mkdir(parents=True)
    joined.mkdir()
    for name in names:
        shutil.copy(sample / name, root / "data" / name)
    for folder in (root, root / "data"):
        assert {config: rows(config, "public", folder) for config in expected} == expected
    # As the authors' instructions leave them: unpacked, and joined.
    (joined / names[0].removesuffix(".bz2")).write_bytes(bz2.decompress((sample / names[0]).read_bytes()))
    whole = joined / "crag_task_3_dev_v5.tar.bz2"
    whole.write_bytes(b"".join((sample / name).read_bytes() for name in names[1:]))
    assert {config: rows(config, "public", joined) for config in expected} == expected
    _, source = builders.open_builder("crag", "task_3", str(joined))
    assert source.text == f"{joined} (crag_task_3_dev_v5.tar.bz2: unverified)"
    # A part that was left beside the joined archive is not read as well.
    shutil.copy(sample / names[1], joined / names[1])
    assert rows("task_3", "public", joined) == expected["task_3"]


def test_missing_files_are_named(tmp_path: Path) -> None:
    put(tmp_path, b"", PARTS["v5"][1])
    put(tmp_path, b"", PARTS["v5"][3])
    assert f"lacks {PARTS['v5'][0]}, {PARTS['v5'][2]}" in refusal("task_3", "public", tmp_path)
    assert FIVE["v4"] in refusal("qa", "public", tmp_path, release="v4")


def test_the_example_stands_in_where_nothing_else_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, bz2.compress(lines(record(1), record(3))), EXAMPLE)
    for config in ("qa", "task_1_2"):
        builder, source = builders.open_builder("crag", config, str(tmp_path))
        assert source.provenance is Provenance.UNVERIFIED and "dev_data.jsonl.bz2 in place of" in source.text
        assert builders.splits(builder) == ["public"]
        assert [row["id"] for row in builders.rows(builder, "public")] == ["id-1", "id-3"]
    assert "dev_data.jsonl.bz2 (it holds public)" in refusal("qa", "validation", tmp_path)
    assert PARTS["v5"][0] in refusal("task_3", "public", tmp_path)
    cls, content = catalogue.builder_class("crag"), (tmp_path / EXAMPLE).read_bytes()
    facts = (len(content), hashlib.sha256(content).hexdigest(), None)
    monkeypatch.setattr(cls, "FILES", {**cls.FILES, EXAMPLE: facts})
    assert builders.open_builder("crag", "qa", str(tmp_path))[1].provenance is Provenance.AUTHORS, "it is pinned too"
    # A true file, of whichever release, and the example stands in no longer.
    put(tmp_path, bz2.compress(lines(record(5))), FIVE["v4"])
    assert [row["id"] for row in rows("qa", "public", tmp_path, release="v4")] == ["id-5"]
    assert FIVE["v5"] in refusal("qa", "public", tmp_path)


def test_the_private_split_says_that_it_is_withheld(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path))
    for config in catalogue.configs("crag"):
        for folder in (builders.SAMPLE, None):
            assert "private_file" in refusal(config, "private", folder)
    assert list(tmp_path.iterdir()) == [], "before anything is fetched"


@pytest.mark.parametrize("packed", [False, True])
def test_the_private_split_comes_from_the_user_s_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    own = tmp_path / "held back.jsonl"
    text = lines(record(0, split=2), {k: v for k, v in record(1).items() if k not in ("answer", "split")})
    own.write_bytes(bz2.compress(text) if packed else text)
    for folder in (builders.SAMPLE, str(put(tmp_path, b"", EXAMPLE))):
        found = rows("task_1_2", "private", folder, private_file=str(own))
        assert [(row["id"], row["answer"], len(row["page_result"])) for row in found] == [
            ("id-0", "she", 2),
            ("id-1", None, 2),
        ]
        assert rows("qa", "private", folder, private_file=own) == [{key: row[key] for key in QA} for row in found]
    builder, source = builders.open_builder("crag", "qa", str(tmp_path), {"private_file": str(own)}, "private")
    assert source.text == f"{tmp_path} (held back.jsonl: unverified)"
    assert builders.splits(builder) == ["private"]
    builder, _ = builders.open_builder("crag", "qa", builders.SAMPLE, {"private_file": str(own)})
    assert builders.splits(builder) == ["validation", "public", "private"]
    assert list(builders.rows(builder, "public")) == rows("qa", "public")
    # With no folder named, nothing needs to be fetched for it.
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("QUADRAG_MIRROR", "http://127.0.0.1:9")  # nothing listens there
    builder, source = builders.open_builder("crag", "qa", None, {"private_file": str(own)}, "private")
    assert source.text == str(own)
    assert [row["id"] for row in builders.rows(builder, "private")] == ["id-0", "id-1"]


def test_release_and_private_file_are_in_the_fingerprint_but_not_its_place(tmp_path: Path) -> None:
    def fingerprint(split: str | None, folder: str = builders.SAMPLE, **options: str) -> str:
        return builders.fingerprint(builders.open_builder("crag", "qa", folder, options, split)[0])

    same, copy, other = (tmp_path / name for name in ("same", "copy", "other"))
    for path, query in ((same, "who?"), (copy, "who?"), (other, "else?")):
        path.write_bytes(lines(record(1, query=query)))
    own = [fingerprint("private", private_file=str(path)) for path in (same, copy, other)]
    assert own[0] == own[1] != own[2]
    assert fingerprint("public", private_file=str(same)) == fingerprint("public")
    assert len({own[0], fingerprint(None, private_file=str(same)), fingerprint(None)}) == 3
    for release, query in (("v5", "five?"), ("v4", "four?")):
        put(tmp_path, bz2.compress(lines(record(1, query=query))), FIVE[release])
        assert [row["query"] for row in rows("qa", "public", tmp_path, release=release)] == [query]
    assert len({fingerprint("public", str(tmp_path), release=release) for release in ("v5", "v4")}) == 2


def test_rows_with_pages_are_written_one_by_one(own_cache: Path) -> None:
    prepare("crag", "task_3", builders.SAMPLE)
    # Fifty pages a row: what gathers rows takes gigabytes.
    for path in own_cache.rglob("*.arrow"):
        with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as reader:
            assert {batch.num_rows for batch in reader} == {1}


@pytest.mark.slow
def test_nothing_is_left_of_a_broken_archive(own_cache: Path, tmp_path: Path) -> None:
    large = (random.Random(number).randbytes(200_000).hex() for number in range(8))
    records = [record(n, search_results=[{"page_result": text}]) for n, text in enumerate(large)]
    path = put(tmp_path / "root", bz2.compress(lines(*records))[:-5]) / FIVE["v5"]
    with pytest.raises(QuadragError, match=f"^{path} "):
        prepare("crag", "task_1_2", str(tmp_path / "root"))
    assert [each for each in own_cache.rglob("*") if each.is_file() and each.suffix != ".lock"] == []
    found = builders.rows(builders.open_builder("crag", "task_1_2", str(tmp_path / "root"))[0], "public")
    assert [next(found)["id"] for _ in range(2)] == ["id-1", "id-3"]
    with pytest.raises(QuadragError, match=f"^{path} "):
        list(found)
