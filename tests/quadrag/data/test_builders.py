"""From a name to files, builder and rows, where a folder is partial or partly broken.

The bundled samples stand for upstream files; the scripts' own tests hold what is in the rows.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from quadrag import catalogue
from quadrag.data import builders, files
from quadrag.data.prepare import prepare
from quadrag.data.prepared import RECORD
from quadrag.errors import QuadragError

SPLIT, FULL = "data/crud_split/split_merged.json", "data/crud/merged.zip"
CORPUS = "data/80000_docs/documents_"


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The datasets cache of this process, moved into the test's folder; and no upstream."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setenv("QUADRAG_MIRROR", "http://127.0.0.1:9")  # nothing listens there
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "downloads"))
    return tmp_path / "cache"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of CRUD-RAG's sample that is nobody's sample."""
    shutil.copytree(files.sample_dir("crud_rag"), tmp_path / "root")
    return tmp_path / "root"


def rows(builder: Any, split: str) -> list[dict[str, Any]]:
    return list(builders.rows(builder, split))


def test_files_are_found_for_a_split_or_for_any(root: Path) -> None:
    found, lacking = files.find_files("crud_rag", "summary", root)
    assert found == {SPLIT: root / SPLIT, FULL: root / FULL}
    assert lacking == []
    (root / FULL).unlink()
    # One split can be built, so nothing is lacking until the other is asked for.
    assert files.find_files("crud_rag", "summary", root) == ({SPLIT: root / SPLIT}, [])
    assert files.find_files("crud_rag", "summary", root, "test") == ({SPLIT: root / SPLIT}, [])
    assert files.find_files("crud_rag", "summary", root, "full") == ({}, [FULL])
    (root / SPLIT).unlink()
    assert files.find_files("crud_rag", "summary", root) == ({}, [SPLIT, FULL])
    assert files.find_files("rgb", "noise_robustness_zh", files.sample_dir("rgb"), "noise_40")[1] == []
    assert files.find_files("rgb", "noise_robustness_zh", root) == ({}, ["zh_refine.json"])
    for folder in ("", str(root / "absent"), str(root / FULL)):
        with pytest.raises(QuadragError, match=r"no folder .*; expected the files of crud_rag or the root of its aut"):
            files.find_files("crud_rag", "corpus", folder)
        with pytest.raises(QuadragError, match=r"no folder .*; expected the files of crud_rag"):
            builders.open_builder("crud_rag", "corpus", folder)


def test_a_home_folder_is_understood(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(root.parent))
    builder, source = builders.open_builder("crud_rag", "summary", "~/root", split="test")
    assert source.place == "~/root"
    assert len(rows(builder, "test")) == 8


def test_the_phrase_says_what_is_missing_and_what_is_not_upstream_s(root: Path) -> None:
    config = catalogue.config("crud_rag", "corpus")
    for wanted, said in (
        (
            [f"{CORPUS}dup_part_1_part_1"],
            "1 of 48 files, lacking documents_dup_part_1_part_2 to documents_hallu.txt_part_3",
        ),
        (
            [name for name in config.files if "part_7_" not in name],
            "45 of 48 files, lacking documents_dup_part_7_part_1 to documents_dup_part_7_part_3",
        ),
        (
            [name for name in config.files if not name.endswith("_part_2")],
            "32 of 48 files, lacking documents_dup_part_1_part_2, documents_dup_part_2_part_2, "
            "documents_dup_part_3_part_2 and 13 more",
        ),
        (config.files, ""),
    ):
        found = {name: root / SPLIT for name in wanted}
        start = f"here ({said}; " if said else "here ("
        assert files.describe("crud_rag", config, "here", found).text.startswith(start)
    _, source = builders.open_builder("crud_rag", "corpus", str(root))
    assert source.text.endswith(
        "; documents_dup_part_1_part_1, documents_dup_part_1_part_2, documents_hallu.txt_part_1: unverified)"
    )
    _, source = builders.open_builder("crud_rag", "ragquesteval", str(root))
    assert source.text.endswith("QuestAnswer2Docs_quest_gt_save.json and 3 more: unverified)")


