"""Replies belong to the service that gave them, and to the model that the user named there; what is asked anew."""

import json
import re
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule
from rag_server import RagServer

from quadrag.chat.ledger import Ledger
from quadrag.records import read_jsonl
from quadrag.run_record import read_run

ONE = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample", "--limit", 4, "--ledger", "L")


def answers(folder):
    return [row["answer"] for _, row in read_jsonl(Path(folder, "answers.jsonl"))]


def record(folder):
    return json.loads(Path(folder, "run.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_another_server_with_the_same_model_name_is_asked_itself(cli, server):
    assert cli(*ONE, "--llm", f"{server.url}#m", "--out", "a").code == 0
    with ChatServer(text="another model's answer") as other:
        ran = cli(*ONE, "--llm", f"{other.url}#m", "--out", "b")
        assert ran.code == 0 and other.requests == 4
        told = f"4 kept replies are of another server and not used; --service '{server.url}' uses them"
        assert ran.err == f"quadrag: {told}\n"
        named = cli(*ONE, "--llm", f"{other.url}#m", "--service", server.url, "--out", "c")
        assert named.code == 0 and named.err == "" and other.requests == 4
    assert answers("b") == ["another model's answer"] * 4 and answers("c") == answers("a") != answers("b")
    assert record("b")["inputs"]["services"] == {"llm": other.url}
    assert record("c")["inputs"]["services"] == {"llm": server.url}


@pytest.mark.slow
def test_the_order_of_servers_is_no_matter_and_a_named_service_keeps_its_replies(cli):
    with ChatServer() as one, ChatServer() as two:
        assert cli(*ONE, "--llm", f"{one.url},{two.url}#m", "--out", "a").code == 0
        assert cli(*ONE, "--llm", f"{two.url},{one.url}#m", "--out", "b").code == 0
        assert one.requests + two.requests == 4
        assert cli(*ONE, "--llm", f"{one.url}#m", "--service", "ours", "--out", "c").code == 0
        assert cli(*ONE, "--llm", f"{two.url}#m", "--service", "ours", "--out", "d").code == 0
        assert one.requests + two.requests == 8


def test_a_folder_is_of_its_services(cli, server, judge):
    asked = (*ONE, "--llm", f"{server.url}#m", "--judge", f"{judge.url}#j", "--out", "r")
    assert cli(*asked).code == 0
    with ChatServer() as moved:
        ran = cli(*ONE, "--llm", f"{moved.url}#m", "--judge", f"{judge.url}#j", "--out", "r")
        assert ran.code == 2 and ran.err.count("\n") == 1
        assert f'give --service "{server.url}"' in ran.err and "--out" in ran.err
        kept = cli(*ONE, "--llm", f"{moved.url}#m", "--service", server.url, "--judge", f"{judge.url}#j", "--out", "r")
        assert "shown again" in kept.out and moved.requests == 0


def test_replies_say_from_where_and_since_when(cli, server):
    asked = (*ONE, "--llm", f"{server.url}#m")
    assert "calls: 4 made, 0 kept replies used\n" in cli(*asked, "--out", "a").out
    with Ledger(Path("L")) as ledger:
        oldest = sqlite3.connect(ledger.path).execute("SELECT min(json_extract(value, '$.created')) FROM replies")
        then = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(oldest.fetchone()[0]))
    ran = cli(*asked, "--out", "b")
    assert f"calls: 0 made, 4 kept replies used\nkept replies: {server.url}, oldest of {then}\n" in ran.out
    assert then in Path("b/report.html").read_text(encoding="utf-8")


def test_a_dead_server_is_told_where_all_replies_are_kept(cli):
    with ChatServer() as server:
        asked = (*ONE, "--llm", f"{server.url}#m")
        assert cli(*asked, "--out", "a").code == 0
    ran = cli(*asked, "--out", "b")
    assert ran.code == 0 and ran.err.count("\n") == 1 and answers("a") == answers("b")
    assert re.match(rf"quadrag: {server.url}\S* .*; all replies are kept ones$", ran.err.strip())
    assert cli(*asked, "--replay", "--out", "c").err == "", "a replay asks nobody"
    lacking = cli(*asked[:-2], "--llm", f"{server.url}#m", "--limit", 9, "--out", "d")
    assert lacking.code == 2 and lacking.err.count("\n") == 1 and "kept ones" not in lacking.err


def test_a_reply_of_no_known_service_is_for_replays_or_asked_for(cli, server):
    assert cli(*ONE, "--llm", f"{server.url}#m", "--out", "a").code == 0
    rewrite_as_version_1(Path("L"))
    assert cli(*ONE, "--llm", f"{server.url}#m", "--out", "b", "--replay").code == 0 and server.requests == 4
    ran = cli(*ONE, "--llm", f"{server.url}#m", "--out", "c", "--reuse-unnamed")
    assert ran.code == 0 and server.requests == 4
    ran = cli(*ONE, "--llm", f"{server.url}#m", "--out", "d")
    assert server.requests == 8 and "not used; --reuse-unnamed uses them" in ran.err
    assert answers("a") == answers("b") == answers("c")


def rewrite_as_version_1(path):
    db = sqlite3.connect(path)
    db.create_function("row_sum", 3, lambda *_: 0)
    rows = db.execute("SELECT key, value FROM replies").fetchall()
    db.executescript(
        "DROP TABLE replies; DROP TABLE claims; PRAGMA user_version=1;"
        "CREATE TABLE replies (key BLOB PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;"
    )
    db.executemany("INSERT INTO replies VALUES (?, ?)", rows)
    db.commit()
    db.close()


def test_a_name_that_the_server_does_not_list_is_refused_or_labelled(cli, server):
    server.state.models, server.state.any_model = ["tiny"], True
    asked = (*ONE, "--llm", f"{server.url}#gpt-4")
    ran = cli(*asked, "--out", "a")
    assert ran.code == 2 and server.requests == 0 and not Path("a").exists()
    told = f"{server.url} serves tiny, not gpt-4; type {server.url}#tiny; --served-as NAME is for a server"
    assert told in ran.err
    assert cli(*asked, "--served-as", "other", "--out", "a").code == 2
    assert "leave out --served-as" in cli(*ONE, "--llm", f"{server.url}#tiny", "--served-as", "x", "--out", "a").err
    ran = cli(*asked, "--served-as", "tiny", "--out", "a")
    assert ran.code == 0 and "gpt-4, served by tiny" in ran.out
    assert server.bodies[0]["model"] == "gpt-4"
    assert record("a")["inputs"]["served_as"] == {"llm": "tiny"}
    assert "gpt-4, served by tiny" in Path("a/report.html").read_text(encoding="utf-8")
    listed = server.listed
    assert cli(*asked, "--served-as", "tiny", "--replay", "--out", "b").code == 0 and server.listed == listed


def test_a_judge_that_is_not_listed_is_refused_or_labelled(cli, server, judge):
    judge.state.any_model = True
    asked = (*ONE, "--llm", f"{server.url}#m", "--judge", f"{judge.url}#gpt-4")
    ran = cli(*asked, "--out", "a")
    assert ran.code == 2 and judge.requests == 0 and "serves j, not gpt-4" in ran.err and "--judge-served-as" in ran.err
    ran = cli(*asked, "--judge-served-as", "j", "--out", "a")
    assert ran.code == 0 and record("a")["inputs"]["served_as"] == {"judge": "j"}
    assert "judge gpt-4; judge, served by j" in Path("a/report.html").read_text(encoding="utf-8")


def test_a_list_that_is_empty_or_none_says_nothing(cli, server):
    server.state.models, server.state.any_model = [], True
    assert cli(*ONE, "--llm", f"{server.url}#m", "--out", "a").code == 0


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--service", "x"), "--service is of a server, and extractive is none"),
        (("--served-as", "x"), "--served-as is of a server, and extractive is none"),
        (("--judge-service", "x"), "are of judges in their order, and none is named"),
        (("--fresh",), "--fresh is of models that are asked, and there is none"),
        (("--retry", "cut"), "--retry is of models that are asked, and there is none"),
        (("--reuse-unnamed",), "--reuse-unnamed is of models that are asked, and there is none"),
        (("--timeout", "2"), "--timeout is of models that are asked, and there is none; leave it out"),
        (("--rag", "http://127.0.0.1:9/rag", "--timeout", "2"), "there is none; --rag-timeout is the service's"),
        (("--retry", "odd"), "'odd' is none of unreadable, cut, empty"),
        (("--llm", "http://127.0.0.1:9/v1#m", "--replay", "--fresh"), "--replay asks for none; leave one out"),
        (("--rag", "http://127.0.0.1:9/rag", "--served-as", "x"), "a RAG service names its own"),
    ],
)
def test_what_would_do_nothing_is_refused(cli, more, why):
    ran = cli(*ONE, *more, "--out", "r")
    assert ran.code == 2 and why in ran.err and not Path("r").exists()


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
    assert cli(*asked, "--retry", "empty").code == 0 and server.requests == 5 and "" not in answers("r")
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


