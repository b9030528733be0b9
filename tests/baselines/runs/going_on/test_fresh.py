"""What is asked anew: all by --fresh, what was cut, empty or unreadable without; a stop in between loses nothing."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule
from kept_runs import ONE, answers, record
from rag_server import RagServer

from quadrag.chat.ledger import Ledger
from quadrag.run_record import read_run


@pytest.mark.parametrize("more", [("--fresh",), ("--retry", "cut"), ("--retry", "odd")])
def test_what_would_do_nothing_is_refused(cli, more):
    ran = cli(*ONE, *more, "--out", "r")
    assert ran.code == 2 and more[0] in ran.err and not Path("r").exists()


@pytest.mark.slow
def test_fresh_asks_anew_and_a_stopped_fresh_run_goes_on(cli, server):
    asked = (*ONE, "--llm", f"{server.url}#m", "--out", "r")
    assert cli(*asked).code == 0
    server.state.text = "a new answer"
    assert "shown again" in cli(*asked).out and server.requests == 4
    server.rules.append(Rule("reply", message={"content": "a new answer"}, times=2))
    server.rules.append(Rule("status", status=400, times=2))
    assert cli(*asked, "--fresh", "--concurrency", 1, "--max-failed", 1).code == 0
    assert answers("r").count("a new answer") == 2 and server.requests == 8, "two calls failed"
    assert cli(*asked).code == 0, "what failed is asked again, and what is fresh is not"
    assert answers("r") == ["a new answer"] * 4 and server.requests == 10
    server.state.text = "a third answer"
    assert cli(*asked, "--fresh").code == 0 and answers("r") == ["a third answer"] * 4
    with Ledger(Path("L")) as ledger:
        assert len(ledger) == 4, "the new reply takes the old one's place"


def test_several_fresh_runs_that_were_killed_go_on_with_what_was_unfinished(cli, server):
    asked = ("run", "--recipe", "rgb-table7-chatgpt-zh", "--data-dir", "sample", "--limit", 4, "--ledger", "L")
    asked = (*asked, "--llm", f"{server.url}#m", "--out", "r")
    first, second = (Path("r") / f"counterfactual_robustness_zh{end}" for end in ("-none", ""))
    assert cli(*asked, "--fresh").code == 0 and server.requests == 8
    killed = read_run(second)
    killed.state = "running"
    killed.write(second)
    server.state.text = "another answer"
    assert cli(*asked, "--fresh").code == 0 and server.requests == 8, "what the killed command asked is fresh"
    assert cli(*asked, "--fresh").code == 0 and server.requests == 16, "all was finished"
    assert answers(first) == answers(second) == ["another answer"] * 4
    assert record(first)["fresh"] == record(second)["fresh"]


def test_a_fresh_run_that_finds_the_server_dead_leaves_what_was_finished(cli, stages):
    with ChatServer() as server:
        asked = (*ONE, "--llm", f"{server.url}#m", "--out", "r")
        assert cli(*asked).code == 0
        before = stages(Path("r"))
    assert cli(*asked, "--fresh").code == 2
    assert stages(Path("r")) == before and record("r")["state"] == "finished"
    assert "shown again" in cli(*asked).out


@pytest.mark.slow
def test_fresh_holds_for_a_rag_service(cli):
    with RagServer([("d1", "", "The harbour is deep.")]) as service:
        asked = ("run", "crud_rag", "qa_1doc", "--data-dir", "sample", "--rag", service.url, "--ledger", "L")
        assert cli(*asked, "--out", "r").code == 0
        asked_before = len(service.bodies)
        assert cli(*asked, "--out", "r", "--fresh").code == 0 and len(service.bodies) == 2 * asked_before


@pytest.mark.slow
def test_cut_and_empty_replies_are_asked_again(cli, server):
    server.rules.append(Rule("reply", times=1, reply={"finish_reason": "length"}, message={"content": "half an ans"}))
    server.rules.append(Rule("reply", times=1, message={"content": ""}))
    asked = (*ONE, "--llm", f"{server.url}#m", "--concurrency", 1, "--out", "r")
    ran = cli(*asked, "--max-failed", 1)
    assert "half an ans" in answers("r") and "" in answers("r") and server.requests == 4
    assert "--retry cut,empty" in ran.out, "the closing line names it"
    assert "shown again" in cli(*asked).out and server.requests == 4
    assert cli(*asked, "--retry", "empty").code == 3 and server.requests == 5 and "" not in answers("r")
    ran = cli(*asked, "--retry", "cut,empty")
    assert server.requests == 6 and "half an ans" not in answers("r") and "--retry" not in ran.out
    cli(*asked, "--retry", "cut,empty")
    assert server.requests == 6
    with Ledger(Path("L")) as ledger:
        assert len(ledger) == 4


@pytest.mark.slow
def test_unreadable_verdicts_are_asked_again(cli, server, judge):
    rejects, judge.state.text = judge.state.text, "Well, who knows."
    asked = (*ONE, "--llm", f"{server.url}#m", "--judge", f"{judge.url}#j", "--out", "r")
    ran = cli(*asked)
    assert ran.code == 3 and "--retry unreadable" in ran.out
    first = judge.requests
    judge.state.text = rejects
    assert cli(*asked, "--retry", "cut").code == 3 and judge.requests == first
    ran = cli(*asked, "--retry", "unreadable")
    assert ran.code == 0 and judge.requests == 2 * first and "--retry" not in ran.out
    assert all(not row["unscored"] for row in json.loads(Path("r/scores.json").read_text(encoding="utf-8")))
    assert cli(*asked).code == 0 and judge.requests == 2 * first, "the new verdicts are kept"


def test_score_asks_again_too(cli, server, judge):
    assert cli(*ONE, "--llm", f"{server.url}#m", "--out", "r").code == 0
    rejects, judge.state.text = judge.state.text, "Well, who knows."
    asked = ("score", "r/answers.jsonl", "--data-dir", "sample", "--judge", f"{judge.url}#j", "--ledger", "L")
    assert cli(*asked).code == 3
    first, judge.state.text = judge.requests, rejects
    ran = cli(*asked, "--retry", "unreadable")
    assert ran.code == 0 and judge.requests == 2 * first
    assert f"judge {first} made" in ran.out
    assert cli(*asked, "--fresh").code == 0 and judge.requests == 3 * first
    again = cli(*asked)
    assert (
        judge.requests == 3 * first
        and f"0 made, {first} kept replies used\nkept replies: {judge.url}, oldest of" in again.out
    )


@pytest.mark.slow
def test_a_fresh_run_that_is_killed_asks_nothing_twice(cli, server, environment, tmp_path):
    asked = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample", "--llm", f"{server.url}#m")  # 12 questions
    asked = (*asked, "--ledger", "L", "--out", "r", "--concurrency", "1")
    assert cli(*asked).code == 0
    server.state.latency, server.state.text = 0.1, "new"
    code = "import sys; from quadrag.cli import main; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *asked, "--fresh"], env=environment(), stderr=subprocess.DEVNULL
    )
    while server.requests < 12 + 5:
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert cli(*asked, "--fresh").code == 0 and answers("r") == ["new"] * 12
    assert server.requests <= 12 + 12 + 1, "the call in flight alone is made again"
