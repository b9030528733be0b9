"""A part of the questions is never taken for all of them, nor one dataset or testbed for another."""

import re
from pathlib import Path

import pytest
from exported import copy_as_authors
from kept_runs import record
from rgb_runs import ONE

from quadrag.errors import QuadragError
from quadrag.harnesses.examination import Examination

pytestmark = pytest.mark.plugins

FACTS = ("run", "rgb", "counterfactual_robustness_en", "--llm", "extractive")


@pytest.fixture
def part(tmp_path, monkeypatch):
    """A folder with 12 of the 100 questions of a file, as far as a script knows."""
    return copy_as_authors("rgb", tmp_path / "part", monkeypatch)


def test_a_part_of_a_file_is_counted_and_told(cli, part):
    ran = cli(*FACTS, "--data-dir", part, "--limit", 5, "--out", "r")
    assert (record("r")["provenance"], record("r")["held"], record("r")["coverage"]) == (
        "partial",
        [{"done": 12, "total": 100}],
        {"done": 5, "total": 12},
    )
    assert "PARTIAL" in ran.out and "PARTIAL" in Path("r/report.html").read_text("utf-8")
    assert "PARTIAL" in cli(*FACTS, "--data-dir", part, "--out", "w").out
    assert "PARTIAL" not in cli(*FACTS, "--data-dir", "sample", "--out", "s").out


def test_a_folder_with_other_data_is_refused(cli, part):
    assert cli(*FACTS, "--data-dir", "sample", "--out", "r").code == 0
    (file,) = Path(part).rglob("en_fact.json")
    file.write_text("\n".join(file.read_text("utf-8").splitlines()[:8]), "utf-8")
    ran = cli(*FACTS, "--data-dir", part, "--out", "r")
    assert ran.code == 2 and "r holds a run" in ran.err
    assert cli(*FACTS, "--data-dir", part, "--out", "p").code == 0
    file.write_text("\n".join(file.read_text("utf-8").splitlines()[:7]), "utf-8")
    ran = cli(*FACTS, "--data-dir", part, "--out", "p")
    assert ran.code == 2 and "p holds a run with questions" in ran.err


@pytest.mark.parametrize(
    ("config", "option", "said"),
    [
        ("negative_rejection_en", "noise_ratio=0.4", "noise_robustness_en"),
        ("negative_rejection_zh_original", "noise_ratio=0", "noise_robustness_zh_original"),
        ("counterfactual_robustness_zh", "noise_ratio=0.2", "noise_robustness_zh"),
        ("counterfactual_robustness_en", "correct_ratio=0.9", "none of 5 passages"),
    ],
)
def test_no_option_makes_another_testbed_of_one(config, option, said, cli):
    place = ("rgb", config, "--data-dir", "sample", "--option", option)
    ran, asked = cli("run", *place, "--out", "r"), cli("questions", *place)
    assert (ran.code, ran.err) == (asked.code, asked.err) and (ran.code, ran.err.count("\n")) == (2, 1)
    assert said in ran.err and not Path("r").exists()
    name, value = option.split("=")
    with pytest.raises(QuadragError, match=re.escape(said)):
        Examination("rgb", config, None, {"data_dir": "sample", name: float(value)})


@pytest.mark.parametrize("stage", ["scores.json", "items.jsonl"])
def test_a_report_believes_no_file_that_was_altered(cli, stages, stage):
    assert cli(*ONE, "--out", "r").code == 0
    path = Path("r") / stage
    path.write_text(path.read_text(encoding="utf-8").replace("0.0", "1.0"), encoding="utf-8")
    for command in (("report", "r"), ("report", "r", "s")):
        ran = cli(*command)
        assert (ran.code, ran.out) == (2, "") and str(path) in ran.err and ran.err.count("\n") == 1


def test_a_run_with_documents_is_compared_with_one_without(cli):
    asked = ("run", "rgb", "noise_robustness_en", "--data-dir", "sample", "--split", "noise_0")
    assert cli(*asked, "--out", "a").code == 0
    assert cli(*asked, "--retriever", "none", "--out", "b").code == 0
    ran = cli("report", "a", "b")
    assert ran.code == 0 and re.search(r"^accuracy .* -91.7 +12 +worse$", ran.out, re.MULTILINE), ran.out
