"""`quadrag kg build` and `quadrag kg serve`, as typed."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from quadrag.cli import main
from quadrag.data.files import sample_dir

ENTRY = "import sys; from quadrag.cli import main; sys.exit(main())"


@pytest.fixture
def graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    target = tmp_path / "kg.sqlite"
    assert main(["kg", "build", str(sample_dir("crag")), str(target)]) == 0
    out = capsys.readouterr().out
    assert "movie: " in out and str(target) in out
    return target


def test_a_graph_is_built_and_served_on_upstreams_routes(graph: Path) -> None:
    pytest.importorskip("uvicorn", reason="uvicorn is not installed (extra: serve)")
    command = [sys.executable, "-c", ENTRY, "kg", "serve", str(graph), "--port", "0"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=graph.parent, **pipes) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split(" at ")[1].split(",")[0]
            body = json.dumps({"query": "1994"}).encode()
            request = urllib.request.Request(
                f"{address}/movie/get_year_info", body, {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert set(json.load(answer)) == {"result"}
        finally:
            server.terminate()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["build", "no-such-folder", "kg.sqlite"], "no-such-folder"),
        (["serve", "no-such.sqlite"], "no-such.sqlite"),
    ],
)
def test_what_is_not_there_is_one_line(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["kg", *arguments]) == 2
    err = capsys.readouterr().err
    assert words in err and err.count("\n") == 1 and not list(tmp_path.iterdir())
