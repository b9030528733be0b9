"""The files of a run's folder that are gone, damaged or altered."""

import json
from pathlib import Path

import pytest
from rgb_runs import ONE, llm

pytestmark = pytest.mark.plugins

STAGES = ("retrieved.jsonl", "answers.jsonl", "items.jsonl", "scores.json")


def test_a_stage_that_is_gone_is_done_again_and_asks_nobody(cli, server, stages):
    assert cli(*ONE, *llm(server), "--out", "r").code == 0
    files, calls = stages(Path("r")), server.requests
    for stage in STAGES:
        (Path("r") / stage).unlink()
        assert cli(*ONE, *llm(server), "--out", "r").code == 0
        assert stages(Path("r")) == files and server.requests == calls, stage


@pytest.mark.parametrize("stage", STAGES[:3])
def test_a_stage_that_was_altered_is_refused_and_kept(cli, stages, stage):
    assert cli(*ONE, "--out", "r").code == 0
    whole, path = stages(Path("r")), Path("r") / stage
    for content in (path.read_bytes() + b"\n", b"\xff" + path.read_bytes(), b""):
        path.write_bytes(content)
        ran = cli(*ONE, "--out", "r")
        assert ran.code == 2 and ran.err.count("\n") == 1 and str(path) in ran.err
        assert path.read_bytes() == content
    path.unlink()
    assert cli(*ONE, "--out", "r").code == 0 and stages(Path("r")) == whole


def test_scores_that_were_altered_are_made_again(cli, stages):
    assert cli(*ONE, "--out", "r").code == 0
    files = stages(Path("r"))
    Path("r/scores.json").write_text("[]\n")
    assert cli(*ONE, "--out", "r").code == 0 and stages(Path("r")) == files


def test_a_record_that_is_damaged_or_altered_is_not_believed(cli):
    assert cli(*ONE, "--out", "r").code == 0
    path = Path("r/run.json")
    text = path.read_text(encoding="utf-8")
    whole = json.loads(text)
    assert next(iter(whole)) == "sum"
    for altered in (
        text.replace('"seconds": ', '"seconds": 1'),
        text.replace('"sum"', '"rum"'),
        text.replace("[", "{", 1),
        json.dumps({name: value for name, value in whole.items() if name != "sum"}),
        '{"digests": [], "files": [], "state": "finished"}',
        "[1]",
        "{",
        "",
    ):
        path.write_text(altered, encoding="utf-8")
        for ran in (cli("report", "r"), cli(*ONE, "--out", "r")):
            assert ran.code == 2 and str(path) in ran.err and ran.err.count("\n") == 1, altered[:40]
