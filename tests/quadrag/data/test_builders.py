"""From a name to files, builder and rows, of a folder that is partial or partly broken, or of a prepared cache."""

import json
import os
import shutil
from pathlib import Path

import pytest
from prepared_data import other_data

from quadrag import catalogue
from quadrag.data import builders, files
from quadrag.data.builders import RECORD, prepare
from quadrag.errors import QuadragError
from quadrag.provenance import Provenance

pytestmark = pytest.mark.plugins

SPLIT, FULL = "data/crud_split/split_merged.json", "data/crud/merged.zip"
CORPUS = "data/80000_docs/documents_"


@pytest.fixture
def root(tmp_path, own_cache, monkeypatch):
    """A copy of CRUD-RAG's sample that is nobody's sample; and no upstream."""
    monkeypatch.setenv("QUADRAG_MIRROR", "http://127.0.0.1:9")  # nothing listens there
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "downloads"))
    return Path(shutil.copytree(files.sample_dir("crud_rag"), tmp_path / "root"))


def rows(builder, split):
    return list(builders.rows(builder, split))


def test_a_folder_that_is_none_is_named_and_a_home_folder_is_understood(root, monkeypatch):
    for folder in ("", str(root / "absent"), str(root / FULL)):
        with pytest.raises(QuadragError, match=f"no folder '{folder}'"):
            builders.open_builder("crud_rag", "corpus", folder)
    monkeypatch.setenv("HOME", str(root.parent))
    builder, source = builders.open_builder("crud_rag", "summary", "~/root", split="test")
    assert source.place == "~/root"
    assert len(rows(builder, "test")) == 8


def test_splits_are_those_that_can_be_read_whatever_the_others_are(root):
    def splits(config, split=None):
        return builders.splits(builders.open_builder("crud_rag", config, str(root), None, split)[0])

    builder, source = builders.open_builder("crud_rag", "corpus", str(root))
    assert source.lacking.startswith("3 of 48 files") and source.provenance is Provenance.UNVERIFIED
    assert len(source.other) == 3
    builder, _ = builders.open_builder("crud_rag", "summary", str(root))
    expected = {split: rows(builder, split) for split in ("test", "full")}
    turns = zip(builders.rows(builder, "test"), builders.rows(builder, "full"), strict=False)
    assert list(turns) == list(zip(expected["test"], expected["full"], strict=False))
    assert (splits("summary"), splits("summary", "full")) == (["test", "full"], ["full"])
    (root / FULL).write_bytes((root / FULL).read_bytes()[:200])
    assert rows(builder, "test") == expected["test"]
    builder, source = builders.open_builder("crud_rag", "summary", str(root), split="test")
    assert rows(builder, "test") == expected["test"] and [*source.other] == [SPLIT]
    (root / FULL).unlink()
    (root / "src/quest_eval/ContinueWriting_quest_gt_save.json").unlink()
    assert splits("summary") == ["test"]
    assert splits("ragquesteval") == ["qa_1doc", "qa_2doc", "qa_3doc", "hallucination", "summary"]
    for split, named in (("full", FULL), ("tset", "test")):
        with pytest.raises(QuadragError, match=named):
            splits("summary", split)
        with pytest.raises(QuadragError, match=split):
            rows(builder, split)


def test_two_builders_of_a_config_keep_their_own_folders(tmp_path):
    name = "noise_robustness_zh"
    opened = [builders.open_builder("rgb", name, str(other_data(tmp_path / each, query=each)))[0] for each in "ab"]
    assert [next(builders.rows(builder, "noise_0"))["query"] for builder in opened] == ["a", "b"]
    assert catalogue.config("rgb", name).data_dir is None


