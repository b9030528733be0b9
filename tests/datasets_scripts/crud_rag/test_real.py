"""CRUD-RAG's real files, as far as they are there: golden rows, of which digests alone are kept."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sample_rows import digest

from quadrag.data import builders


@pytest.mark.slow
def test_golden_corpus(real_data: Callable[[str], Path]) -> None:
    root = real_data("CRUD_RAG")
    if len(list((root / "data" / "80000_docs").glob("documents_*"))) != 36:
        pytest.skip("not the 36 corpus files of the real-data pack")
    builder, source = builders.open_builder("crud_rag", "corpus", str(root))
    assert source.lacking.startswith("36 of 48 files")
    corpus = list(builders.rows(builder, "corpus"))
    assert len({row["id"] for row in corpus}) == len(corpus) == 68126
    assert len(corpus) + sum(len(row["aliases"]) for row in corpus) == 68798
    assert digest(corpus) == "3a90be4bf9969baf1b5814051cb977e3bd7e0e48b1b2c70af1c5a42ca52ec78c"


def test_golden_summary(real_data: Callable[[str], Path]) -> None:
    root = real_data("CRUD_RAG")
    if not (root / "data/crud_split/split_merged.json").is_file():
        pytest.skip(f"no split_merged.json in {root}")
    builder, _ = builders.open_builder("crud_rag", "summary", str(root))
    assert builders.splits(builder) == ["test"]
    summary = list(builders.rows(builder, "test"))
    assert len(summary) == 900
    assert digest(summary) == "168481378601f9495e39e16cd94d8fd452ec3bd687661a30e96bdf8487011919"
