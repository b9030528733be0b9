"""Every recipe: the same again after kills, a smaller dataset at a budget, one line where something is wrong."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, Rule
from maker_model import make_reply
from warm import Warm

from quadrag import cli
from quadrag.baselines.construct.recipe import known

CONCURRENCY = 4
RECIPES = [name for name in known() if name != "crag"]  # which reads a table
BUDGETS = {"crud_rag": "0.04", "omnieval": "0.12", "rgb": "0.04"}  # omnieval's topics are asked of all documents first

IMPORTS = """
from quadrag import cli
from quadrag.baselines.construct import construct
from quadrag.baselines.construct.rgb import recipe
from quadrag.chat.network import engine
"""
RUN = "import sys\nsys.exit(cli.main(arguments))"


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def command(recipe: str, documents: Path, out: Path, server: ChatServer, ledger: Path) -> list[str]:
    asked = ["--llm", f"{server.url}#m", "--concurrency", str(CONCURRENCY), "--ledger", str(ledger)]
    return ["construct", recipe, "--documents", str(documents), "--out", str(out), *asked]


@pytest.mark.slow(1, 3, 10)
@pytest.mark.timeout(300)
@pytest.mark.parametrize("recipe", RECIPES)
def test_killed_and_run_again_it_is_the_same(recipe: str, documents: Path, tmp_path: Path, rounds: int) -> None:
    draw = random.Random(18)
    with ChatServer(text=make_reply, latency=0.01) as server, Warm(IMPORTS, RUN, tmp_path, os.environ) as warm:
        whole = command(recipe, documents, tmp_path / "whole", server, tmp_path / "whole.sqlite")
        assert cli.main(whole) == 0
        calls = server.requests
        server.state.requests = 0
        out = tmp_path / "killed"
        again = command(recipe, documents, out, server, tmp_path / "killed.sqlite")
        for _ in range(rounds):
            moment = server.requests + draw.randint(1, max(2, calls // (rounds + 1)))
            process = warm.start(*again)
            while server.requests < moment and process.poll() is None:
                time.sleep(0.001)
            process.kill()
            process.wait()
        assert cli.main(again) == 0
        assert server.requests <= calls + rounds * CONCURRENCY
    assert files(out) == files(tmp_path / "whole")


@pytest.mark.parametrize(("recipe", "budget"), BUDGETS.items())
def test_a_budget_leaves_a_smaller_dataset(
    recipe: str,
    budget: str,
    documents: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from quadrag.baselines.construct import steps

    monkeypatch.setattr(steps, "WAVE", 4)
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"m": {"input": 1.0, "output": 1.0}}))
    with ChatServer(text=make_reply) as server:
        whole = command(recipe, documents, tmp_path / "whole", server, tmp_path / "a.sqlite")
        assert cli.main(whole) == 0
        some = command(recipe, documents, tmp_path / "some", server, tmp_path / "b.sqlite")
        capsys.readouterr()
        assert cli.main([*some, "--prices", str(prices), "--budget", budget]) == 2
        assert "budget" in capsys.readouterr().err
        made, stopped = (json.loads((tmp_path / name / "construct.json").read_text()) for name in ("whole", "some"))
        assert 0 < sum(stopped["splits"].values()) < sum(made["splits"].values())
        assert "budget" in stopped["stopped"]
        # With more to spend it goes on, and ends as if nothing had stopped it.
        assert cli.main([*some, "--prices", str(prices), "--budget", "1000"]) == 0
    assert files(tmp_path / "some") == files(tmp_path / "whole")


def test_a_server_that_fails_now_and_then_costs_rows_and_no_more(documents: Path, tmp_path: Path) -> None:
    with ChatServer(text=make_reply, rules=[Rule("status", times=3, status=400)]) as server:
        line = command("rgb", documents, tmp_path / "mine", server, tmp_path / "ledger.sqlite")
        assert cli.main(line) == 0
    record = json.loads((tmp_path / "mine/construct.json").read_text())
    (asked,) = [step for step in record["steps"] if step["step"] == "question"]
    assert asked["dropped"]["no reply"] == 3


def test_a_folder_of_something_else_is_refused(
    documents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("my own")
    line = ["construct", "rgb", "--documents", str(documents), "--out", str(tmp_path)]
    assert cli.main(line) == 2
    assert "holds something else" in capsys.readouterr().err
    assert (tmp_path / "mine.txt").read_text() == "my own"
    assert cli.main([*line[:-1], str(tmp_path / "a")]) == 0
    assert cli.main([*line[:-1], str(tmp_path / "a"), "--seed", "1"]) == 2
    assert "made otherwise (seed)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", b"\xff\xfe", "is not UTF-8"),
        ("a.jsonl", b'{"id": 1}', "has no text"),
        ("a.jsonl", b'{"id": 1, "text": "a"}\n{"id": 1, "text": "b"}', "two documents of the id"),
        ("a.pdf", b"no PDF", "cannot be read as PDF"),
        ("a.docx", b"no Word", "cannot be read as Word"),
        ("a.rtf", b"", "holds no documents"),
        ("a.txt", b"short", "no question came of 1 documents"),
    ],
)
def test_documents_that_cannot_be_read_are_one_line(
    name: str, text: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_bytes(text)
    line: list[Any] = ["construct", "rgb", "--documents", str(tmp_path / "in"), "--out", str(tmp_path / "out")]
    assert cli.main(line) == 2
    (found,) = capsys.readouterr().err.strip().splitlines()[-1:]
    assert said in found
