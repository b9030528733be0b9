"""Where CRUD-RAG's files are: every layout, archives packed and unpacked, broken ones, and what is lacking."""

import io
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from crud_rag_files import FULL, SUMMARY, merged, refusal, rows

from quadrag import catalogue
from quadrag.data import builders
from quadrag.data.files import sample_dir


def test_every_layout_will_do(tmp_path: Path) -> None:
    sample = sample_dir("crud_rag")
    flat = tmp_path / "flat"
    flat.mkdir()
    for path in sample.rglob("*"):
        if path.is_file():
            shutil.copy(path, flat / path.name)
    shutil.copytree(sample / "data", tmp_path / "some" / "data")
    for config in ("corpus", "ragquesteval", "summary"):
        for split in catalogue.config("crud_rag", config).splits:
            assert rows(config, split, flat) == rows(config, split)
    for root in (tmp_path / "some", tmp_path / "some" / "data"):
        assert rows("qa_2doc", "full", root) == rows("qa_2doc", "full")
        assert rows("corpus", "corpus", root) == rows("corpus", "corpus")
    assert rows("corpus", "corpus", sample / "data" / "80000_docs") == rows("corpus", "corpus")
    assert rows("ragquesteval", "summary", sample / "src") == rows("ragquesteval", "summary")


@pytest.mark.parametrize("place", ["data/crud/merged.json", "data/crud/merged/merged.json", "crud/merged.json"])
def test_an_unpacked_archive_will_do(tmp_path: Path, place: str) -> None:
    merged(tmp_path, {"event_summary": [SUMMARY]}, place)
    builder, source = builders.open_builder("crud_rag", "summary", str(tmp_path))
    assert builders.splits(builder) == ["full"]
    assert [row["id"] for row in builders.rows(builder, "full")] == ["a"]
    assert source.text == f"{tmp_path} (merged.json: unverified)"


def test_the_archive_may_hold_folders_and_what_macos_adds(tmp_path: Path) -> None:
    path = tmp_path / "merged.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("__MACOSX/crud/._merged.json", b"\0\5\26\7")
        archive.writestr("__MACOSX/crud/merged.json", b"\0\5\26\7")
        archive.writestr("crud/readme.txt", "-")
        archive.writestr("crud/merged.json", json.dumps({"event_summary": [SUMMARY]}))
    assert [row["id"] for row in rows("summary", "full", tmp_path)] == ["a"]


def test_a_bad_archive_is_named(tmp_path: Path) -> None:
    path = merged(tmp_path, {"event_summary": [SUMMARY] * 50}, FULL) / FULL
    whole, other = path.read_bytes(), io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("1doc_QA.json", "[]")
    cut = (whole[: len(whole) // 2], whole[:100] + bytes(40) + whole[140:], whole[:-30])
    for content, named in (*((each, "zip") for each in cut), (other.getvalue(), "1doc_QA.json")):
        path.write_bytes(content)
        said = refusal("summary", "full", tmp_path)
        assert said.startswith(str(path)) and named in said


def test_a_broken_archive_does_not_keep_the_test_split_from_being_read(tmp_path: Path) -> None:
    merged(tmp_path, {"event_summary": [SUMMARY]})
    merged(tmp_path, "x", FULL)
    (tmp_path / FULL).write_bytes((tmp_path / FULL).read_bytes()[:50])
    assert [row["id"] for row in rows("summary", "test", tmp_path)] == ["a"]
    assert FULL in refusal("summary", "full", tmp_path)
