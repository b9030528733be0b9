"""A run that failed, stopped, was killed or finished, and the one after it: nothing is paid twice or half-written."""

import json
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule
from kept_runs import ONE as FOUR
from kept_runs import answers, record
from rgb_runs import ONE, llm, rows

from quadrag.chat.ledger import Ledger
from quadrag.systems.models import ChatModel

pytestmark = pytest.mark.plugins

DEAD = "http://127.0.0.1:9/v1"
CUT = Rule("reply", times=1, match="Harrowmere", reply={"finish_reason": "length"}, message={"content": ""})


def refused(ran, word):
    assert ran.code == 2 and word in ran.err and ran.err.count("\n") == 1, ran.err


def test_failures_are_unscored_and_the_next_run_asks_them_again(cli, server, judge, stages):
    asked = (*ONE, *llm(server), "--judge", f"{judge.url}#j", "--out", "r")
    whole = (*ONE, *llm(server, "L0"), "--judge", f"{judge.url}#j", "--out", "undisturbed")
    assert cli(*whole).code == 0
    server.rules.append(Rule("status", status=400, times=4))
    judge.rules.append(Rule("status", status=400, times=3))
    assert cli(*asked, "--concurrency", 8).code == 3, "7 of 12 are more than a fifth"
    assert [row["state"] for row in rows("r/answers.jsonl")].count("api_error") == 4
    assert record("r")["failed_verdicts"] == 3 and len(record("r")["failures"]) == 4
    for row in json.loads(Path("r/scores.json").read_text()):
        assert row["unscored"] == {"api_error": 7 if row["key"] == "rejection_rate_judged" else 4}
    calls = (server.requests, judge.requests)
    assert cli(*asked).code == 0
    assert (server.requests - calls[0], judge.requests - calls[1]) == (4, 4 + 3)
    assert stages(Path("r")) == stages(Path("undisturbed"))
    files, written = stages(Path("r")), Path("r/run.json").read_bytes()
    Path("L").unlink()
    again = cli(*asked)
    assert again.code == 0 and server.requests == calls[0] + 4, "a finished folder is shown again without a call"
    assert stages(Path("r")) == files and Path("r/run.json").read_bytes() == written


def test_a_reply_that_was_cut_is_not_asked_again_and_a_refused_call_can_be_replayed(cli, server, stages):
    server.rules += [CUT, Rule("status", match="Brinmouth", status=400, body={"error": "content filter"})]
    asked = (*ONE, *llm(server), "--out", "r")
    assert cli(*asked).code == 0
    assert {"truncated", "api_error"} < {row["state"] for row in rows("r/answers.jsonl")}
    calls, failed = server.requests, len(record("r")["failures"])
    assert cli(*asked).code == 0 and server.requests == calls + failed, "a refused call is no dead server"
    files = stages(Path("r"))
    server.stop()
    ran = cli(*asked)
    assert ran.code == 2 and "Connection refused" in ran.err
    assert stages(Path("r")) == files and record("r")["state"] == "finished"
    assert cli(*ONE, *llm(server), "--replay", "--out", "again").code == 0
    assert stages(Path("again")) == files


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        (("--temperature", "1"), "system.parameters.temperature"),
        (("--limit", "5"), "limit"),
        (("--samples", "2"), "samples"),
        (("--retriever", "none"), "retriever"),
        (("--option", "passage_num=3"), "options"),
    ],
)
def test_a_run_with_other_inputs_is_refused(cli, server, stages, changed, word):
    assert cli(*ONE, *llm(server), "--out", "r").code == 0
    files, calls = stages(Path("r")), server.requests
    refused(cli(*ONE, *llm(server), "--out", "r", *changed), f"holds a run with {word}")
    assert stages(Path("r")) == files and server.requests == calls


def test_a_replay_needs_no_server(cli, judge, stages):
    with ChatServer() as server:
        both = (*llm(server), "--judge", f"{judge.url}#j")
        assert cli(*ONE, *both, "--out", "first").code == 0
    calls = judge.requests
    assert cli(*ONE, *both, "--replay", "--out", "again").code == 0
    assert stages(Path("again")) == stages(Path("first")) and judge.requests == calls
    assert record("again")["latency_seconds"] == record("first")["latency_seconds"], "a replay keeps the times"
    refused(cli(*ONE, *both, "--replay", "--temperature", 1, "--out", "other"), "the 12 replies")
    assert not Path("other/answers.jsonl").exists()


