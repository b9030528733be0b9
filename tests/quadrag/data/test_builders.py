"""From a name to files, builder and rows, of a folder that is partial or partly broken, or of a prepared cache."""

import json
import os
import shutil
from pathlib import Path

import pytest
from prepared_data import other_data

from quadrag import catalogue
from quadrag.data import builders, files
from quadrag.data.prepare import RECORD, prepare
from quadrag.errors import QuadragError
from quadrag.provenance import Provenance

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


def test_a_source_says_what_is_missing_and_what_is_not_upstreams(root):
    config = catalogue.config("crud_rag", "corpus")
    for lacking in (1, 16, 0):
        found = dict.fromkeys(config.files[: 48 - lacking], root / SPLIT)
        source = files.describe("crud_rag", config, "here", found)
        assert source.lacking.startswith(f"{48 - lacking} of 48 files, lacking ") == bool(lacking)
        assert source.provenance is Provenance.UNVERIFIED
    _, source = builders.open_builder("crud_rag", "corpus", str(root))
    assert [*source.other] == [
        f"{CORPUS}{part}" for part in ("dup_part_1_part_1", "dup_part_1_part_2", "hallu.txt_part_1")
    ]


def test_splits_are_those_that_can_be_read(root):
    def splits(config, split=None):
        return builders.splits(builders.open_builder("crud_rag", config, str(root), None, split)[0])

    assert splits("summary") == ["test", "full"]
    assert splits("summary", "full") == ["full"]
    (root / FULL).unlink()
    (root / "src/quest_eval/ContinueWriting_quest_gt_save.json").unlink()
    assert splits("summary") == ["test"]
    assert splits("ragquesteval") == ["qa_1doc", "qa_2doc", "qa_3doc", "hallucination", "summary"]
    for split, named in (("full", FULL), ("tset", "test")):
        with pytest.raises(QuadragError, match=named):
            splits("summary", split)
    builder, _ = builders.open_builder("crud_rag", "summary", str(root))
    for split in ("full", "fulll"):
        with pytest.raises(QuadragError, match="full"):
            rows(builder, split)


def test_a_file_of_another_split_may_be_broken_and_two_splits_are_read_in_turn(root):
    builder, _ = builders.open_builder("crud_rag", "summary", str(root))
    expected = {split: rows(builder, split) for split in ("test", "full")}
    turns = zip(builders.rows(builder, "test"), builders.rows(builder, "full"), strict=False)
    assert list(turns) == list(zip(expected["test"], expected["full"], strict=False))
    (root / FULL).write_bytes((root / FULL).read_bytes()[:200])
    assert rows(builder, "test") == expected["test"]
    builder, source = builders.open_builder("crud_rag", "summary", str(root), split="test")
    assert rows(builder, "test") == expected["test"]
    assert [*source.other] == [SPLIT]


def test_two_builders_of_a_config_keep_their_own_folders(tmp_path):
    name = "noise_robustness_zh"
    opened = [builders.open_builder("rgb", name, str(other_data(tmp_path / each, query=each)))[0] for each in "ab"]
    assert [next(builders.rows(builder, "noise_0"))["query"] for builder in opened] == ["a", "b"]
    assert catalogue.config("rgb", name).data_dir is None


def test_the_fingerprint_knows_script_files_and_options(root):
    def fingerprint(data_dir=str(root), split=None, **options):
        return builders.fingerprint(builders.open_builder("crud_rag", "corpus", data_dir, options, split)[0])

    plain = fingerprint()
    assert len(bytes.fromhex(plain)) == 32
    assert fingerprint("sample") == fingerprint(split="corpus") == fingerprint(gold=None) == plain
    golden = {gold: fingerprint(gold=gold) for gold in ("test", "full")}
    assert len({plain, *golden.values()}) == 3
    prepare("crud_rag", "corpus", str(root))
    assert fingerprint(None) == plain, "prepared or not, the same files are the same"
    with (root / SPLIT).open("a") as file:
        file.write("\n")
    assert (fingerprint(), fingerprint(gold="full")) == (plain, golden["full"])
    assert fingerprint(gold="test") != golden["test"]
    with (root / f"{CORPUS}hallu.txt_part_1").open("a") as file:
        file.write("又一篇\n")
    changed = fingerprint()
    assert changed not in (plain, *golden.values())
    (root / f"{CORPUS}hallu.txt_part_1").unlink()
    assert fingerprint() not in (plain, changed)


def test_a_splits_fingerprint_leaves_out_what_has_no_part_in_its_rows(root):
    def fingerprint(config, split):
        return builders.fingerprint(builders.open_builder("crud_rag", config, str(root), split=split)[0])

    test, full = (fingerprint("summary", split) for split in ("test", "full"))
    assert len({test, full, fingerprint("summary", None)}) == 3
    # A file that lacks a task decides none of its rows.
    of_full = fingerprint("qa_1doc", "full")
    content = json.loads((root / SPLIT).read_text(encoding="utf-8"))
    (root / SPLIT).write_text(json.dumps({"event_summary": content["event_summary"]}), encoding="utf-8")
    assert fingerprint("qa_1doc", None) == of_full
    plain, *others = (
        builders.fingerprint(builders.open_builder("rgb", "noise_robustness_zh", builders.SAMPLE, options)[0])
        for options in ({}, {"passage_num": 5}, {"passage_num": 4}, {"order": "per_item"})
    )
    assert others[0] == plain and len({plain, *others}) == 3


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
