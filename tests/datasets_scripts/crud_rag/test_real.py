"""CRUD-RAG's real files, as far as they are there: golden rows, and what is known of the files, held by the script.

Of the files' text nothing is kept here but digests and places.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quadrag import catalogue
from quadrag.data import builders
from quadrag.data.files import find_files
from quadrag.errors import QuadragError

QUESTIONS = "src/quest_eval/{}_quest_gt_save.json"


@pytest.fixture(scope="module")
def root(real_data: Callable[[str], Path]) -> Path:
    return real_data("CRUD_RAG")


@pytest.fixture(scope="module")
def corpus(root: Path) -> list[dict[str, Any]]:
    if len(list((root / "data" / "80000_docs").glob("documents_*"))) != 36:
        pytest.skip("not the 36 corpus files of the real-data pack")
    builder, source = builders.open_builder("crud_rag", "corpus", str(root))
    assert source.text == (
        f"{root} (36 of 48 files, lacking documents_dup_part_12_part_1 to documents_dup_part_15_part_3; "
        "a part of the authors' own data)"
    )
    return list(builders.rows(builder, "corpus"))


@pytest.fixture(scope="module")
def summary(root: Path) -> list[dict[str, Any]]:
    if not (root / "data/crud_split/split_merged.json").is_file():
        pytest.skip(f"no split_merged.json in {root}")
    builder, _ = builders.open_builder("crud_rag", "summary", str(root))
    assert builders.splits(builder) == ["test"]
    return list(builders.rows(builder, "test"))


def digest(rows: list[dict[str, Any]]) -> str:
    return hashlib.sha256("\n".join(json.dumps(row, sort_keys=True) for row in rows).encode()).hexdigest()


@pytest.mark.slow
def test_golden_corpus(corpus: list[dict[str, Any]]) -> None:
    assert len(corpus) == 68126
    assert len({row["id"] for row in corpus}) == 68126
    shown = [(corpus[at]["id"][:16], corpus[at]["file"], corpus[at]["line"]) for at in (0, 34063, -1)]
    assert shown == [
        ("881486c83d31b7ff", "documents_dup_part_1_part_1", 1),
        ("00f8c52fc74a16e3", "documents_dup_part_6_part_3", 1288),
        ("2161fef330656653", "documents_hallu.txt_part_3", 1710),
    ]
    assert digest(corpus) == "3a90be4bf9969baf1b5814051cb977e3bd7e0e48b1b2c70af1c5a42ca52ec78c"


def test_the_corpus_holds_what_is_known_of_it(root: Path, corpus: list[dict[str, Any]]) -> None:
    assert len(corpus) + sum(len(row["aliases"]) for row in corpus) == 68798
    places = {f"{row['file']}:{row['line']}" for row in corpus} | {a for row in corpus for a in row["aliases"]}
    assert len(places) == 68798
    expected = [f"documents_dup_part_{part}_part_{number}" for part in range(1, 12) for number in (1, 2, 3)]
    expected += [f"documents_hallu.txt_part_{number}" for number in (1, 2, 3)]
    assert list(dict.fromkeys(row["file"] for row in corpus)) == expected
    script = catalogue.load_script(catalogue.benchmarks()["crud_rag"])
    found, _ = find_files("crud_rag", "corpus", root)
    read = [(name, number, *script.split_document(text)) for name, number, text in script._lines(found)]
    lines = [line for line in read if line[3]]
    assert len(lines) == 68798
    sizes = Counter(line[0] for line in lines)
    assert [sizes[f"documents_dup_part_7_part_{number}"] for number in (1, 2, 3)] == [1930, 1930, 1928]
    assert [sizes[f"documents_hallu.txt_part_{number}"] for number in (1, 2, 3)] == [1710, 1710, 1710]
    dup = [line for line in lines if "dup" in line[0]]
    prefixes = [len(date) for _, _, date, _ in dup]
    assert (prefixes.count(0), max(prefixes)) == (7969, 219)
    assert (sum(length > 30 for length in prefixes), sum(length > 60 for length in prefixes)) == (1280, 143)
    raw = [f"{date}，正文：{body}" if "dup" in name else body for name, _, date, body in lines]
    assert all(date == "" for name, _, date, _ in lines if "hallu" in name)
    assert (round(statistics.mean(map(len, raw)), 1), statistics.median(map(len, raw))) == (699.7, 677)
    assert (min(map(len, raw)), max(map(len, raw))) == (135, 1181)
    assert [sum(odd in text for text in raw) for odd in ("\u00a0", "\t", "\ufeff")] == [4878, 583, 30]
    assert len(raw) - len(set(raw)) == 577


def test_golden_summary(summary: list[dict[str, Any]]) -> None:
    assert len(summary) == 900
    shown = [summary[at]["id"] for at in (0, 450, -1)]
    assert shown == [
        "64fa9b31b82641eb8ecc0662",
        "64fa9b2eb82641eb8ecbfc29",
        "64fa9b27b82641eb8ecbe24c",
    ]
    assert digest(summary) == "168481378601f9495e39e16cd94d8fd452ec3bd687661a30e96bdf8487011919"
    assert all(row["query"] == row["event"] and row["reference"] for row in summary)
    assert all(len(row["documents"]) == len(row["document_ids"]) == 1 for row in summary)
    assert " " in {row["url"] for row in summary}


@pytest.mark.slow
def test_gold_documents_are_not_in_the_corpus_but_by_the_option(
    root: Path, corpus: list[dict[str, Any]], summary: list[dict[str, Any]]
) -> None:
    gold = {identity for row in summary for identity in row["document_ids"]}
    assert len(gold) == 900
    assert not gold & {row["id"] for row in corpus}
    builder, source = builders.open_builder("crud_rag", "corpus", str(root), {"gold": "test"})
    assert "; split_merged.json: unverified)" in source.text
    whole = list(builders.rows(builder, "corpus"))
    assert whole[: len(corpus)] == corpus
    assert {row["id"] for row in whole[len(corpus) :]} == gold
    assert [row["line"] for row in whole[len(corpus) :]] == list(range(1, 901))
    assert {row["file"] for row in whole[len(corpus) :]} == {"split_merged.json:event_summary"}
    assert [row["gold"] for row in whole] == [False] * len(corpus) + [True] * 900


@pytest.mark.parametrize(
    ("split", "name", "empty", "unlike"),
    [("qa_1doc", "QuestAnswer1Doc", 33, 0.88), ("qa_2doc", "QuestAnswer2Docs", 13, 0.97)],
)
def test_question_files_hold_what_is_known_of_them(
    root: Path, split: str, name: str, empty: int, unlike: float
) -> None:
    if not (root / QUESTIONS.format(name)).is_file():
        pytest.skip(f"no {name}_quest_gt_save.json in {root}")
    builder, _ = builders.open_builder("crud_rag", "ragquesteval", str(root), split=split)
    found = list(builders.rows(builder, split))
    assert len(found) == len({row["id"] for row in found}) == 800
    assert (found[0]["id"], found[0]["task"]) == ("64fa9b27b82641eb8ecbe14d", split)
    assert sum(not row["answers"] for row in found) == empty
    assert round(sum(len(row["key_info"]) != len(row["questions"]) for row in found) / 800, 2) == unlike


def test_what_the_pack_lacks_is_named(root: Path) -> None:
    if (root / "data/crud/merged.zip").exists():
        pytest.skip("merged.zip is there")
    with pytest.raises(QuadragError) as caught:
        builders.open_builder("crud_rag", "qa_1doc", str(root))
    assert str(caught.value) == (
        f"{root} lacks questanswer_1doc in data/crud_split/split_merged.json (it holds event_summary), "
        "data/crud/merged.zip, which crud_rag qa_1doc needs"
    )
