"""CRUD-RAG's corpus: a document a line, copies as aliases, gold documents behind it, and its options."""

import shutil
from pathlib import Path

import pytest
from crud_rag_files import CORPUS, FULL, HALLU, QA, SPLIT, SUMMARY, body_id, corpus, merged, refusal, rows

from quadrag.data import builders


def test_the_corpus_is_one_document_a_line_in_numerical_order(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        dup_part_10_part_1="，正文：丁\n",
        dup_part_2_part_3="7-28 13:35，正文：甲，正文：乙\n\n  \u3000\r\n2023，正文：\n\ufeff\n丙\u2028\x0b\x1c丙",
        hallu_part_1="  无前缀的一篇 \t\u00a0\r\n",
    )
    found = rows("corpus", "corpus", tmp_path)
    assert [(row["file"], row["line"], row["date"], row["body"]) for row in found] == [
        ("documents_dup_part_2_part_3", 1, "7-28 13:35", "甲，正文：乙"),
        ("documents_dup_part_2_part_3", 6, "", "丙\u2028\x0b\x1c丙"),
        ("documents_dup_part_10_part_1", 1, "", "丁"),
        ("documents_hallu.txt_part_1", 1, "", "  无前缀的一篇 \t\u00a0"),
    ]
    assert [row["id"] for row in found] == [body_id(row["body"]) for row in found]
    assert all(row["aliases"] == [] and row["gold"] is False for row in found)


def test_a_corpus_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    corpus(tmp_path, dup_part_1_part_1="甲\n", dup_part_1_part_2="乙\n丙\n".encode() + "丁".encode("gb18030"))
    path = tmp_path / f"{CORPUS}dup_part_1_part_2"
    assert refusal("corpus", "corpus", tmp_path).startswith(f"{path}:3")
    path.write_text("\n \n")
    (tmp_path / f"{CORPUS}dup_part_1_part_1").write_text("")
    assert "part_1_part_2" in refusal("corpus", "corpus", tmp_path)


GOLD_A, GOLD_B, GOLD_C = "2023-08-01，正文：金 甲", "金乙", "，正文：金丙"


@pytest.fixture
def with_gold(tmp_path: Path) -> Path:
    corpus(tmp_path, dup_part_1_part_1="2023，正文：甲\n", hallu_part_1="金 乙\n")
    test = {
        "event_summary": [SUMMARY | {"text": GOLD_A}],
        "questanswer_1doc": [QA | {"news1": GOLD_C}],
        "questanswer_2docs": [QA | {"news1": GOLD_C, "news2": GOLD_A}],
        "hallu_modified": [HALLU, HALLU | {"ID": "b", "newsRemainder": GOLD_B}],
    }
    merged(tmp_path, test)
    return merged(tmp_path, {"event_summary": [SUMMARY | {"text": GOLD_C}]}, FULL)


def test_gold_documents_stand_behind_the_corpus(with_gold: Path) -> None:
    plain = rows("corpus", "corpus", with_gold)
    assert [row["body"] for row in plain] == ["甲", "金 乙"]
    assert rows("corpus", "corpus", with_gold, gold=None) == plain
    found = rows("corpus", "corpus", with_gold, gold="test")
    assert [(row["file"], row["line"], row["body"], row["gold"]) for row in found] == [
        ("documents_dup_part_1_part_1", 1, "甲", False),
        ("documents_hallu.txt_part_1", 1, "金 乙", True),
        ("split_merged.json:questanswer_1doc", 1, "金丙", True),
        ("split_merged.json:questanswer_2docs", 1, "金 甲", True),
        ("split_merged.json:hallu_modified", 1, "其余", True),
    ]
    assert [row["aliases"] for row in found] == [
        [],
        ["split_merged.json:hallu_modified:2"],
        ["split_merged.json:questanswer_2docs:1"],
        ["split_merged.json:event_summary:1"],
        [],
    ]
    assert found[3]["date"] == "2023-08-01"
    ids = {row["id"] for row in found}
    for config in ("summary", "qa_1doc", "qa_2doc", "hallucination"):
        assert all(set(row["document_ids"]) <= ids for row in rows(config, "test", with_gold))
    full = rows("corpus", "corpus", with_gold, gold="full")
    assert [(row["file"], row["gold"]) for row in full[2:]] == [("merged.zip:event_summary", True)]


def test_gold_asks_for_the_task_file(with_gold: Path) -> None:
    builder, source = builders.open_builder("crud_rag", "corpus", str(with_gold), {"gold": "test"})
    assert builder.config.files_of("corpus")[-1] == builder.config.files[-1] == SPLIT
    assert len(builder.config.files) == 49
    assert source.lacking.startswith("3 of 49 files")
    (with_gold / SPLIT).unlink()
    assert SPLIT in refusal("corpus", "corpus", with_gold, gold="test")
    merged(with_gold, {"tasks": []})
    assert "tasks" in refusal("corpus", "corpus", with_gold, gold="test")
    shutil.rmtree(with_gold / CORPUS.rsplit("/", 1)[0])
    assert f"{CORPUS}dup_part_1_part_1" in refusal("corpus", "corpus", with_gold, gold="full")
