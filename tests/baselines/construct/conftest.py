"""Documents to make datasets of: articles of CRUD-RAG's sample."""

import json
import shutil
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from chat_server import ChatServer
from maker_model import Knowing

from quadrag import cli
from quadrag.data.builders import SAMPLE, open_builder, rows

TABLE = Path(__file__).parents[3] / "baselines" / "crag" / "construct" / "sample"


@pytest.fixture(scope="session")
def documents(tmp_path_factory):
    """A folder with 60 of the articles as JSON Lines."""
    builder, _ = open_builder("crud_rag", "corpus", SAMPLE, None, "corpus")
    folder = tmp_path_factory.mktemp("documents")
    lines = [{"id": row["id"], "text": row["body"]} for row in islice(rows(builder, "corpus"), 60)]
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    (folder / "news.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def _made(documents, tmp_path_factory):
    @cache
    def make(recipe):
        out = tmp_path_factory.mktemp("made") / recipe
        line = ["construct", recipe, "--out", str(out), "--licence", "CC BY 4.0"]
        if recipe == "crag":
            table, templates, pages = (TABLE / name for name in ("table.csv", "templates.yaml", "pages"))
            files = ["--table", str(table), "--templates", str(templates), "--documents", str(pages)]
            assert cli.main([*line, *files]) == 0
            return out
        with ChatServer(text=Knowing()) as server:
            asked = ["--llm", f"{server.url}#m", "--ledger", str(out.parent / "ledger.sqlite")]
            assert cli.main([*line, "--documents", str(documents), *asked]) == 0
        return out

    return make


@pytest.fixture
def made(_made, tmp_path):
    """A function that returns a dataset made by a recipe; a copy of the test's own."""

    def copy(recipe):
        return Path(shutil.copytree(_made(recipe), tmp_path / recipe))

    return copy
