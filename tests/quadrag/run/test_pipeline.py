"""Whole runs over a local chat server: what they leave, the same bytes whatever happens, what is asked."""

import json
from pathlib import Path

import pytest
from chat_server import ChatServer, echo
from rgb_runs import ONE, llm, rows

from quadrag.results import read_run

pytestmark = pytest.mark.plugins


def test_the_stage_files_of_a_run(cli, server, judge, stages):
    ran = cli(*ONE, *llm(server), "--judge", f"{judge.url}#j", "--out", "r")
    assert ran.code == 0, ran.err
    assert ran.err == ""
    assert "rejection_rate_judged" in ran.out and "not run" not in ran.out
    assert ran.out.endswith("\nr/report.html\n") and Path("r/report.html").is_file()
    retrieved, answers, items = (rows(f"r/{name}.jsonl") for name in ("retrieved", "answers", "items"))
    assert [row["id"] for row in retrieved] == [str(i) for i in range(12)]
    assert set(retrieved[0]) == {"benchmark", "config", "split", "id", "passages"}
    assert set(retrieved[0]["passages"][0]) == {"id", "title", "text", "score"} and len(retrieved[0]["passages"]) == 5
    fields = {"benchmark", "config", "split", "id", "sample", "answer", "reasoning", "state", "finish_reason", "usage"}
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
    info = read_run(Path("r"))
    assert (info.state, info.llm, info.judge, info.parameters) == ("finished", "m", "j", {"temperature": 0.2})
    assert info.usage["llm"]["calls"] == 12 and info.usage["judge"]["calls"] == 12
    assert len(info.latency_seconds) == 12 and info.command[:2] == ["quadrag", "run"]
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
            assert 1 < server.most_in_flight <= 7
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


def test_what_a_model_says_may_be_any_text(cli, stages):
    odd = "nul \0, lone \ud83d, \u2028 \x85 \r\n </script> 😀 " + "长" * 50_000
    with ChatServer(text=f"<think>It may be Oslo.</think>\n{odd}") as server:
        for out, code in (("r", 0), ("r", 0), ("r2", 0)):
            ran = cli(*ONE, *llm(server), "--limit", 3, "--out", out)
            assert ran.code == code, ran.err
        assert server.requests == 3
    assert stages(Path("r")) == stages(Path("r2"))
    answers = rows("r/answers.jsonl")
    assert len(answers) == 3 and all("😀" in row["answer"] and "\u2028" in row["answer"] for row in answers)
    others = [path.read_bytes() for path in Path("r").iterdir() if path.name != "answers.jsonl"]
    assert {row["reasoning"] for row in answers} == {"It may be Oslo."} and b"may be Oslo" not in b"".join(others)
    assert " </script> 😀" not in Path("r/report.html").read_text(encoding="utf-8", errors="replace")


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