def test_a_dead_server_or_judge_leaves_whole_stages_and_may_be_corrected(cli, server, judge, stages):
    refused(cli(*ONE, "--llm", f"{DEAD}#m", "--ledger", "L", "--out", "r"), "127.0.0.1:9")
    left = {path.name for path in Path("r").iterdir()}
    assert left <= {".lock", "run.json", "questions.jsonl", "retrieved.jsonl"}
    Path("r/.run.json.123.part").write_text('{"st')  # of a run that was killed
    assert cli(*ONE, *llm(server), "--judge", f"{DEAD}#mistyped", "--out", "r").code == 2
    assert len(rows("r/answers.jsonl")) == 12 and record("r")["state"] == "stopped"
    assert cli(*ONE, *llm(server), "--judge", f"{judge.url}#j", "--out", "r").code == 0 and server.requests == 12
    assert cli(*ONE, *llm(server, "L0"), "--judge", f"{judge.url}#j", "--out", "undisturbed").code == 0
    assert stages(Path("r")) == stages(Path("undisturbed"))
    assert [path.name for path in Path("r").glob(".*")] == [".lock"], "no stray file stays"


def test_two_runs_do_not_share_a_folder_whatever_their_caches(cli, monkeypatch):
    from quadrag.run.folder import lock_folder

    with lock_folder(Path("r")):
        Path("link").symlink_to("r")
        for cache, out in (("one", "r"), ("another", "r"), ("another", "link")):
            monkeypatch.setenv("QUADRAG_CACHE", cache)
            refused(cli(*ONE, "--out", out), out)
    assert cli(*ONE, "--out", "r").code == 0


def test_a_judge_is_added_to_a_finished_run_and_no_other_one_after_it(cli, server, judge, stages):
    asked = (*ONE, "--llm", f"{server.url}#m")
    judged = (*asked, "--judge", f"{judge.url}#j")
    assert cli(*judged, "--ledger", "L0", "--out", "whole").code == 0
    calls = server.requests
    assert cli(*asked, "--ledger", "L", "--out", "r").code == 0
    files, written = stages(Path("r")), record("r")
    assert cli(*asked, "--judge", f"{DEAD}#j", "--ledger", "L", "--out", "r").code == 2
    assert stages(Path("r")) == files and record("r") == written, "what is finished stays"
    assert cli(*judged, "--ledger", "L", "--out", "r").code == 0
    assert server.requests == 2 * calls, "no answer was asked for twice"
    assert stages(Path("r")) == stages(Path("whole")) and record("r")["identity"] == record("whole")["identity"]
    assert (record("r")["state"], record("r")["stopped"]) == ("finished", None)
    for more in ((), ("--judge", f"{DEAD}#other")):
        refused(cli(*asked, *more, "--ledger", "L", "--out", "r"), "judge")
    assert stages(Path("r")) == stages(Path("whole"))


def test_a_run_that_is_interrupted_goes_on_and_a_finished_one_stays(cli, server, stages, monkeypatch):
    def interrupt(*more):
        with monkeypatch.context() as patch:
            patch.setattr(ChatModel, "answer", stop)
            assert cli(*asked, *more).code == 130

    def stop(model, work, questions, *more, **named):
        answer(model, work, questions[:2], *more, **named)
        raise KeyboardInterrupt

    answer = ChatModel.answer
    asked = (*ONE, *llm(server), "--out", "r")
    assert cli(*ONE, *llm(server, "L0"), "--out", "whole").code == 0
    interrupt()
    assert cli(*asked).code == 0 and stages(Path("r")) == stages(Path("whole"))
    told = record("r")
    interrupt("--fresh")
    assert stages(Path("r")) == stages(Path("whole")) and record("r") == told
    calls = server.requests
    assert cli(*asked, "--fresh").code == 0 and server.requests == calls + 10, "two of twelve are fresh"


def test_a_budget_stops_cleanly_and_only_the_rest_is_paid_for(cli, server, stages):
    Path("prices.yaml").write_text("m: {input: 1000000, output: 1000000}\n")  # 1 a token
    paid = ("--prices", "prices.yaml", "--max-tokens", 10, "--concurrency", 1)
    assert cli(*ONE, *llm(server, "L0"), *paid, "--out", "undisturbed").code == 0
    whole, before = record("undisturbed")["usage"]["llm"]["cost"], server.requests
    assert cli(*ONE, *llm(server), *paid, "--budget", 1e-9, "--out", "poor").code == 2 and server.requests == before
    ran = cli(*ONE, *llm(server), *paid, "--budget", whole * 0.75, "--out", "r")
    done, first = server.requests - before, record("r")["usage"]["llm"]["cost"]
    assert ran.code == 2 and "PARTIAL" in ran.out and 0 < done < 12 and 0 < first <= whole * 0.75
    assert not Path("r/answers.jsonl").exists() and len(rows("r/items.jsonl")) == done
    assert record("r")["state"] == "stopped"
    ran = cli(*ONE, *llm(server), *paid, "--budget", whole * 10, "--out", "r")
    assert ran.code == 0 and "PARTIAL" not in ran.out and server.requests - before == 12
    assert record("r")["usage"]["llm"]["cost"] == pytest.approx(whole - first)
    assert stages(Path("r")) == stages(Path("undisturbed"))
    all_of_it = cli("run", "rgb", "--all", "--data-dir", "sample", *llm(server, "L1"), *paid, "--budget", 3000)
    assert all_of_it.code == 2 and all_of_it.out.count("PARTIAL") == all_of_it.out.count("Table ") >= 1