def test_a_service_is_named_without_its_secrets(cli, server):
    url = server.url.replace("://", "://user:password@")
    asked = (*ONE, "--llm", f"{url}?api_key=sesame-open#m", "--out", "a")
    assert cli(*asked).code == 0
    assert record("a")["inputs"]["services"] == {"llm": f"{server.url}?api_key=***"}
    assert b"sesame-open" not in Path("L").read_bytes() and b"password" not in Path("L").read_bytes()


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
def test_passages_of_the_user_outlast_a_model_that_is_corrected(cli, server):
    asked = ("run", "crud_rag", "qa_1doc", "--data-dir", "sample", "--limit", 2, "--ledger", "L", "--out", "r")
    dead = (*asked, "--llm", "http://127.0.0.1:9/v1#m")
    assert cli(*dead).code == 2
    passages = Path("r/retrieved.jsonl")
    own = passages.read_text(encoding="utf-8").replace('"text": "', '"text": "OWN ')
    passages.write_text(own, encoding="utf-8")
    assert cli(*dead).code == 2 and cli(*asked, "--llm", f"{server.url}#m").code == 0
    assert passages.read_text(encoding="utf-8") == own


@pytest.mark.slow
def test_a_judge_may_be_corrected_as_long_as_nothing_is_judged(cli, server, judge):
    asked = (*ONE, "--llm", f"{server.url}#m", "--out", "r")
    assert cli(*asked, "--judge", "http://127.0.0.1:9/v1#mistyped").code == 2 and len(answers("r")) == 4
    assert cli(*asked, "--judge", f"{judge.url}#j").code == 0 and server.requests == 4
    refused = cli(*asked, "--judge", f"{judge.url}#other", "--judge-served-as", "j")
    assert refused.code == 2 and "holds a run with judge" in refused.err
