"""Whole runs over a local chat server: the same bytes whatever happens, nothing paid twice, nothing half-written."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule, echo

from quadrag.baselines.report.facts import show_time
from quadrag.baselines.runs.folder import STAGES

ONE = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample")  # 12 questions
DEAD = "http://127.0.0.1:9/v1"


def rows(path):
    # Not splitlines, which also cuts at signs that a JSON string may hold.
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").split("\n") if line]


def llm(server, ledger="L"):
    return ("--llm", f"{server.url}#m", "--ledger", ledger)


def test_the_stage_files_of_a_run(cli, server, judge, stages):
    ran = cli(*ONE, *llm(server), "--judge", f"{judge.url}#j", "--out", "r")
    assert ran.code == 0, ran.err
    assert ran.err == ""
    assert "rejection_rate_judged" in ran.out and "not run" not in ran.out
    assert ran.out.endswith("\nr/report.html\nnext: quadrag show r --wrong\n") and Path("r/report.html").is_file()
    retrieved, answers, items = (rows(Path("r") / name) for name in STAGES[:3])
    assert [row["id"] for row in retrieved] == [str(i) for i in range(12)]
    assert set(retrieved[0]) == {"benchmark", "config", "split", "id", "passages"}
    assert set(retrieved[0]["passages"][0]) == {"id", "title", "text", "score"} and len(retrieved[0]["passages"]) == 5
    fields = {"benchmark", "config", "split", "id", "sample", "answer", "state", "finish_reason", "usage"}
    assert all(set(row) == fields for row in answers)
    for row, asked in zip(answers, retrieved, strict=True):
        assert (row["config"], row["split"], row["id"]) == (asked["config"], asked["split"], asked["id"])
        assert asked["passages"][0]["text"] in row["answer"], "the echo of its own question"
    for row in items:
        assert row["rejection_rate.rejection_rate_judged"] == {"official": 1.0, "corrected": 1.0}
    scores = json.loads(Path("r/scores.json").read_text(encoding="utf-8"))
    assert {(row["key"], row["profile"]) for row in scores} == {
        (key, profile)
        for key in ("rejection_rate", "rejection_rate_judged", "unsupported_correct")
        for profile in ("official", "corrected")
    }
    assert all("judge:j" in row["signature"] for row in scores)
    info = json.loads(Path("r/run.json").read_text(encoding="utf-8"))
    assert info["state"] == "finished" and info["inputs"]["llm"] == "m" and info["inputs"]["judge"] == "j"
    assert info["usage"]["llm"]["calls"] == 12 and info["usage"]["judge"]["calls"] == 12
    assert len(info["latency_seconds"]) == 12 and info["command"][:2] == ["quadrag", "run"]
    assert info["inputs"]["parameters"] == {"temperature": 0.2}
    assert {body["temperature"] for body in server.bodies} == {0.2}
    assert {body["temperature"] for body in judge.bodies} == {0}


def test_two_runs_are_equal_to_the_byte_whatever_the_order_of_the_replies(cli, jitter, stages):
    found = []
    for seed in (1, 2):
        with (
            ChatServer() as server,
            ChatServer(models=["j"], text=lambda body: f"{echo(body)[:8]} not addressed") as judge,
        ):
            jitter(server, seed)
            jitter(judge, seed + 10)
            asked = ("--concurrency", 7, "--samples", 2, "--seed", 5, "--judge", f"{judge.url}#j")
            assert cli(*ONE, *llm(server, f"L{seed}"), *asked, "--out", f"r{seed}").code == 0
            assert server.most_in_flight == 7
            arrived = [(body["seed"], body["messages"][-1]["content"]) for body in server.bodies]
        found.append((stages(Path(f"r{seed}")), arrived))
        places = [(int(row["id"]), row["sample"]) for row in rows(f"r{seed}/answers.jsonl")]
        assert places == [(i, sample) for i in range(12) for sample in (0, 1)]
    assert found[0][0] == found[1][0]


def test_samples_are_calls_of_their_own(cli, server):
    assert cli(*ONE, *llm(server), "--samples", 2, "--seed", 5, "--limit", 3, "--out", "r").code == 0
    assert server.requests == 6
    assert sorted(body["seed"] for body in server.bodies) == [5, 5, 5, 6, 6, 6]
    answers = rows("r/answers.jsonl")
    assert [(row["id"], row["sample"]) for row in answers] == [(str(i), n) for i in range(3) for n in (0, 1)]
    assert answers[0]["answer"] != answers[1]["answer"]
    scores = json.loads(Path("r/scores.json").read_text())
    assert {row["n_total"] for row in scores if "not_run" not in row} == {6}
    assert cli(*ONE, *llm(server), "--samples", 3, "--seed", 5, "--limit", 3, "--out", "r3").code == 0
    assert server.requests == 9, "the first two samples are in the ledger"


def test_the_limit_holds_for_every_split(cli, server):
    asked = ("run", "rgb", "information_integration_zh", "--data-dir", "sample", "--limit", 2)
    assert cli(*asked, *llm(server), "--out", "r").code == 0
    assert [(row["split"], row["id"]) for row in rows("r/answers.jsonl")] == [
        (split, str(i)) for split in ("noise_0", "noise_20", "noise_40") for i in (0, 1)
    ]


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


def test_the_budget_stops_cleanly_and_only_the_rest_is_paid_for(cli, server, stages):
    Path("prices.yaml").write_text("m: {input: 1000000, output: 1000000}\n")  # 1 a token
    paid = ("--prices", "prices.yaml", "--max-tokens", 10, "--concurrency", 1)
    assert cli(*ONE, *llm(server, "L0"), *paid, "--out", "undisturbed").code == 0
    server.calls.clear()
    server.state.requests = 0
    whole = json.loads(Path("undisturbed/run.json").read_text())["usage"]["llm"]["cost"]
    ran = cli(*ONE, *llm(server), *paid, "--budget", whole * 0.75, "--out", "r")
    assert ran.code == 2
    done = server.requests
    assert 0 < done < 12
    assert "PARTIAL" in ran.out and str(done) in ran.out
    assert ran.err.count("\n") == 1 and "budget" in ran.err and ran.err.startswith("quadrag: ")
    assert not Path("r/answers.jsonl").exists(), "a part of the answers is no stage"
    assert len(rows("r/items.jsonl")) == done
    info = json.loads(Path("r/run.json").read_text())
    assert info["state"] == "stopped" and "budget" in info["stopped"]
    first = info["usage"]["llm"]["cost"]
    assert 0 < first <= whole * 0.75
    ran = cli(*ONE, *llm(server), *paid, "--budget", whole * 10, "--out", "r")
    assert ran.code == 0 and "PARTIAL" not in ran.out and ran.err == ""
    assert server.requests == 12
    info = json.loads(Path("r/run.json").read_text())
    assert info["state"] == "finished" and info["stopped"] is None
    assert info["usage"]["llm"]["cost"] == pytest.approx(whole - first)
    assert stages(Path("r")) == stages(Path("undisturbed"))


@pytest.mark.slow
def test_a_budget_that_ends_among_the_verdicts_keeps_the_answers(cli, server, judge, stages):
    Path("prices.yaml").write_text("m: {input: 0, output: 0}\nj: {input: 1000000, output: 1000000}\n")
    paid = ("--prices", "prices.yaml", "--max-tokens", 10, "--judge", f"{judge.url}#j", "--concurrency", 1)
    assert cli(*ONE, *llm(server, "L0"), *paid, "--out", "undisturbed").code == 0
    whole = json.loads(Path("undisturbed/run.json").read_text())["usage"]["judge"]["cost"]
    before = judge.requests
    # Beside what is spent, the worst case of one call must fit: its bytes as tokens, and the longest reply.
    ran = cli(*ONE, *llm(server), *paid, "--budget", whole * 0.5 + 4000, "--out", "r")
    assert ran.code == 2 and "PARTIAL" in ran.out and ran.err.count("\n") == 1
    done = judge.requests - before
    assert 0 < done < 12
    assert stages(Path("r"))["answers.jsonl"] == stages(Path("undisturbed"))["answers.jsonl"]
    judged = [row["rejection_rate.rejection_rate_judged"] for row in rows("r/items.jsonl")]
    assert sum(one["official"] is not None for one in judged) == done
    calls = server.requests
    assert cli(*ONE, *llm(server), *paid, "--budget", whole * 10, "--out", "r").code == 0
    assert server.requests == calls and judge.requests - before == 12
    assert stages(Path("r")) == stages(Path("undisturbed"))


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
        and "INVALID, negative_rejection_en test: not judged: rejection_rate_judged; the \njudge j" in ran.out
        and ran.err.count("\n") == 1
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


def test_what_a_model_says_may_be_any_text(cli, stages):
    odd = "nul \0, lone \ud83d, \u2028 \x85 \r\n </script> 😀 " + "长" * 50_000
    with ChatServer(text=odd) as server:
        for out, code in (("r", 0), ("r", 0), ("r2", 0)):
            ran = cli(*ONE, *llm(server), "--limit", 3, "--out", out)
            assert ran.code == code, ran.err
        assert server.requests == 3
    assert stages(Path("r")) == stages(Path("r2"))
    answers = rows("r/answers.jsonl")
    assert len(answers) == 3 and all("😀" in row["answer"] and "\u2028" in row["answer"] for row in answers)
    assert " </script> 😀" not in Path("r/report.html").read_text(encoding="utf-8", errors="replace")


def test_reasoning_is_kept_apart_from_the_answer(cli):
    with ChatServer(text="<think>It may be Oslo.</think>\nI give up.") as server:
        assert cli(*ONE, *llm(server), "--limit", 1, "--out", "r").code == 0
    assert rows("r/answers.jsonl")[0]["answer"] == "I give up."
    with sqlite3.connect("L") as ledger:
        (value,) = ledger.execute("SELECT value FROM replies").fetchone()
    assert json.loads(value)["reasoning"] == "It may be Oslo."
    assert b"may be Oslo" not in b"".join(path.read_bytes() for path in Path("r").iterdir())


@pytest.mark.slow
def test_all_runs_of_the_paper_share_one_ledger_and_one_table(cli, server, judge):
    asked = ("run", "rgb", "--all", "--data-dir", "sample", "--limit", 2, "--judge", f"{judge.url}#j")
    first = cli(*asked, *llm(server), "--out", "all")
    assert first.code == 0, first.err
    assert first.out.count("Table ") == 4 and "no judge" not in first.out
    folders = sorted(path.parent.name for path in Path("all").glob("*/run.json"))
    assert len(folders) == 10 and "counterfactual_robustness_zh-none" in folders
    calls = (server.requests, judge.requests)
    second = cli(*asked, *llm(server), "--out", "all")
    assert second.out.startswith(
        "Nothing was asked: all 10 runs were finished before and are shown again.\nThe answers shown again are of 20"
    )
    assert f"\ncalls: 0 made by this command\ncalls of the runs finished before: {calls[0]} made, " in second.out
    assert (server.requests, judge.requests) == calls
    tables = [ran.out[ran.out.index("\nTable 1.") : ran.out.index("\ncalls: ")] for ran in (first, second)]
    assert tables[0] == tables[1]


def test_a_recipe_runs_its_row_with_its_model_and_temperature(cli):
    with ChatServer(models=["gpt-3.5-turbo"]) as server:
        asked = ("run", "--recipe", "rgb-table7-chatgpt-zh", "--data-dir", "sample", "--limit", 2)
        ran = cli(*asked, "--llm", server.url, "--ledger", "L", "--out", "r")
        assert ran.code == 0, ran.err
        assert {body["temperature"] for body in server.bodies} == {0.2}
        assert {body["model"] for body in server.bodies} == {"gpt-3.5-turbo"}
        assert len(server.bodies) == 4
        bare = [body for body in server.bodies if len(body["messages"]) == 1]
        assert len(bare) == 2, "without documents there is no system message"
    assert "Table 7" in ran.out and "Table 1" not in ran.out


def test_prompts_of_the_users_own_are_asked(cli, server):
    Path("mine.yaml").write_text(
        "en: {system: Be brief., user: '{query}|{documents}'}\nzh: {system: 短, user: '{documents}{query}'}\n",
        encoding="utf-8",
    )
    assert cli(*ONE, *llm(server), "--prompts", "mine.yaml", "--limit", 1, "--out", "r").code == 0
    (body,) = server.bodies
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert body["messages"][1]["content"].startswith("Who won the Harrowmere Marathon 2023?|")
    ran = cli(*ONE, *llm(server), "--limit", 1, "--out", "r")
    assert ran.code == 2 and "prompts" in ran.err


def test_a_campaign_that_stopped_says_so_in_every_table(cli, server):
    Path("prices.yaml").write_text("m: {input: 1000000, output: 1000000}\n")
    paid = ("--prices", "prices.yaml", "--max-tokens", 10, "--budget", 3000, "--out", "all")
    ran = cli("run", "rgb", "--all", "--data-dir", "sample", *llm(server), *paid)
    assert ran.code == 2
    assert ran.out.count("PARTIAL") == ran.out.count("Table ") >= 1
    assert "PARTIAL" in Path("all/report.html").read_text()
    assert "PARTIAL" in cli("report", "all").out


def test_other_mixes_stand_beside_no_published_number(cli):
    asked = ("run", "rgb", "noise_robustness_en", "--data-dir", "sample", "--limit", 3, "--out", "r")
    ran = cli(*asked, "--option", "passage_num=3", "-v")
    assert ran.code == 0 and "chatgpt" not in ran.out
    assert "Settings: passage_num 3; the first 3 questions of a split." in ran.out
    ran = cli("run", "rgb", "--all", "--data-dir", "sample", "--option", "passage_num=3")
    assert ran.code == 2 and "--all" in ran.err


def test_a_rejection_is_right_only_where_all_documents_are_noise(cli):
    asked = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample", "--out", "r")
    ran = cli(*asked, "--option", "noise_ratio=0.4")
    assert ran.code == 0 and "rejection_rate" not in ran.out and "accuracy" in ran.out


@pytest.mark.slow
def test_refined_and_original_data_never_share_a_table(cli):
    asked = ("run", "rgb", "--all", "--data-dir", "sample", "--out", "b")
    refined = cli(*asked)
    assert "refined data; bundled sample" in " ".join(refined.out.split())
    ran = cli(*asked, "--original")
    assert "original data; bundled sample" in " ".join(ran.out.split())
    ran = cli("report", "b")
    assert ran.code == 2 and "was run twice (once on refined and once on original data)" in ran.err
    assert "runs/rgb-all-original" in cli(*asked[:-2], "--original").out


def test_two_runs_of_one_system_in_a_folder_are_to_be_reported_beside_each_other(cli):
    asked = ("run", "rgb", "counterfactual_robustness_en", "--data-dir", "sample", "--limit", 2)
    assert cli(*asked, "--out", "both/a").code == cli(*asked, "--out", "both/b").code == 0
    ran = cli("report", "both")
    assert ran.code == 2 and ran.err.endswith("report the two runs beside each other: quadrag report A B\n")
    assert cli("report", "both/a", "both/b").code == 0


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
    assert ran.code == 3 and "12 truncated" in ran.out and "run again" not in ran.out
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


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["scores.json", "items.jsonl"])
def test_a_report_believes_no_file_that_was_altered(cli, stages, stage):
    assert cli(*ONE, "--out", "r").code == 0
    shown, files = cli("report", "r"), stages(Path("r"))
    path = Path("r") / stage
    path.write_text(path.read_text(encoding="utf-8").replace("0.0", "1.0"), encoding="utf-8")
    assert stages(Path("r")) != files
    for command in (("report", "r"), ("report", "r", "s")):
        ran = cli(*command)
        assert ran.code == 2 and ran.out == ""
        assert ran.err == f"quadrag: {path} is not as the run wrote it; remove it and run again, which makes it anew\n"
    path.unlink()
    assert cli(*ONE, "--out", "r").code == 0 and stages(Path("r")) == files
    assert cli("report", "r").out == shown.out


def test_the_extractive_baseline_has_one_sample(cli):
    ran = cli(*ONE, "--samples", 3, "--out", "r")
    assert ran.code == 2 and "--samples" in ran.err


def test_a_run_with_documents_is_compared_with_one_without(cli):
    asked = ("run", "rgb", "noise_robustness_en", "--data-dir", "sample", "--split", "noise_0")
    assert cli(*asked, "--out", "a").code == 0
    assert cli(*asked, "--retriever", "none", "--out", "b").code == 0
    ran = cli("report", "a", "b")
    assert ran.code == 0 and "-91.7*" in ran.out and "extractive, no documents" in ran.out