@pytest.mark.slow
def test_a_budget_that_ends_among_the_verdicts_keeps_the_answers(cli, server, judge, stages):
    Path("prices.yaml").write_text("m: {input: 0, output: 0}\nj: {input: 1000000, output: 1000000}\n")
    paid = ("--prices", "prices.yaml", "--max-tokens", 10, "--judge", f"{judge.url}#j", "--concurrency", 1)
    assert cli(*ONE, *llm(server, "L0"), *paid, "--out", "undisturbed").code == 0
    whole, before = record("undisturbed")["usage"]["judge"]["cost"], judge.requests
    # Beside what is spent, the worst case of one call must fit: its bytes as tokens, and the longest reply.
    assert cli(*ONE, *llm(server), *paid, "--budget", whole * 0.5 + 4000, "--out", "r").code == 2
    done = judge.requests - before
    judged = [row["rejection_rate.rejection_rate_judged"] for row in rows("r/items.jsonl")]
    assert 0 < done < 12 and sum(one["official"] is not None for one in judged) == done
    calls = server.requests
    assert cli(*ONE, *llm(server), *paid, "--budget", whole * 10, "--out", "r").code == 0
    assert server.requests == calls and judge.requests - before == 12
    assert stages(Path("r")) == stages(Path("undisturbed"))


def test_fresh_asks_anew_and_a_stopped_fresh_run_goes_on(cli, server, stages):
    asked = (*FOUR, "--llm", f"{server.url}#m", "--out", "r")
    assert cli(*asked).code == 0
    server.state.text = "a new answer"
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
    before = stages(Path("r"))
    server.stop()
    assert cli(*asked, "--fresh").code == 2 and stages(Path("r")) == before and record("r")["state"] == "finished"


def test_several_fresh_runs_that_were_killed_go_on_with_what_was_unfinished(cli, server):
    from altered_runs import alter

    asked = ("run", "--recipe", "rgb-table7-chatgpt-zh", "--data-dir", "sample", "--limit", 4, "--ledger", "L")
    asked = (*asked, "--llm", f"{server.url}#m", "--out", "r", "--fresh")
    first, second = (Path("r") / f"counterfactual_robustness_zh{end}" for end in ("-none", ""))
    assert cli(*asked).code == 0 and server.requests == 8
    alter(second, lambda info: info.update(state="running"))
    server.state.text = "another answer"
    assert cli(*asked).code == 0 and server.requests == 8, "what the killed command asked is fresh"
    assert cli(*asked).code == 0 and server.requests == 16, "all was finished"
    assert answers(first) == answers(second) == ["another answer"] * 4
    assert record(first)["fresh"] == record(second)["fresh"]


def test_unreadable_verdicts_are_asked_again_by_run_and_score(cli, server, judge):
    rejects, judge.state.text = judge.state.text, "Well, who knows."
    asked = (*FOUR, "--llm", f"{server.url}#m", "--judge", f"{judge.url}#j", "--out", "r")
    assert cli(*asked).code == 3
    first = judge.requests
    judge.state.text = rejects
    assert cli(*asked, "--retry", "cut").code == 3 and judge.requests == first
    scored = ("score", "r/answers.jsonl", "--data-dir", "sample", "--judge", f"{judge.url}#j", "--ledger", "L")
    assert cli(*scored).code == 3 and judge.requests == first
    assert cli(*asked, "--retry", "unreadable").code == 0 and judge.requests == 2 * first
    assert all(not row["unscored"] for row in json.loads(Path("r/scores.json").read_text(encoding="utf-8")))
    assert cli(*asked).code == cli(*scored).code == 0 and judge.requests == 2 * first, "the new verdicts are kept"
    assert cli(*scored, "--fresh").code == 0 and judge.requests == 3 * first