def test_the_fingerprint_knows_all_that_decides_rows_and_nothing_else(root):
    def fingerprint(config="corpus", split=None, data_dir=str(root), **options):
        return builders.fingerprint(builders.open_builder("crud_rag", config, data_dir, options, split)[0])

    plain = fingerprint()
    assert fingerprint(data_dir="sample") == fingerprint(split="corpus") == fingerprint(gold=None) == plain
    golden = {gold: fingerprint(gold=gold) for gold in ("test", "full")}
    assert len({plain, *golden.values()}) == 3
    assert len({fingerprint("summary", split) for split in ("test", "full", None)}) == 3
    prepare("crud_rag", "corpus", str(root))
    assert fingerprint(data_dir=None) == plain, "prepared or not, the same files are the same"
    of_full = fingerprint("qa_1doc", "full")
    content = json.loads((root / SPLIT).read_text(encoding="utf-8"))
    (root / SPLIT).write_text(json.dumps({"event_summary": content["event_summary"]}), encoding="utf-8")
    assert fingerprint("qa_1doc") == of_full, "a file that lacks a task decides none of its rows"
    assert (fingerprint(), fingerprint(gold="full")) == (plain, golden["full"])
    assert fingerprint(gold="test") != golden["test"]
    (root / f"{CORPUS}hallu.txt_part_1").unlink()
    assert fingerprint() != plain


def test_the_script_and_the_modules_beside_it_decide_rows(tmp_path, monkeypatch):
    folder = shutil.copytree(files.sample_dir("rgb").parent, tmp_path / "rgb")
    monkeypatch.setattr(catalogue, "benchmarks", lambda: {"rgb": folder / "rgb.py"})
    found = {files.identify("rgb", {})}
    for name in ("rgb.py", "reading.py"):
        with (folder / name).open("a") as file:
            file.write("\n")
        found.add(files.identify("rgb", {}))
    assert len(found) == 3


def test_what_was_prepared_in_part_is_read_in_part(root, own_cache):
    opened, _ = builders.open_builder("crud_rag", "summary", str(root))
    expected = {split: rows(opened, split) for split in ("test", "full")}
    whole = (root / FULL).read_bytes()
    (root / FULL).unlink()
    prepare("crud_rag", "summary", str(root))
    builder, source = builders.open_builder("crud_rag", "summary")
    assert [*source.other] == [SPLIT]
    assert builders.splits(builder) == ["test"]
    assert rows(builder, "test") == expected["test"]
    with pytest.raises(QuadragError, match="full"):
        rows(builder, "full")
    # A split that was not prepared is fetched, and so are files for other options.
    with pytest.raises(QuadragError, match=r"http://127\.0\.0\.1:9/.*/data/crud/merged\.zip"):
        builders.open_builder("crud_rag", "summary", split="full")
    (root / FULL).write_bytes(whole)
    prepare("crud_rag", "summary", str(root))
    for split in ("test", "full"):
        builder, source = builders.open_builder("crud_rag", "summary", split=split)
        assert (builders.splits(builder), rows(builder, split)) == ([split], expected[split])
    # The newest is another one, but the older alone holds the split.
    (root / FULL).unlink()
    prepare("crud_rag", "summary", str(root))
    assert builders.splits(builders.open_builder("crud_rag", "summary")[0]) == ["test"]
    assert builders.splits(builders.open_builder("crud_rag", "summary", split="full")[0]) == ["full"]
    for path in own_cache.rglob(RECORD):
        path.write_text("{", encoding="utf-8")
    with pytest.raises(QuadragError, match=RECORD):
        builders.open_builder("crud_rag", "summary", split="full")


def test_the_newest_build_is_read_of_this_script_and_never_the_sample(root, own_cache):
    def fingerprint():
        return builders.fingerprint(builders.open_builder("crud_rag", "corpus")[0])

    prepare("crud_rag", "corpus", builders.SAMPLE)
    with pytest.raises(QuadragError, match=r"127\.0\.0\.1:9"):
        fingerprint()
    prepare("crud_rag", "corpus", str(root))
    first = fingerprint()
    with pytest.raises(QuadragError, match=r"127\.0\.0\.1:9"):
        builders.open_builder("crud_rag", "corpus", None, {"gold": "test"})
    (root / f"{CORPUS}hallu.txt_part_1").unlink()
    prepare("crud_rag", "corpus", str(root))
    second = fingerprint()
    assert first != second
    (older,), (newer,) = (list(own_cache.rglob(f"{each}/{RECORD}")) for each in (first, second))
    os.utime(older)
    assert fingerprint() == first
    record = json.loads(newer.read_text(encoding="utf-8"))
    newer.write_text(json.dumps({**record, "script": "0" * 64}), encoding="utf-8")
    assert fingerprint() == first
