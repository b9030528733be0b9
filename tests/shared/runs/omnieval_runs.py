"""OmniEval's runs by the command line, in a folder with one local server that is model and judge.

What the judge says of an item is drawn by a digest of metric and question; among it are replies that no one can read
and verdicts beyond the scale.
"""

import hashlib
import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from chat_server import ChatServer
from omnieval_judges import material, metric_of
from rich.cells import cell_len

from quadrag.cli import main
from quadrag.records import read_jsonl

SAMPLE = ("--data-dir", "sample")
FAIL = ("--max-failed", "1")  # replies of every kind stand in these runs
AUTO = ("run", "omnieval", "all", "--split", "auto", *SAMPLE)
REPLIES = {
    "acc": ('{"prediction": 0}', '{"prediction": 1}', '{"prediction": 2}', '{"prediction": 3}', "不好说"),
    "hal": ('{"prediction": 0}', '{"prediction": 1}', "没有"),
    "com": ('{"prediction": -1}', '{"prediction": 0}', '{"completeness": "2"}', '{"prediction": 1}', ""),
    "utl": ('{"prediction": 0}', '{"prediction": 1}', '{"prediction": 2}'),
    "nac": ('{"prediction": -1}', '{"prediction": 0}', '{"prediction": 1}', "[1]"),
}


def draw(key: str, question: str) -> int:
    return int(hashlib.sha256(f"{key} {question}".encode()).hexdigest(), 16) % len(REPLIES[key])


def scripted(body: dict[str, Any]) -> str:
    if body["model"] != "j":
        return f"答：{hashlib.sha256(body['messages'][-1]['content'].encode()).hexdigest()[:4]}亿元"
    request = body["messages"]
    key = metric_of(request)
    return REPLIES[key][draw(key, material(request)["question"])]


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class House:
    """A folder with a server, in which commands are run."""

    def __init__(self, folder: Path, server: ChatServer) -> None:
        self.folder, self.server = folder, server

    def run(self, *arguments: Any) -> Ran:
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(self.folder)
            patch.setenv("COLUMNS", "80")
            try:
                code = main([str(argument) for argument in arguments])
            except SystemExit as stop:
                code = int(stop.code or 0)
        return Ran(code, out.getvalue(), err.getvalue())

    def asked(self, *arguments: Any) -> list[dict[str, Any]]:
        self.server.bodies.clear()
        code, _, err = self.run(*arguments)
        assert (code, err) == (0, "")
        return list(self.server.bodies)

    def models(self, ledger: str = "L") -> tuple[str, ...]:
        url = self.server.url
        return ("--llm", f"{url}#m", "--judge", f"{url}#j", *FAIL, "--ledger", f"ledger-{ledger}")

    def lines(self, run: str, name: str) -> dict[str, Any]:
        return {row["id"]: row for _, row in read_jsonl(self.folder / run / name)}

    def scores(self, run: str) -> dict[tuple[str, str, str], dict[str, Any]]:
        found = json.loads((self.folder / run / "scores.json").read_text(encoding="utf-8"))
        placed = {(row["slice"], row["key"], row["profile"]): row for row in found}
        assert len(placed) == len(found), "no row stands twice"
        return placed


def narrow(text: str) -> bool:
    return max(map(cell_len, text.splitlines())) <= 80
