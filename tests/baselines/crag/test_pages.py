"""CRAG's HTML pipeline with the genuine MiniLM weights: what a question is shown of its pages."""

import json
from pathlib import Path

import numpy as np
import pytest
from chat_server import Rule

from quadrag.data.builders import open_builder, rows
from quadrag.records import read_jsonl

pytestmark = pytest.mark.serve


def test_the_sentences_most_like_the_question_fill_the_window(cli):
    pytest.importorskip("sentence_transformers")
    arguments = ("run", "crag", "task_1_2", "--retriever", "pages", "--split", "public", "--data-dir", "sample")
    code, out, err = cli(*arguments, "--limit", "3", "--out", "a")
    assert code == 0, err
    found = [row for _, row in read_jsonl(Path("a/retrieved.jsonl"))]
    assert len(found) == 3
    builder, _ = open_builder("crag", "task_1_2", "sample", None, "public")
    data = {row["id"]: row for row in rows(builder, "public")}
    from quadrag.retrieval.encoder import Encoder
    from quadrag.retrieval.webpage import locate_sentences

    encoder = Encoder("all-MiniLM-L6-v2")
    for row in found:
        shown = row["passages"]
        assert 0 < len(shown) <= 20 and sum(len(passage["text"]) for passage in shown) <= 4000
        # By plain means: every sentence of every page, its cosine with the question, the best twenty in order.
        candidates = list(locate_sentences(data[row["id"]]["page_result"]))
        cosines = encoder.documents(candidates) @ encoder.queries([data[row["id"]]["query"]])[0]
        best = np.sort(cosines)[::-1][: len(shown)]
        assert [passage["score"] for passage in shown] == pytest.approx(best.tolist(), abs=1e-4)
        assert all(any(candidate.startswith(passage["text"]) for candidate in candidates) for passage in shown)
    inputs = json.loads(Path("a/run.json").read_text())["digests"]
    assert inputs["retrieval"]["embedding"] == "all-MiniLM-L6-v2" and inputs["retrieval"]["web_window"] == 4000
    assert "embedding" in inputs["search"]
    code, out, _ = cli(*arguments, "--limit", "3", "--out", "a", "-v")
    assert code == 0 and "Settings: retriever pages" in " ".join(out.split())


def test_pages_and_facts_have_half_the_window_each(cli, server):
    pytest.importorskip("sentence_transformers")
    server.rules.append(Rule("reply", model="k", message={"content": '{"companies": ["Quillmark Systems"]}'}))
    entity = ("--entity-llm", f"{server.url}#k", "--ledger", "L")
    arguments = ("run", "crag", "task_1_2", "--retriever", "pages-kg", "--split", "public", "--data-dir", "sample")
    assert cli(*arguments, *entity, "--limit", "3", "--out", "a")[0] == 0
    for _, row in read_jsonl(Path("a/retrieved.jsonl")):
        sizes = {"kg": 0, "web": 0}
        for passage in row["passages"]:
            sizes[passage["id"].partition("/")[0]] += len(passage["text"])
        assert 0 < sizes["web"] <= 2000 and 0 < sizes["kg"] <= 2000
