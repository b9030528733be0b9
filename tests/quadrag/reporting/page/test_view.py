"""`quadrag view` opens the page of finished runs."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.plugins

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
    assert 'lang="zh-CN"' in Path("compare.html").read_text(encoding="utf-8")


def test_a_run_that_was_killed_has_no_page(cli, opened):
    assert cli(*RUN, "--out", "r").code == 0
    Path("r/scores.json").unlink()
    record = Path("r/run.json").read_text(encoding="utf-8")
    assert cli("view", "r").code == 2 and opened == []
    assert Path("r/run.json").read_text(encoding="utf-8") == record
