"""Every recipe: the same again after kills, a smaller dataset at a budget, one line where something is wrong."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, Rule
from maker_model import Manner, make_reply
from warm import Run, Warm

from quadrag import cli
from quadrag.baselines.construct.recipe import known
from quadrag.chat.ledger import Ledger

TABLE = Path(__file__).parents[3] / "baselines" / "construct" / "crag" / "sample"

CONCURRENCY = 4
RECIPES = [name for name in known() if name != "crag"]  # which reads a table
BUDGETS = {"crud_rag": "0.04", "omnieval": "0.12", "rgb": "0.04"}  # omnieval's topics are asked of all documents first

# The pauses between attempts at a call that fails are made short; how often it is tried stays.
IMPORTS = """
from quadrag import cli
from quadrag.baselines.construct import construct
from quadrag.baselines.construct.rgb import recipe
from quadrag.chat import calls
calls.backoff = lambda attempt: 0.05
"""
RUN = "import sys\nsys.exit(cli.main(arguments))"


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def command(recipe: str, documents: Path, out: Path, server: ChatServer, ledger: Path) -> list[str]:
    asked = ["--llm", f"{server.url}#m", "--concurrency", str(CONCURRENCY), "--ledger", str(ledger)]
    return ["construct", recipe, "--documents", str(documents), "--out", str(out), *asked]


@pytest.fixture
def news(documents: Path, rounds: int, tmp_path: Path, real_data: Callable[[str], Path]) -> Path:
    """The sample's articles; with ten rounds and real files at hand, 200 of those."""
    if rounds < 10 or "QUADRAG_REAL_DATA" not in os.environ:
        return documents
    parts = sorted((real_data("CRUD_RAG") / "data/80000_docs").glob("documents_dup_part_*"))
    texts = [line for lines in zip(*(part.open(encoding="utf-8") for part in parts), strict=False) for line in lines]
    (tmp_path / "news").mkdir()
    for at, text in enumerate(texts[:200]):
        (tmp_path / "news" / f"{at:03}.txt").write_text(text, encoding="utf-8")
    return tmp_path / "news"


@pytest.mark.slow(0, 1, 10)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("recipe", RECIPES)
def test_killed_and_run_again_it_is_the_same(recipe: str, news: Path, tmp_path: Path, rounds: int) -> None:
    """The server is late, silent, cuts connections, fails, and says much that is wrong: see `Manner` and `FAULTS`."""
    draw, manner = random.Random(18), Manner()
    server = ChatServer(text=manner.reply, latency=manner.latency, manner=manner.rule)
    out, ledger = tmp_path / "killed", tmp_path / "killed.sqlite"
    lost = [0]  # replies that were sent and not kept, after each run
    with server, Warm(IMPORTS, RUN, tmp_path, os.environ) as warm:

        def count_lost() -> int:
            with Ledger(ledger) as kept:
                return manner.said - len(kept)

        whole = command(recipe, news, tmp_path / "whole", server, tmp_path / "whole.sqlite")
        assert warm.start(*whole, "--timeout", "1").wait() == 0, warm.errors.read_text()
        calls = manner.said
        assert calls < 200 or manner.kinds.keys() == {"usual", "late", "stall", "drop", "status"}
        manner.begin_again()
        again = [*command(recipe, news, out, server, ledger), "--timeout", "1"]
        for left in range(rounds, 0, -1):
            moment = manner.said + draw.randint(1, max(1, 2 * (calls - manner.said) // (left + 1)))
            process = warm.start(*again)
            while manner.said < moment and process.poll() is None:
                time.sleep(0.001)
            process.kill()
            process.wait()
            lost.append(count_lost())
            assert lost[-1] - lost[-2] <= CONCURRENCY
        assert warm.start(*again).wait() == 0, warm.errors.read_text()
        assert count_lost() == lost[-1]
    print(f"{recipe}: {calls} replies, {lost[-1]} lost in {rounds} kills; {dict(manner.kinds)}")
    assert files(out) == files(tmp_path / "whole")


@pytest.mark.slow(0, 1, 10)
def test_a_table_s_questions_are_the_same_after_kills(tmp_path: Path, rounds: int) -> None:
    draw = random.Random(18)
    given = ["--table", TABLE / "table.csv", "--templates", TABLE / "templates.yaml", "--documents", TABLE / "pages"]
    with Warm(IMPORTS, RUN, tmp_path, os.environ) as warm:

        def start(out: str) -> Run:
            return warm.start("construct", "crag", *map(str, given), "--out", str(tmp_path / out))

        began = time.monotonic()
        assert start("whole").wait() == 0, warm.errors.read_text()
        took = time.monotonic() - began
        for _ in range(rounds):
            process = start("killed")
            time.sleep(draw.uniform(0, took))
            process.kill()
            process.wait()
        assert start("killed").wait() == 0, warm.errors.read_text()
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


@pytest.mark.slow
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
    ("name", "encoding", "text"),
    [
        ("公告 1.txt", "gb18030", "公司２０２３年营业收入５亿元，同比增长３％。\n"),
        ("a.md", "utf-16", "# 公告\n公司去年营业收入。\n"),
        ("below/a.html", "gb18030", "<p>公司去年营业收入。</p>"),
        ("a.jsonl", "gb18030", '{"text": "公司去年营业收入。"}\n'),
        ("a.txt", "cp1252", "It’s naïve – a café.\n"),
        ("a.txt", "big5", "台積電在臺灣的營收\n"),
    ],
)
def test_a_document_in_another_encoding_is_told_with_the_command_that_converts_it(
    name: str, encoding: str, text: str, documents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "in"
    shutil.copytree(documents, folder)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(text.encode(encoding))
    assert cli.main(["construct", "rgb", "--documents", str(folder), "--out", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"quadrag: {folder / name} is not UTF-8") and err.count("\n") == 1
    command = re.search("iconv .* > NEW$", err, flags=re.MULTILINE)
    assert bool(command) == (encoding != "big5")
    if command:
        subprocess.run(command[0], shell=True, check=True, cwd=tmp_path)
        assert (tmp_path / "NEW").read_text(encoding="utf-8") == text


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
