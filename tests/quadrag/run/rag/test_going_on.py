"""A run against a RAG service that failed, died or was killed, and the one after it."""

import json
from pathlib import Path

import pytest
from rag_runs import QA, lines, ranking, values
from rag_server import Rule

from quadrag.benchmark import load
from quadrag.errors import QuadragError
from quadrag.loading import load_questions

pytestmark = pytest.mark.plugins


@pytest.mark.slow
def test_failures_are_unscored_in_both_parts_and_the_next_run_asks_them_again(run, server, stages):
    run(server.url, out="undisturbed", ledger="L0")
    queries = [question.query for question in load_questions(QA, load("crud_rag"))[0]]
    server.rules += [
        Rule("status", match=queries[0], status=400, body={"detail": "no"}),
        Rule("body", match=queries[1], body={"reply": "x"}),
        Rule("merge", match=queries[2], body={"passages": "x"}),
        Rule("body", match=queries[3], body={"answer": None}),
    ]
    first = run(server.url, concurrency=8)
    states = [row["state"] for row in lines("r/answers.jsonl")]
    assert states == ["api_error", *["unparsable"] * 3, *["ok"] * 4]
    assert [bool(row["passages"]) for row in lines("r/retrieved.jsonl")] == [False] * 4 + [True] * 4
    assert len(first.record.failures) == 4 and any("reply" in why for why in first.record.failures.values())
    for row in (values(first)["crud_overlap", "rouge_l"], ranking(first)["mrr"]):
        assert row["unscored"] == {"api_error": 1, "unparsable": 3} and (row["n_total"], row["n_scored"]) == (8, 4)
    kept = json.loads(Path("r/scores.json").read_text(encoding="utf-8"))
    mrr = {row["profile"]: row["value"] for row in kept if (row["slice"], row["key"]) == ("all", "mrr")}
    assert mrr["corrected"] == pytest.approx(mrr["official"] / 2), "a failed call counts as nothing found"
    server.rules.clear()
    requests = server.requests
    second = run(server.url)
    assert server.requests - requests == 4 and not second.record.failures
    assert stages(Path("r")) == stages(Path("undisturbed"))


def test_a_service_that_dies_on_failed_calls_leaves_the_finished_run(run, server, stages):
    server.rules.append(Rule("status", times=1, status=400))
    run(server.url, concurrency=8)
    before = stages(Path("r"))
    server.rules.append(Rule("status", status=404))
    with pytest.raises(QuadragError, match="answered 404"):
        run(server.url)
    assert stages(Path("r")) == before and json.loads(Path("r/run.json").read_text())["state"] == "finished"
