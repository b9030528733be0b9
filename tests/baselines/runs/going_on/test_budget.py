"""A budget that ends among answers, verdicts or runs: what was paid for stays, and the rest alone is paid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rgb_runs import ONE, llm, rows


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


def test_a_campaign_that_stopped_says_so_in_every_table(cli, server):
    Path("prices.yaml").write_text("m: {input: 1000000, output: 1000000}\n")
    paid = ("--prices", "prices.yaml", "--max-tokens", 10, "--budget", 3000, "--out", "all")
    ran = cli("run", "rgb", "--all", "--data-dir", "sample", *llm(server), *paid)
    assert ran.code == 2
    assert ran.out.count("PARTIAL") == ran.out.count("Table ") >= 1
    assert "PARTIAL" in Path("all/report.html").read_text()
    assert "PARTIAL" in cli("report", "all").out
