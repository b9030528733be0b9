"""A run that failed, stopped or was finished, and the one after it: nothing is paid twice, nothing half-written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule
from rgb_runs import ONE, llm, rows

from quadrag.baselines.report.facts import show_time

DEAD = "http://127.0.0.1:9/v1"


def test_failures_are_unscored_and_the_next_run_asks_them_again(cli, server, stages):
    assert cli(*ONE, *llm(server, "L0"), "--out", "undisturbed").code == 0
    server.rules.append(Rule("status", status=400, times=2, match="Brinmouth"))
    server.rules.append(
        Rule("reply", times=1, match="Harrowmere", reply={"finish_reason": "length"}, message={"content": ""})
    )
    before = server.requests
    first = cli(*ONE, *llm(server), "--out", "r")
    assert first.code == 0 and "\n1 answer failed and is unscored" in first.out and "run again" in first.out
    states = [row["state"] for row in rows("r/answers.jsonl")]
    assert states.count("api_error") >= 1 and states.count("truncated") == 1
    scores = json.loads(Path("r/scores.json").read_text())
    assert all(sum(row["unscored"].values()) == 12 - states.count("ok") for row in scores if "not_run" not in row)
    assert "unscored" in first.out
    server.rules.clear()
    asked = server.requests
    second = cli(*ONE, *llm(server), "--out", "r")
    assert second.code == 0
    failed = states.count("api_error")
    assert server.requests - asked == failed, "what was paid for is not asked again"
    assert asked - before >= 12
    answers = rows("r/answers.jsonl")
    # A reply that was cut is a reply, and stays.
    assert [row["state"] for row in answers].count("truncated") == 1
    undisturbed = rows("undisturbed/answers.jsonl")
    assert [a for a, u in zip(answers, undisturbed, strict=True) if a["state"] == "ok"] == [
        u for a, u in zip(answers, undisturbed, strict=True) if a["state"] == "ok"
    ]
    third = server.requests
    cli(*ONE, *llm(server), "--out", "r")
    assert server.requests == third


def test_a_run_with_failures_and_then_again_is_equal_to_an_undisturbed_one(cli, server, judge, stages):
    both = ("--judge", f"{judge.url}#j")
    assert cli(*ONE, *llm(server, "L0"), *both, "--out", "undisturbed").code == 0
    server.rules.append(Rule("status", status=400, times=4))
    judge.rules.append(Rule("status", status=400, times=3))
    first = cli(*ONE, *llm(server), *both, "--out", "r", "--concurrency", 8)
    assert first.code == 3, "7 of 12 are more than a fifth"
    assert "4 answers failed" in first.out and "3 verdicts failed" in first.out
    assert stages(Path("r")) != stages(Path("undisturbed"))
    calls = (server.requests, judge.requests)
    second = cli(*ONE, *llm(server), *both, "--out", "r")
    assert second.code == 0 and "failed" not in second.out
    assert (server.requests - calls[0], judge.requests - calls[1]) == (4, 4 + 3)
    assert stages(Path("r")) == stages(Path("undisturbed"))
    assert "shown again" in cli(*ONE, *llm(server), *both, "--out", "r").out


def test_a_finished_folder_is_shown_again_without_a_call(cli, server, stages):
    first = cli(*ONE, *llm(server), "--out", "r")
    files = stages(Path("r"))
    record = Path("r/run.json").read_bytes()
    calls = server.requests
    Path("L").unlink()
    again = cli(*ONE, *llm(server), "--out", "r")
    date = show_time(json.loads(record)["started"])
    head = "Nothing was asked: the run was finished before and is shown again.\n"
    head += f"The answers shown again are of {date}; --fresh asks anew.\n"
    made = f"calls: {calls} made, 0 kept replies used\n"
    assert again.code == 0 and made in first.out
    none = "calls: 0 made by this command\n"
    told = first.out.replace(made, none + made.replace("calls", "calls of the run"))
    assert again.out == head + told.replace("\ntokens: ", "\ntokens of the run: ")
    assert server.requests == calls
    assert stages(Path("r")) == files and Path("r/run.json").read_bytes() == record


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        (("--temperature", "1"), "--temperature"),
        (("--limit", "5"), "limit"),
        (("--samples", "2"), "samples"),
        (("--retriever", "none"), "retriever"),
        (("--option", "passage_num=3"), "options"),
    ],
)
def test_a_run_with_other_inputs_is_refused(cli, server, stages, changed, word):
    assert cli(*ONE, *llm(server), "--out", "r").code == 0
    files, calls = stages(Path("r")), server.requests
    ran = cli(*ONE, *llm(server), "--out", "r", *changed)
    assert ran.code == 2 and ran.out == ""
    assert f"holds a run with {word}" in ran.err and ran.err.count("\n") == 1 and "--out" in ran.err
    assert stages(Path("r")) == files and server.requests == calls


def test_a_folder_where_nothing_is_answered_yet_may_be_taken_over(cli, server):
    failed = cli(*ONE, "--llm", f"{server.url}#mistyped", "--ledger", "L", "--out", "r")
    assert failed.code == 2 and "mistyped" in failed.err
    assert cli(*ONE, *llm(server), "--retriever", "none", "--out", "r").code == 0
    assert all(row["passages"] == [] for row in rows("r/retrieved.jsonl"))
    assert json.loads(Path("r/run.json").read_text())["inputs"]["llm"] == "m"


@pytest.mark.slow
def test_a_replay_needs_no_server(cli, judge, stages):
    with ChatServer() as server:
        both = (*llm(server), "--judge", f"{judge.url}#j")
        assert cli(*ONE, *both, "--out", "first").code == 0
        latency = json.loads(Path("first/run.json").read_text())["latency_seconds"]
    calls = judge.requests
    ran = cli(*ONE, *both, "--replay", "--out", "again")
    assert ran.code == 0, ran.err
    assert stages(Path("again")) == stages(Path("first"))
    assert json.loads(Path("again/run.json").read_text())["latency_seconds"] == latency, "a replay keeps the times"
    assert judge.requests == calls
    lacking = cli(*ONE, *both, "--replay", "--temperature", 1, "--out", "other")
    assert lacking.code == 2 and "12 of 12" in lacking.err and lacking.err.count("\n") == 1
    assert not Path("other/answers.jsonl").exists()


@pytest.mark.slow
def test_a_dead_server_leaves_nothing_half_written(cli, server, stages):
    ran = cli(*ONE, "--llm", f"{DEAD}#m", "--ledger", "L", "--out", "r")
    assert ran.code == 2 and ran.out == ""
    assert ran.err.startswith("quadrag: ") and ran.err.count("\n") == 1 and "127.0.0.1:9" in ran.err
    left = {path.name for path in Path("r").iterdir()} if Path("r").exists() else set()
    assert left <= {".lock", "run.json", "questions.jsonl", "retrieved.jsonl"}, "whole stages only"
    assert cli(*ONE, *llm(server), "--out", "r").code == 0
    assert cli(*ONE, *llm(server, "L0"), "--out", "undisturbed").code == 0
    assert stages(Path("r")) == stages(Path("undisturbed"))


@pytest.mark.slow
def test_a_judge_that_is_dead_leaves_the_answers(cli, server, judge, stages):
    ran = cli(*ONE, *llm(server), "--judge", f"{DEAD}#j", "--out", "r")
    assert (
        ran.code == 2
        and "INVALID, negative_rejection_en test: not judged: rejection_rate_judged; the judge j"
        in " ".join(ran.out.split())
        and not ran.err  # it is told in the table
    )
    assert len(rows("r/answers.jsonl")) == 12 and json.loads(Path("r/run.json").read_text())["state"] == "stopped"
    assert cli(*ONE, *llm(server), "--judge", f"{judge.url}#j", "--out", "r").code == 0
    assert server.requests == 12
    assert cli(*ONE, *llm(server, "L0"), "--judge", f"{judge.url}#j", "--out", "undisturbed").code == 0
    assert stages(Path("r")) == stages(Path("undisturbed"))


def test_what_a_killed_run_was_writing_is_swept_away(cli, server, stages):
    Path("r").mkdir()
    Path("r/.run.json.123.part").write_text('{"st')
    assert cli(*ONE, *llm(server), "--out", "r").code == 0
    Path("r/.scores.json.7.part").write_text("[")
    Path("r/scores.json").unlink()
    assert cli(*ONE, *llm(server), "--out", "r").code == 0
    assert [path.name for path in Path("r").glob(".*")] == [".lock"], "no stray file stays"


@pytest.mark.slow
def test_a_rerun_that_fails_leaves_a_finished_folder_finished(cli, server, stages):
    server.rules.append(Rule("status", match="Harrowmere", status=400, body={"error": "content filter"}))
    asked = (*ONE, *llm(server), "--out", "r")
    first = cli(*asked)
    assert first.code == 0 and "answers failed" in first.out
    files, record = stages(Path("r")), json.loads(Path("r/run.json").read_text())
    ran = cli(*asked)
    assert ran.code == 0 and "answers failed" in ran.out, "a refused call is no dead server"
    server.stop()
    ran = cli(*asked)
    assert ran.code == 2 and "Connection refused" in ran.err
    assert stages(Path("r")) == files
    assert json.loads(Path("r/run.json").read_text())["state"] == record["state"] == "finished"


def test_a_run_with_a_failed_call_can_be_replayed(cli, server, stages):
    server.rules.append(Rule("status", match="Harrowmere", status=400, body={"error": "content filter"}))
    assert cli(*ONE, *llm(server), "--out", "first").code == 0
    server.stop()
    ran = cli(*ONE, *llm(server), "--replay", "--out", "again")
    assert ran.code == 0, ran.err
    assert stages(Path("again")) == stages(Path("first"))


def test_a_cut_reply_is_not_asked_again(cli, server):
    server.rules.append(Rule("reply", reply={"finish_reason": "length"}, message={"content": "<think>on and on"}))
    ran = cli(*ONE, *llm(server), "--out", "r")
    assert ran.code == 3 and "run again" not in ran.out
    assert "12 of 12 replies are cut by length" in " ".join(ran.out.split())
    calls = server.requests
    ran = cli(*ONE, *llm(server), "--out", "r")
    assert "shown again" in ran.out and server.requests == calls


def test_two_runs_do_not_share_a_folder_whatever_their_caches(cli, monkeypatch):
    from quadrag.baselines.runs.folder import lock_folder

    with lock_folder(Path("r")):
        Path("link").symlink_to("r")
        for cache, out in (("one", "r"), ("another", "r"), ("another", "link")):
            monkeypatch.setenv("QUADRAG_CACHE", cache)
            ran = cli(*ONE, "--out", out)
            assert ran.code == 2 and f"another run is at work in {out}" in ran.err
    assert cli(*ONE, "--out", "r").code == 0
