"""Which runs of RGB share a table, stand beside a published number, or are reported beside each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rgb_runs import ONE, llm

from quadrag.errors import QuadragError
from quadrag.harnesses.examination import Examination


@pytest.mark.slow
def test_all_runs_of_the_paper_share_one_ledger_and_one_table(cli, server, judge):
    asked = ("run", "rgb", "--all", "--data-dir", "sample", "--limit", 2, "--judge", f"{judge.url}#j")
    first = cli(*asked, *llm(server), "--out", "all")
    assert first.code == 0, first.err
    assert first.out.count("Table ") == 4 and "no judge" not in first.out
    folders = sorted(path.parent.name for path in Path("all").glob("*/run.json"))
    assert len(folders) == 10 and "counterfactual_robustness_zh-none" in folders
    calls = (server.requests, judge.requests)
    second = cli(*asked, *llm(server), "--out", "all")
    assert second.out.startswith(
        "Nothing was asked: all 10 runs were finished before and are shown again.\nThe answers shown again are of 20"
    )
    assert f"\ncalls: 0 made by this command\ncalls of the runs finished before: {calls[0]} made, " in second.out
    assert (server.requests, judge.requests) == calls
    tables = [ran.out[ran.out.index("\nTable 1.") : ran.out.index("\ncalls: ")] for ran in (first, second)]
    assert tables[0] == tables[1]


def test_other_mixes_stand_beside_no_published_number(cli):
    asked = ("run", "rgb", "noise_robustness_en", "--data-dir", "sample", "--limit", 3, "--out", "r")
    ran = cli(*asked, "--option", "passage_num=3", "-v")
    assert ran.code == 0 and "chatgpt" not in ran.out
    assert "Settings: passage_num 3; the first 3 questions of a split." in ran.out
    ran = cli("run", "rgb", "--all", "--data-dir", "sample", "--option", "passage_num=3")
    assert ran.code == 2 and "--all" in ran.err


def test_a_rejection_is_right_only_where_all_documents_are_noise(cli):
    asked = ("run", "rgb", "negative_rejection_en", "--data-dir", "sample", "--limit", 1, "--out", "r")
    assert cli(*asked, "--option", "noise_ratio=0.4").code == 2
    ran = cli(*asked, "--option", "noise_ratio=1.0")
    assert ran.code == 0 and "rejection_rate" in ran.out


@pytest.mark.parametrize(
    ("config", "option", "said"),
    [
        ("negative_rejection_en", "noise_ratio=0.4", "shows noise alone; leave it out, or ask noise_robustness_en"),
        ("negative_rejection_zh_original", "noise_ratio=0", "or ask noise_robustness_zh_original"),
        ("counterfactual_robustness_zh", "noise_ratio=0.2", "shows no noise; leave it out, or ask noise_robustness_zh"),
        (
            "counterfactual_robustness_en",
            "correct_ratio=0.9",
            "leaves none of 5 passages false, and counterfactual_rob",
        ),
    ],
)
def test_no_option_makes_another_testbed_of_one(config, option, said, cli):
    place = ("rgb", config, "--data-dir", "sample", "--option", option)
    ran, asked = cli("run", *place, "--out", "r"), cli("questions", *place)
    assert (ran.code, ran.err) == (asked.code, asked.err) and (ran.code, ran.err.count("\n")) == (2, 1)
    assert said in ran.err and not Path("r").exists()
    with pytest.raises(QuadragError, match=re.escape(said)):
        name, value = option.split("=")
        Examination("rgb", config, None, {"data_dir": "sample", name: float(value)})


@pytest.mark.slow
def test_refined_and_original_data_never_share_a_table(cli):
    asked = ("run", "rgb", "--all", "--data-dir", "sample", "--out", "b")
    refined = cli(*asked, "-v")
    assert "revised data (made after the paper); bundled sample" in " ".join(refined.out.split())
    ran = cli(*asked, "--original", "-v")
    assert "original data (the paper's); bundled sample" in " ".join(ran.out.split())
    ran = cli("report", "b")
    assert ran.code == 2 and "was run twice (once on revised and once on original data)" in ran.err
    assert "runs/rgb-all-original" in cli(*asked[:-2], "--original").out


def test_two_runs_of_one_system_in_a_folder_are_to_be_reported_beside_each_other(cli):
    asked = ("run", "rgb", "counterfactual_robustness_en", "--data-dir", "sample", "--limit", 2)
    assert cli(*asked, "--out", "both/a").code == cli(*asked, "--out", "both/b").code == 0
    ran = cli("report", "both")
    assert ran.code == 2 and ran.err.endswith("; name the folders of the runs, A B, to see them beside each other\n")
    assert cli("view", "both", "--no-browser").err == ran.err, "both commands take two folders"
    assert cli("report", "both/a", "both/b").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["scores.json", "items.jsonl"])
def test_a_report_believes_no_file_that_was_altered(cli, stages, stage):
    assert cli(*ONE, "--out", "r").code == 0
    shown, files = cli("report", "r"), stages(Path("r"))
    path = Path("r") / stage
    path.write_text(path.read_text(encoding="utf-8").replace("0.0", "1.0"), encoding="utf-8")
    assert stages(Path("r")) != files
    for command in (("report", "r"), ("report", "r", "s")):
        ran = cli(*command)
        assert ran.code == 2 and ran.out == ""
        assert ran.err == f"quadrag: {path} is not as the run wrote it; remove it and run again, which makes it anew\n"
    path.unlink()
    assert cli(*ONE, "--out", "r").code == 0 and stages(Path("r")) == files
    assert cli("report", "r").out == shown.out


def test_a_run_with_documents_is_compared_with_one_without(cli):
    asked = ("run", "rgb", "noise_robustness_en", "--data-dir", "sample", "--split", "noise_0")
    assert cli(*asked, "--out", "a").code == 0
    assert cli(*asked, "--retriever", "none", "--out", "b").code == 0
    ran = cli("report", "a", "b")
    assert ran.code == 0 and re.search(r"^accuracy .* -91.7 +worse$", ran.out, re.MULTILINE), ran.out
    assert "extractive, no documents" in ran.out