def test_splits_are_those_that_can_be_read(root: Path) -> None:
    def splits(config: str, split: str | None = None) -> list[str]:
        return builders.splits(builders.open_builder("crud_rag", config, str(root), None, split)[0])

    assert splits("summary") == ["test", "full"]
    assert splits("summary", "full") == ["full"]
    assert splits("corpus") == ["corpus"]
    assert splits("ragquesteval")[0] == "continuation"
    (root / FULL).unlink()
    (root / "src/quest_eval/ContinueWriting_quest_gt_save.json").unlink()
    assert splits("summary") == ["test"]
    assert splits("ragquesteval") == ["qa_1doc", "qa_2doc", "qa_3doc", "hallucination", "summary"]
    with pytest.raises(QuadragError, match=f"{root} lacks {FULL}, which crud_rag summary needs"):
        splits("summary", "full")
    with pytest.raises(QuadragError, match="unknown split of summary 'tset'; nearest: test"):
        splits("summary", "tset")
    builder, _ = builders.open_builder("crud_rag", "summary", str(root))
    with pytest.raises(QuadragError, match=f"{root} lacks {FULL}"):
        rows(builder, "full")
    with pytest.raises(QuadragError, match="unknown split of summary 'fulll'; nearest: full"):
        rows(builder, "fulll")
    builder, _ = builders.open_builder("rgb", "noise_robustness_zh", builders.SAMPLE, {}, "noise_40")
    assert builders.splits(builder) == ["noise_40"]


def test_a_file_of_another_split_may_be_broken(root: Path) -> None:
    expected = rows(builders.open_builder("crud_rag", "summary", str(root))[0], "test")
    builder, _ = builders.open_builder("crud_rag", "summary", str(root))
    (root / FULL).write_bytes((root / FULL).read_bytes()[:200])
    assert rows(builder, "test") == expected
    assert builder.config.only is None, "reading leaves the builder as it was"
    with pytest.raises(QuadragError, match=r"merged\.zip is no whole zip"):
        builders.splits(builder)
    builder, source = builders.open_builder("crud_rag", "summary", str(root), split="test")
    assert rows(builder, "test") == expected
    assert builders.splits(builder) == ["test"]
    assert "merged.zip" not in source.text


def test_two_splits_are_read_in_turn(root: Path) -> None:
    builder, _ = builders.open_builder("crud_rag", "summary", str(root))
    test, full = builders.rows(builder, "test"), builders.rows(builder, "full")
    pairs = [(next(test)["id"], next(full)["id"]) for _ in range(3)]
    assert pairs == [
        (first["id"], second["id"])
        for first, second in zip(rows(builder, "test")[:3], rows(builder, "full")[:3], strict=True)
    ]


def test_the_fingerprint_knows_script_files_and_options(root: Path, own_cache: Path) -> None:
    def fingerprint(data_dir: str | None = str(root), split: str | None = None, **options: Any) -> str:
        return builders.fingerprint(builders.open_builder("crud_rag", "corpus", data_dir, options, split)[0])

    plain = fingerprint()
    assert len(plain) == 64
    assert set(plain) <= set("0123456789abcdef")
    assert fingerprint("sample") == fingerprint(split="corpus") == fingerprint(gold=None) == plain
    golden = {gold: fingerprint(gold=gold) for gold in ("test", "full")}
    assert len({plain, *golden.values()}) == 3
    prepare("crud_rag", "corpus", str(root))
    assert fingerprint(None) == plain, "prepared or not, the same files are the same"
    with (root / SPLIT).open("a") as file:
        file.write("\n")
    assert fingerprint() == plain
    assert fingerprint(gold="test") != golden["test"]
    assert fingerprint(gold="full") == golden["full"]
    with (root / f"{CORPUS}hallu.txt_part_1").open("a") as file:
        file.write("又一篇\n")
    changed = fingerprint()
    assert changed not in (plain, *golden.values())
    (root / f"{CORPUS}hallu.txt_part_1").unlink()
    assert fingerprint() not in (plain, changed)


def test_a_split_s_fingerprint_leaves_other_splits_files_out(root: Path) -> None:
    def fingerprint(split: str | None) -> str:
        return builders.fingerprint(builders.open_builder("crud_rag", "summary", str(root), split=split)[0])

    test, full, both = fingerprint("test"), fingerprint("full"), fingerprint(None)
    assert len({test, full, both}) == 3
    (root / FULL).unlink()
    assert fingerprint("test") == fingerprint(None) == test


