"""A model or a judge that was named wrongly is named anew, as long as nothing was asked of it."""

from pathlib import Path

import pytest
from chat_server import ChatServer
from kept_runs import ONE, answers, record


@pytest.mark.slow
def test_a_dead_judge_may_be_corrected_after_a_run_without_one(cli, server, judge):
    server.state.text = "Paris"
    asked = ("run", "crag", "task_1_2", "--data-dir", "sample", "--ledger", "L", "--out", "r")
    asked = (*asked, "--llm", f"{server.url}#m")
    assert cli(*asked, "--limit", 3).code == 0
    # New answers are made, so that the folder is not as it was.
    assert cli(*asked, "--limit", 8, "--judge", "http://127.0.0.1:9/v1#j").code == 2
    assert "judge" not in record("r")["inputs"]["services"] and len(answers("r")) == 8
    assert cli(*asked, "--limit", 8, "--judge", f"{judge.url}#j").code in (0, 3)
    assert record("r")["inputs"]["services"]["judge"] == judge.url and server.requests == 8


def test_a_model_may_be_corrected_where_a_budget_let_nothing_be_asked(cli, server):
    Path("prices.yaml").write_text("m: {input: 1, output: 1}\n", encoding="utf-8")
    asked = (*ONE, "--max-tokens", 9, "--out", "r")
    with ChatServer() as other:
        poor = cli(*asked, "--llm", f"{other.url}#m", "--prices", "prices.yaml", "--budget", 1e-9)
        assert poor.code == 2 and other.requests == 0 and "0 of 4 answers" in poor.err
    assert cli(*asked, "--llm", f"{server.url}#m").code == 0 and server.requests == 4


@pytest.mark.slow
def test_a_judge_may_be_corrected_as_long_as_nothing_is_judged(cli, server, judge):
    asked = (*ONE, "--llm", f"{server.url}#m", "--out", "r")
    assert cli(*asked, "--judge", "http://127.0.0.1:9/v1#mistyped").code == 2 and len(answers("r")) == 4
    assert cli(*asked, "--judge", f"{judge.url}#j").code == 0 and server.requests == 4
    refused = cli(*asked, "--judge", f"{judge.url}#other", "--judge-served-as", "j")
    assert refused.code == 2 and "holds a run with judge" in refused.err
