"""What is said of cost while a run goes on, and after it: by stage, and what the ledger saved."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from quadrag import progress

PRICES = {"m": {"input": 1_000_000, "output": 2_000_000}, "j": {"input": 0, "output": 500_000}, "currency": "EUR"}


@pytest.fixture
def asked(cli, server, judge):
    Path("prices.json").write_text(json.dumps(PRICES))
    named = ("--llm", f"{server.url}#m", "--judge", f"{judge.url}#j", "--max-tokens", 100, "--ledger", "L")
    return ("run", "rgb", "negative_rejection_en", "--data-dir", "sample", *named, "--prices", "prices.json")


def money(server):
    return server.prompt_tokens + 2 * server.completion_tokens


def test_what_is_spent_stands_behind_progress(cli, asked, server, judge, monkeypatch):
    monkeypatch.setattr(progress, "_LOG_EVERY", 0.0)
    server.state.latency = 0.15
    ran = cli(*asked, "--budget", 900_000_000, "--concurrency", 4, "--out", "r")
    assert ran.code == 0
    said = re.findall(
        r"negative_rejection_en: answers: (\d+) of 12, ([\d,]+) tokens, (\S+) of 900000000.0 EUR", ran.err
    )
    assert said and all(0 < int(done) <= 12 and float(spent) > 0 for done, _, spent in said), ran.err
    assert "negative_rejection_en: verdicts: 12 of 12, " in ran.err
    again = cli(*asked, "--out", "other")
    assert "tokens" not in again.err, "nothing was asked, nothing is shown"


def test_cost_by_stage_and_what_the_ledger_saved(cli, asked, server, judge):
    first = cli(*asked, "--limit", 5, "--out", "r")
    tokens = [server.prompt_tokens + judge.prompt_tokens, server.completion_tokens + judge.completion_tokens]
    spent = money(server) + judge.completion_tokens / 2
    assert "tokens: {:,} in, {:,} out; cost {:.4g} EUR\n".format(*tokens, spent) in first.out
    before = server.prompt_tokens, server.completion_tokens, judge.prompt_tokens, judge.completion_tokens
    second = cli(*asked, "--out", "r2", "--verbose")
    usage = json.loads(Path("r2/run.json").read_text())["usage"]
    saved = usage["llm"]["saved_prompt_tokens"], usage["llm"]["saved_completion_tokens"]
    saved += usage["judge"]["saved_prompt_tokens"], usage["judge"]["saved_completion_tokens"]
    assert saved == before
    assert usage["llm"]["saved_cost"] == before[0] + 2 * before[1]
    assert f" EUR; the ledger saved {spent:.4g} EUR\n" in second.out
    made = usage["llm"]["prompt_tokens"], usage["llm"]["completion_tokens"]
    cells = (7, 5, *made, *before[:2], usage["llm"]["cost"], usage["llm"]["saved_cost"])
    line = next(line for line in second.out.splitlines() if re.match(r"answers +\d", line))
    shown = [float(word.replace(",", "")) for word in line.split()[1:]]
    assert shown == pytest.approx(cells, rel=1e-3)
    assert "Spent by stage" not in first.out
    page = Path("r2/report.html").read_text()
    assert "answers: tokens {:,} in, {:,} out".format(*made) in page


def test_what_is_asked_for_again_saves_nothing(cli, asked, server, judge):
    assert cli(*asked, "--out", "r").code == 0
    assert cli(*asked, "--fresh", "--out", "r2").code == 0
    usage = json.loads(Path("r2/run.json").read_text())["usage"]
    assert usage["llm"]["saved_prompt_tokens"] == 0 and usage["llm"]["calls"] == 12


def test_without_prices_the_ledger_saves_tokens(cli, asked, server, judge):
    assert "EUR" not in cli(*asked[:-2], "--out", "r").out
    tokens = sum((server.prompt_tokens, server.completion_tokens, judge.prompt_tokens, judge.completion_tokens))
    assert f"tokens: 0 in, 0 out; the ledger saved {tokens:,}\n" in cli(*asked[:-2], "--out", "r2").out
