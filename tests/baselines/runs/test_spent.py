"""What a run cost, and what the ledger saved."""

import json
from pathlib import Path

import pytest

PRICES = {"m": {"input": 1_000_000, "output": 2_000_000}, "j": {"input": 0, "output": 500_000}, "currency": "EUR"}


@pytest.fixture
def asked(cli, server, judge):
    Path("prices.json").write_text(json.dumps(PRICES))
    named = ("--llm", f"{server.url}#m", "--judge", f"{judge.url}#j", "--max-tokens", 100, "--ledger", "L")
    return ("run", "rgb", "negative_rejection_en", "--data-dir", "sample", *named, "--prices", "prices.json")


def money(server):
    return server.prompt_tokens + 2 * server.completion_tokens


def test_cost_by_stage_and_what_the_ledger_saved(cli, asked, server, judge):
    first = cli(*asked, "--limit", 5, "--out", "r")
    tokens = [server.prompt_tokens + judge.prompt_tokens, server.completion_tokens + judge.completion_tokens]
    spent = money(server) + judge.completion_tokens / 2
    assert "tokens: {:,} in, {:,} out; cost {:.4g} EUR\n".format(*tokens, spent) in first.out
    before = server.prompt_tokens, server.completion_tokens, judge.prompt_tokens, judge.completion_tokens
    assert cli(*asked, "--out", "r2").code == 0
    usage = json.loads(Path("r2/run.json").read_text())["usage"]
    saved = usage["llm"]["saved_prompt_tokens"], usage["llm"]["saved_completion_tokens"]
    saved += usage["judge"]["saved_prompt_tokens"], usage["judge"]["saved_completion_tokens"]
    assert saved == before
    assert usage["llm"]["saved_cost"] == before[0] + 2 * before[1]


def test_what_is_asked_for_again_saves_nothing(cli, asked, server, judge):
    assert cli(*asked, "--out", "r").code == 0
    assert cli(*asked, "--fresh", "--out", "r2").code == 0
    usage = json.loads(Path("r2/run.json").read_text())["usage"]
    assert usage["llm"]["saved_prompt_tokens"] == 0 and usage["llm"]["calls"] == 12
