"""`quadrag view` opens the page of finished runs, and follows one at work until it ends."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from chat_server import ChatServer

from quadrag.baselines.page import page
from quadrag.baselines.runs.live import PROGRESS, read_live
from quadrag.commands import view

RUN = ("run", "rgb", "noise_robustness_en", "--data-dir", "sample")


@pytest.fixture
def opened(monkeypatch):
    """The addresses that the browser was asked for."""
    asked: list[str] = []
    monkeypatch.setattr("webbrowser.open", asked.append)
    return asked


def test_the_page_of_a_finished_run_is_opened_as_it_is(cli, opened):
    assert cli(*RUN, "--out", "r").code == 0
    Path("r/report.html").write_text("as it was", encoding="utf-8")
    shown = cli("view", "r")
    assert (shown.code, shown.out) == (0, "r/report.html\n")
    assert opened == [Path("r/report.html").resolve().as_uri()]
    assert Path("r/report.html").read_text(encoding="utf-8") == "as it was"
    Path("r/report.html").unlink()
    assert cli("view", "r", "--no-browser").code == 0 and len(opened) == 1
    assert 'id="index"' in Path("r/report.html").read_text(encoding="utf-8")


def test_several_runs_are_opened_beside_each_other(cli, opened):
    assert cli(*RUN, "--out", "a").code == cli(*RUN, "--limit", "3", "--out", "b").code == 0
    shown = cli("view", "a", "b", "--labels", "zh")
    assert (shown.code, shown.out) == (0, "compare.html\n")
    assert "比较：b 减 a" in Path("compare.html").read_text(encoding="utf-8")


def test_what_cannot_be_shown_is_a_line(cli, opened):
    shown = cli("view", "nothing")
    assert (shown.code, shown.err) == (2, "quadrag: nothing holds no run.json; expected the folder of a run\n")
    assert opened == []


@pytest.mark.slow
def test_a_run_at_work_is_followed_to_its_end(cli, opened, monkeypatch):
    Path("prices.yaml").write_text("m: {input: 1, output: 2}\n")
    monkeypatch.setattr(view, "EVERY", 0.2)
    pages = []

    def write_live(*given, own=page.write_live):
        own(*given)
        pages.append(_read("r/report.html"))

    monkeypatch.setattr(page, "write_live", write_live)
    with ChatServer() as server:
        server.state.latency = 0.4
        options = ("--llm", f"{server.url}#m", "--concurrency", "4", "--prices", "prices.yaml", "--out", "r")
        command = [sys.executable, "-m", "quadrag", *RUN, *options]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as run:
            while read_live(Path("r")) is None:
                assert run.poll() is None
                time.sleep(0.02)
            shown = cli("view", "r")
        assert run.returncode == shown.code == 0
    assert opened == [Path("r/report.html").resolve().as_uri()], "opened once"
    running = [one for one in pages if "RUNNING: quadrag: rgb noise_robustness_en, m" in one]
    assert running and all('http-equiv="refresh"' in one for one in running)
    told = re.findall(
        r"noise_robustness_en: answers: (\d+) of 60 answers · (\d+) calls so far · cost so far", running[-1]
    )
    assert told and 0 < int(told[0][0]) <= 60
    last = _read("r/report.html")
    assert "RUNNING" not in last and 'http-equiv="refresh"' not in last and 'id="index"' in last
    assert not Path("r", PROGRESS).exists()


def test_a_run_that_was_killed_is_at_work_no_more(cli, opened, monkeypatch):
    monkeypatch.setattr("quadrag.baselines.runs.live._QUIET", 0.0)
    with ChatServer() as server:
        server.state.latency = 0.4
        options = ("--llm", f"{server.url}#m", "--concurrency", "2", "--out", "r")
        with subprocess.Popen([sys.executable, "-m", "quadrag", *RUN, *options]) as run:
            while read_live(Path("r")) is None:
                assert run.poll() is None
                time.sleep(0.02)
            run.kill()
    assert Path("r", PROGRESS).exists() and read_live(Path("r")) is None
    shown = cli("view", "r")
    assert shown.code == 2 and "r is not finished" in shown.err and opened == []


def _read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")
