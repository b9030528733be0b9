"""What a run cost."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.plugins

PRICES = {"m": {"input": 1_000_000, "output": 2_000_000}, "j": {"input": 0, "output": 500_000}, "currency": "EUR"}


def test_cost_is_told_and_what_is_kept_costs_nothing(cli, server, judge):
    Path("prices.json").write_text(json.dumps(PRICES))
    named = ("--llm", f"{server.url}#m", "--judge", f"{judge.url}#j", "--max-tokens", 100, "--ledger", "L")
    asked = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample", *named, "--prices", "prices.json")
    first = cli(*asked, "--limit", 5, "--out", "r")
    tokens = [server.prompt_tokens + judge.prompt_tokens, server.completion_tokens + judge.completion_tokens]
    spent = server.prompt_tokens + 2 * server.completion_tokens + judge.completion_tokens / 2
    assert "{:,} in, {:,} out, cost {:.4g} EUR\n".format(*tokens, spent) in first.out
    before = server.prompt_tokens, server.completion_tokens
    assert cli(*asked, "--out", "r2").code == 0
    usage = json.loads(Path("r2/run.json").read_text())["usage"]["llm"]
    assert (usage["calls"], usage["cached"]) == (7, 5)
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (
        server.prompt_tokens - before[0],
        server.completion_tokens - before[1],
    )
    assert cli(*asked, "--fresh", "--out", "r3").code == 0
    usage = json.loads(Path("r3/run.json").read_text())["usage"]["llm"]
    assert (usage["calls"], usage["cached"]) == (12, 0)