def test_options_of_rgb_enter_the_fingerprint() -> None:
    def fingerprint(**options: Any) -> str:
        return builders.fingerprint(builders.open_builder("rgb", "noise_robustness_zh", builders.SAMPLE, options)[0])

    plain = fingerprint()
    assert fingerprint(passage_num=5) == plain
    assert len({plain, fingerprint(passage_num=4), fingerprint(order="per_item")}) == 3


def test_what_was_prepared_in_part_is_read_in_part(root: Path, own_cache: Path) -> None:
    expected = {
        split: rows(builders.open_builder("crud_rag", "summary", str(root))[0], split) for split in ("test", "full")
    }
    whole = (root / FULL).read_bytes()
    (root / FULL).unlink()
    prepare("crud_rag", "summary", str(root))
    builder, source = builders.open_builder("crud_rag", "summary")
    assert source.text == f"{root} (split_merged.json: unverified), as prepared"
    assert builders.splits(builder) == ["test"]
    assert rows(builder, "test") == expected["test"]
    with pytest.raises(QuadragError, match=r"^summary was prepared with test alone, not full$"):
        rows(builder, "full")
    # A split that was not prepared is fetched.
    with pytest.raises(QuadragError, match=r"cannot fetch http://127\.0\.0\.1:9/.*/data/crud/merged\.zip"):
        builders.open_builder("crud_rag", "summary", split="full")
    (root / FULL).write_bytes(whole)
    prepare("crud_rag", "summary", str(root))
    for split in ("test", "full"):
        builder, source = builders.open_builder("crud_rag", "summary", split=split)
        assert source.prepared
        assert builders.splits(builder) == [split]
        assert rows(builder, split) == expected[split]
    # The newest is another one, but the older alone holds the split.
    (root / FULL).unlink()
    prepare("crud_rag", "summary", str(root))
    assert builders.splits(builders.open_builder("crud_rag", "summary")[0]) == ["test"]
    assert builders.splits(builders.open_builder("crud_rag", "summary", split="full")[0]) == ["full"]
    for info in own_cache.rglob("dataset_info.json"):
        info.write_text("{", encoding="utf-8")
    with pytest.raises(QuadragError, match=r"is damaged; remove .* and run `quadrag prepare` again"):
        builders.open_builder("crud_rag", "summary", split="full")


def test_options_read_files_even_where_something_is_prepared(root: Path, own_cache: Path) -> None:
    prepare("crud_rag", "corpus", str(root))
    assert builders.open_builder("crud_rag", "corpus", None, {"gold": None})[1].prepared
    with pytest.raises(QuadragError, match="cannot fetch"):
        builders.open_builder("crud_rag", "corpus", None, {"gold": "test"})


def test_a_build_keeps_the_newest_by_time(root: Path, own_cache: Path) -> None:
    prepare("crud_rag", "corpus", str(root))
    first = builders.fingerprint(builders.open_builder("crud_rag", "corpus")[0])
    (root / f"{CORPUS}hallu.txt_part_1").unlink()
    prepare("crud_rag", "corpus", str(root))
    second = builders.fingerprint(builders.open_builder("crud_rag", "corpus")[0])
    assert first != second
    (older,) = own_cache.rglob(f"{first}/{RECORD}")
    record = json.loads(older.read_text(encoding="utf-8"))
    os.utime(older)
    assert builders.fingerprint(builders.open_builder("crud_rag", "corpus")[0]) == first
    assert set(record) == {"script", "source", "sums", "sum"}


def test_a_file_that_lacks_the_task_is_not_among_those_that_decide_its_rows(root: Path) -> None:
    opened = builders.open_builder("crud_rag", "qa_1doc", str(root), None, "full")[0]
    content = json.loads((root / SPLIT).read_text(encoding="utf-8"))
    (root / SPLIT).write_text(json.dumps({"event_summary": content["event_summary"]}), encoding="utf-8")
    builder, source = builders.open_builder("crud_rag", "qa_1doc", str(root))
    assert builders.splits(builder) == ["full"]
    assert source.text == f"{root} (merged.zip: unverified)"
    assert builders.fingerprint(builder) == builders.fingerprint(opened)
    assert files.find_files("crud_rag", "qa_1doc", root) == ({FULL: root / FULL}, [])
