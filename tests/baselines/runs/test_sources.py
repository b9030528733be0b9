"""A part of the questions is never taken for all of them, nor one dataset for another."""

from pathlib import Path

import pytest
from exported import copy_as_authors

import quadrag
from quadrag.errors import QuadragError

ONE = ("run", "rgb", "counterfactual_robustness_en", "--llm", "extractive")
MANY = ("run", "rgb", "noise_robustness_en", "--data-dir", "sample")  # five splits of 12


@pytest.fixture
def part(tmp_path, monkeypatch):
    """A folder with 12 of the 100 questions of a file, as far as a script knows."""
    return copy_as_authors("rgb", tmp_path / "part", monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "limit", "said"),
    [
        ((*ONE, "--data-dir", "sample"), 5, "PARTIAL: the first 5 of 12 questions."),
        (MANY, 5, "PARTIAL: the first 5 questions of each split, 25 of 60."),
        (MANY, 12, None),
    ],
)
def test_a_limit_that_leaves_questions_out_is_told_wherever_numbers_are(cli, task, limit, said):
    shown = [cli(*task, "--limit", limit, "--out", "r").out, cli("report", "r").out]
    shown += [cli(*task, "--limit", limit, "--out", "r", "--verbose").out, Path("r/report.html").read_text("utf-8")]
    for text in shown:
        assert said in text if said else "PARTIAL" not in text


@pytest.mark.slow
def test_runs_with_one_limit_are_told_of_in_one_line(cli):
    out = cli("run", "rgb", "--all", "--data-dir", "sample", "--limit", 2, "--out", "all").out
    lines = [line for line in out.splitlines() if "PARTIAL" in line]
    said = "! PARTIAL: the first 2 questions of each split, {} of {}."
    counts = ((20, 120), (4, 24), (12, 72), (4, 24))
    assert lines == [said.format(*count) for count in counts], "each of the four tables counts its own splits"


def test_a_part_of_a_file_is_counted_and_told_wherever_a_run_is_shown(cli, part):
    out = cli(*ONE, "--data-dir", part, "--limit", 5, "--out", "r").out
    assert "a part of the authors' own data, 12 of 100 questions)." in " ".join(out.split())
    told = "PARTIAL: the first 5 of 12 questions; the files that were read hold 12 of all 100 questions."
    assert out.count("PARTIAL") == 1 and told in " ".join(out.split())
    assert Path("r/report.html").read_text("utf-8").count(told) == 1
    assert told in " ".join(repr(quadrag.result("r")).split())
    whole = " ".join(cli(*ONE, "--data-dir", part, "--out", "w").out.split())
    assert "PARTIAL: the files that were read hold 12 of all 100 questions; n is of those in the files." in whole
    assert cli(*ONE, "--data-dir", "sample", "--out", "s").code == 0
    assert "PARTIAL" not in Path("s/report.html").read_text("utf-8") + repr(quadrag.result("s"))


def test_a_folder_with_other_data_is_refused_in_words(cli, part):
    assert cli(*ONE, "--data-dir", "sample", "--out", "r").code == 0
    (file,) = Path(part).rglob("en_fact.json")
    text = file.read_text("utf-8").splitlines()
    file.write_text("\n".join(text[:8]), "utf-8")
    ran = cli(*ONE, "--data-dir", part, "--out", "r")
    words = f"r holds a run on the bundled sample; this one is on {part}: name another folder with --out"
    assert ran.code == 2 and words in ran.err
    assert cli(*ONE, "--data-dir", part, "--out", "p").code == 0
    file.write_text("\n".join(text[:7]), "utf-8")
    ran = cli(*ONE, "--data-dir", part, "--out", "p")
    assert ran.code == 2 and "p holds a run with other questions; name another folder with --out" in ran.err


def test_other_prompts_are_refused_in_words(cli, server):
    asked = (*ONE[:3], "--data-dir", "sample", "--llm", f"{server.url}#m", "--ledger", "L", "--out", "r")
    assert cli(*asked).code == 0
    mine = Path("mine.yaml")
    one = "{system: Answer., user: '{documents} {query}'}"
    mine.write_text(f"en: {one}\nzh: {one}\n", "utf-8")
    ran = cli(*asked, "--prompts", mine)
    assert ran.code == 2 and "r holds a run with other prompts; name another folder with --out" in ran.err, ran.err


@pytest.mark.parametrize(("typed", "near"), [("sampel", True), ("Sample", True), ("RGB", False)])
def test_a_mistyped_sample_is_recognised(typed, near, tmp_path, monkeypatch):
    from quadrag.data.builders import open_builder

    monkeypatch.chdir(tmp_path)
    with pytest.raises(QuadragError, match=f"no folder '{typed}'") as refused:
        open_builder("rgb", "noise_robustness_en", typed)
    assert str(refused.value).endswith("; did you mean sample?") == near
