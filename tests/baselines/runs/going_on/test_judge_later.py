"""A judge is named after the answers were made: they stand, and the folder is that of a run that had the judge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rgb_runs import ONE


def record(folder="r"):
    return json.loads(Path(folder, "run.json").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("first", [(), ("--limit", 5)], ids=["as many", "more questions too"])
def test_a_judge_is_added_to_a_finished_run(cli, server, judge, stages, first):
    asked = (*ONE, "--llm", f"{server.url}#m")
    judged = (*asked, "--judge", f"{judge.url}#j")
    whole = cli(*judged, "--ledger", "L0", "--out", "whole")
    calls = server.requests
    ran = cli(*asked, *first, "--ledger", "L", "--out", "r")
    assert "rejection_rate_judged (--judge)" in ran.out, "the line names the option"
    assert cli(*judged, "--ledger", "L", "--out", "r").code == whole.code == 0
    assert server.requests == 2 * calls, "no answer was asked for twice"
    assert stages(Path("r")) == stages(Path("whole")) and record()["inputs"] == record("whole")["inputs"]
    assert record()["state"] == "finished" and record()["stopped"] is None
    assert "shown again" in cli(*judged, "--ledger", "L", "--out", "r").out


@pytest.mark.slow
def test_a_dead_judge_leaves_the_run_as_it_was(cli, server, judge, stages):
    asked = (*ONE, "--llm", f"{server.url}#m", "--ledger", "L", "--out", "r")
    assert cli(*asked).code == 0
    files, told = stages(Path("r")), record()
    assert cli(*asked, "--judge", "http://127.0.0.1:9/v1#j").code == 2
    assert stages(Path("r")) == files and record() == told
    assert cli(*asked, "--judge", f"{judge.url}#j").code == 0


@pytest.mark.slow
def test_verdicts_are_not_left_out_again_nor_those_of_another_judge_taken(cli, server, judge, stages):
    asked = (*ONE, "--llm", f"{server.url}#m", "--ledger", "L", "--out", "r")
    assert cli(*asked, "--judge", f"{judge.url}#j").code == 0
    files = stages(Path("r"))
    for more, words in (
        ((), 'judge "j", not none; give the same --judge, whose verdicts are kept, or name another folder'),
        (("--judge", "http://127.0.0.1:9/v1#other"), 'judge "j", not "other"; name another folder'),
    ):
        ran = cli(*asked, *more)
        assert ran.code == 2 and words in ran.err and ran.err.count("\n") == 1
    assert stages(Path("r")) == files
