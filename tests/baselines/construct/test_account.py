"""What is told of a dataset: before it is made, after, and in its card, with which it is loaded and exported."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from chat_server import ChatServer
from maker_model import make_reply

from quadrag import cli
from quadrag.baselines.construct.account import tell_splits, tell_steps
from quadrag.baselines.construct.forecast import forecast
from quadrag.baselines.construct.recipe import known
from quadrag.baselines.construct.steps import Ask, Each, Row, Stage, Whole, Work
from quadrag.chat.client import ChatClient
from quadrag.chat.estimate import Estimate, Estimator
from quadrag.chat.ledger import Ledger
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


def asks(row: Row, times: int = 1) -> Work:
    for sample in range(times):
        yield Ask([{"role": "user", "content": row["text"]}], sample)
    return [row]


def test_calls_that_follow_a_kept_reply_are_seen_and_others_are_counted_at_most(tmp_path: Path) -> None:
    steps = [
        Each("first", asks, asks=2, makes=5),
        Whole("all", lambda rows: (rows, [])),
        Each("then", lambda row: asks(row, 2), asks=3),
    ]
    rows = [{"id": "a", "text": "aaaa"}, {"id": "b", "text": "b" * 400}]
    estimate = Estimate(lambda model: (len, "by letters"))
    with (
        ChatServer() as server,
        Ledger(tmp_path / "ledger.sqlite") as ledger,
        ChatClient(f"{server.url}#m", ledger=ledger) as client,
    ):
        client.complete([[{"role": "user", "content": "aaaa"}]])
        forecast(steps, rows, Estimator(estimate, "m", {}, client.shelf, service=client.service))
    first, then = estimate.stages
    # Of b one call is known and one may follow; of a the reply is kept, so its row has gone on to the last step.
    assert (first.name, len(first.sizes), len(first.calls), first.prompt_tokens) == ("first", 2, 3, 2 * 407)
    assert (then.name, len(then.sizes), then.prompt_tokens) == ("then", 15 + 3 - 1, 15 * 407 + 2 * 11)


def read_estimate(said: str) -> tuple[int, float]:
    """Return the calls and the highest price that an estimate's last line names."""
    lines = [line for line in said.splitlines() if re.search(r"(, m|^all) {2,}", line)]
    figures = re.split(" {2,}", lines[-1].replace(",", "").strip())
    return int(figures[1]), float(figures[-1])


@pytest.mark.slow
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
        most, cost = read_estimate(said)
        assert cli.main(line) == 0
        assert 0 < server.requests <= most
        answered = len(server.bodies)
        account = capsys.readouterr().out
        # What is kept is not to be paid again, and nothing else is left to be asked.
        assert cli.main([*line, "--estimate"]) == 0
        assert read_estimate(capsys.readouterr().out)[0] == 0
        assert server.requests == answered
    assert f"{server.requests:,} calls, 0 kept replies; tokens: " in account
    spent = float(account.partition("; cost ")[2].partition(" USD")[0])
    assert 0 < spent <= cost
    _, body = split_card((out / "README.md").read_text(encoding="utf-8"))
    assert "by the model `m`" in body and "Made by rule" not in body
