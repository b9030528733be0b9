"""What is told of a dataset: before it is made, after, and in its card, with which it is loaded and exported."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from chat_server import ChatServer
from maker_model import make_reply

from quadrag import cli
from quadrag.baselines.construct.account import tell_splits, tell_steps
from quadrag.baselines.construct.recipe import known
from quadrag.baselines.construct.steps import Each, Stage, Whole, count_calls
from quadrag.hub.export.card import split_card

RECIPES = [name for name in known() if name != "crag"]  # which reads a table


def test_the_account_fits_a_screen_and_leaves_nothing_out() -> None:
    why = Counter(
        {f"a rather long reason, of which there are some in every recipe, number {n}": n for n in range(1, 9)}
    )
    stages = [Stage("integration-passages", 12_345, 12_309, why), Stage("next", 12_309, 12_309)]
    lines = tell_steps(stages)
    assert max(map(len, lines)) <= 80
    assert lines[1].split()[:4] == ["integration-passages", "12,345", "12,309", "36"]
    assert "6 for other reasons" in "\n".join(lines)
    assert lines[-1].split() == ["next", "12,309", "12,309", "0"]
    splits = tell_splits({f"information_integration_zh/noise_{n}": 1000 + n for n in range(0, 100, 20)} | {"b/test": 1})
    assert max(map(len, splits)) <= 80
    assert splits[1].startswith("information_integration_zh   noise_0 1,000, noise_20 1,020,")
    assert splits[-1].split() == ["b", "test", "1"]


def test_calls_are_counted_through_steps_that_make_more_rows() -> None:
    steps = [
        Each("a", lambda row: [row], asks=2),
        Each("b", lambda row: [row] * 5, makes=5),
        Whole("c", lambda rows: (rows, [])),
        Each("d", lambda row: [row], asks=3),
    ]
    assert count_calls(steps, 10) == 20 + 150


@pytest.mark.parametrize("recipe", RECIPES)
def test_an_estimate_bounds_what_is_asked_and_writes_nothing(
    recipe: str, documents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"m": {"input": 1.0, "output": 1.0}}))
    with ChatServer(text=make_reply) as server:
        line = ["construct", recipe, "--documents", str(documents), "--out", str(out), "--llm", f"{server.url}#m"]
        line += ["--prices", str(prices), "--ledger", str(tmp_path / "ledger.sqlite")]
        assert cli.main([*line, "--estimate"]) == 0
        said = capsys.readouterr().out
        assert server.requests == 0 and not out.exists()
        most = int(said.partition("at most ")[2].partition(" calls")[0].replace(",", ""))
        cost = float(said.partition("cost: at most ")[2].partition(" USD")[0])
        assert cli.main(line) == 0
        assert 0 < server.requests <= most
    account = capsys.readouterr().out
    assert f"{server.requests:,} calls, 0 kept replies; tokens: " in account
    spent = float(account.partition("; cost ")[2].partition(" USD")[0])
    assert 0 < spent <= cost
    _, body = split_card((out / "README.md").read_text(encoding="utf-8"))
    assert "by the model `m`" in body and "Made by rule" not in body
