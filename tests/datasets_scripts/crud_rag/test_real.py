"""CRUD-RAG's real files, as far as they are there: golden rows, and what is known of the files, held by the script.

Of the files' text nothing is kept here but digests and places.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quadrag.data import builders

QUESTIONS = "src/quest_eval/{}_quest_gt_save.json"


@pytest.fixture(scope="module")
def root(real_data: Callable[[str], Path]) -> Path:
    return real_data("CRUD_RAG")


@pytest.fixture(scope="module")
def corpus(root: Path) -> list[dict[str, Any]]:
    if len(list((root / "data" / "80000_docs").glob("documents_*"))) != 36:
        pytest.skip("not the 36 corpus files of the real-data pack")
    builder, source = builders.open_builder("crud_rag", "corpus", str(root))
    assert source.lacking.startswith("36 of 48 files")
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


def test_the_corpus_holds_what_is_known_of_it(corpus: list[dict[str, Any]]) -> None:
    assert len(corpus) + sum(len(row["aliases"]) for row in corpus) == 68798
    places = {f"{row['file']}:{row['line']}" for row in corpus} | {a for row in corpus for a in row["aliases"]}
    assert len(places) == 68798
    expected = [f"documents_dup_part_{part}_part_{number}" for part in range(1, 12) for number in (1, 2, 3)]
    expected += [f"documents_hallu.txt_part_{number}" for number in (1, 2, 3)]
    assert list(dict.fromkeys(row["file"] for row in corpus)) == expected


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
