"""Documents to make datasets of: articles of CRUD-RAG's sample."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

from quadrag.data.builders import SAMPLE, open_builder, rows


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 60 of the articles as JSON Lines."""
    builder, _ = open_builder("crud_rag", "corpus", SAMPLE, None, "corpus")
    folder = tmp_path_factory.mktemp("documents")
    lines = [{"id": row["id"], "text": row["body"]} for row in islice(rows(builder, "corpus"), 60)]
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    (folder / "news.jsonl").write_text(text, encoding="utf-8")
    return folder
