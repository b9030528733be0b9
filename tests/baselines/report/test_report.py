"""Tables fit where they are shown, a comparison is what one works out by hand."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from exported import copy_as_authors

from quadrag.baselines.core.result import Result
from quadrag.baselines.report import paper
from quadrag.baselines.report.compared.comparison import compare_runs
from quadrag.baselines.report.compared.several import tabulate_several
from quadrag.baselines.report.facts import list_facts
from quadrag.baselines.report.paper import tabulate_paper
from quadrag.baselines.runs.finished import read_runs
from quadrag.baselines.tables.draw import print_grids
from quadrag.baselines.tables.notes import CORRECTED, FOLDED
from quadrag.baselines.tables.paper import load_tables
from quadrag.run_record import Inputs, RunRecord


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """The folder of a campaign on data as the authors' own."""
    from quadrag.cli import main

    folder = tmp_path_factory.mktemp("campaign")
    with pytest.MonkeyPatch.context() as patch:
        data = copy_as_authors("rgb", folder / "RGB", patch)
        assert main(["run", "rgb", "--all", "--data-dir", data, "--out", str(folder / "all")]) == 0
    return folder / "all"


def widest(text):
    from rich.cells import cell_len

    return max(map(cell_len, text.splitlines()))


def test_the_papers_tables_fit_into_80_columns(campaign, cli):
    shown = cli("run", "rgb", "--all", "--data-dir", "sample", "--out", campaign)
    assert shown.code == 0 and "shown again" in shown.out
    assert [line[:7] for line in shown.out.splitlines() if line.startswith("Table")] == [
        "Table 1",
        "Table 3",
        "Table 5",
        "Table 7",
    ]
    assert widest(shown.out.rsplit("\n\n", 1)[0]) <= 80, "the last line is a path"
    for number in ("96.33", "67.68?", "extractive"):
        assert number in shown.out
    assert shown.out.count("official profile") == shown.out.count("All tables: Ours: official profile.") == 1
    assert "…" not in shown.out, "nothing is cut off"


def test_every_table_says_why_its_values_differ_between_the_profiles(campaign):
    results = [result for _, parts in read_runs([campaign]) for result in parts]
    moved = {"noise_robustness_zh": "accuracy", "negative_rejection_en": "rejection_rate"}
    for result in results:
        for row in result.scores:
            if row["profile"] == "corrected" and row["key"] == moved.get(row["config"]):
                row["value"] = row["over_scored"] = row["value"] / 2 + 0.5
    first, third, *others = tabulate_paper("rgb", results)
    why = f"{FOLDED}."
    told = [[note for note in grid.notes if note.startswith(("corrected:", "Official "))] for grid in (first, third)]
    assert told == [[CORRECTED, why], [why]]
    assert not any(note.startswith(("corrected:", "Official ")) for grid in others for note in grid.notes)


def test_the_papers_tables_fit_with_a_models_long_name(campaign, capsys):
    results = [result for _, parts in read_runs([campaign]) for result in parts]
    for result in results:
        result.run.inputs.llm = "meta-llama/Llama-3.1-70B-Instruct-非常长的名字-Turbo"
    print_grids(tabulate_paper("rgb", results))
    shown = capsys.readouterr().out
    assert widest(shown) <= 80
    assert "…" not in shown and "96.33" in shown and "67.68?" in shown


def test_every_configs_tables_fit_into_80_columns(campaign, cli):
    folders = sorted(path.parent for path in campaign.glob("*/run.json"))
    assert len(folders) == 10
    for folder, more in [(folder, more) for folder in folders for more in ((), ("-v",))]:
        shown = cli("report", folder, *more)
        assert shown.code == 0
        assert widest(shown.out) <= 80, folder
        assert "…" not in shown.out, folder
        assert "Published" in shown.out


def test_a_metric_that_no_answer_comes_to_says_why(campaign, cli):
    said = "error_correction has no value: no error counts as detected, so none could be corrected."
    one = campaign / "counterfactual_robustness_en"
    plain = cli("report", one, "--html", "one.html").out
    assert "error_correction" not in plain.partition(said.partition(":")[0])[0], (
        "no headline, as no column of the paper's table"
    )
    assert " ".join(plain.split()).count(said) == 1
    assert said in " ".join(cli("report", one, "-v").out.split())
    assert said in Path("one.html").read_text(encoding="utf-8")
    shown = cli("report", one, "-v", "--labels", "zh").out
    assert "error_correction 没有数值：没有一处错误算作被发现，也就谈不上纠正。" in "".join(shown.split("\n"))


def test_metrics_that_did_not_run_are_one_line_that_names_the_option_and_no_rows(campaign, cli, tmp_path):
    one = campaign / "counterfactual_robustness_en"
    (tmp_path / "none.jsonl").write_text("")
    copied = shutil.copytree(one, tmp_path / "copied")
    for shown in (
        cli("report", one, "--verbose"),
        cli("report", one, copied, "--verbose"),
        cli("report", one, "--without", tmp_path / "none.jsonl"),
    ):
        told = " ".join(shown.out.partition("\nPublished\n")[0].split())
        assert "not run" not in told and told.count("Not run: error_detection_judged (--judge).") == 1


def test_a_campaigns_folder_is_shown_as_the_papers_tables(campaign, cli):
    run = cli("run", "rgb", "--all", "--data-dir", "sample", "--llm", "extractive", "--out", campaign)
    again = cli("report", campaign)
    assert again.code == 0
    told, _, tables = run.out.rsplit("\n\n", 1)[0].partition("\n\n")
    assert told == "Not done again: all 10 runs were finished before and are shown again."
    assert again.out.strip() == tables.strip()


def test_a_run_without_documents_is_shown_again_as_it_was(campaign, cli, tmp_path, monkeypatch):
    data = ("--data-dir", copy_as_authors("rgb", tmp_path / "RGB", monkeypatch))
    asked = ("run", "rgb", "counterfactual_robustness_en", "--retriever", "none", *data, "--out", "r")
    run = cli(*asked, "--llm", "extractive")
    again = cli("report", "r")
    assert again.out.strip() == run.out.rsplit("\n\n", 1)[0].strip()
    assert "91 chatgpt" not in again.out and "89 chatgpt" in again.out, "printed of chatgpt without documents"
    assert re.search(r"chatgpt +89 *\n", cli("report", "r", "-v").out)


def test_a_comparison_of_campaigns_keeps_with_and_without_documents_apart(campaign, cli, tmp_path):
    shown = cli("report", campaign, shutil.copytree(campaign, tmp_path / "a-copy"))
    assert shown.code == 0 and widest(shown.out) <= 80
    assert "…" not in shown.out
    joined = " ".join(shown.out.split())
    assert " test (no documents)/accuracy" in joined and "\nnoise_robustness_zh\n all 5 splits/accuracy" in shown.out
    assert "a-copy minus all" in joined


def result(name, values, split="noise_0", states=None):
    """A run of accuracy over one split, its official values as given."""
    inputs = Inputs(
        quadrag="0", benchmark="rgb", config="noise_robustness_en", splits=[split], retriever="own", llm=name
    )
    key = "rgb_accuracy.accuracy"
    items = [
        {"benchmark": "rgb", "config": "noise_robustness_en", "split": split, "id": str(i), "sample": 0}
        | {key: {"official": value, "corrected": value or 0.0}}
        for i, value in enumerate(values)
    ]
    known = [value for value in values if value is not None]
    row = {
        "benchmark": "rgb",
        "config": "noise_robustness_en",
        "split": split,
        "slice": "all",
        "metric": "rgb_accuracy",
        "key": "accuracy",
        "profile": "official",
        "value": sum(known) / len(known),
        "interval": [0.25, 1.0],
        "n_total": len(values),
        "n_scored": len(known),
        "unscored": {},
        "signature": "s",
    }
    return Result(RunRecord(inputs), [row], items)


def test_the_paired_difference_worked_by_hand():
    first, second = result("a", [1.0, 0.0, 0.0, 0.0] * 2), result("b", [1.0, 1.0, 1.0, 0.0] * 2)
    grid = compare_runs([("runs/a", first), ("runs/b", second)])
    (line,) = grid.lines
    assert line.label == "noise_robustness_en: noise_0/accuracy"
    # Four of eight questions gained 1: by chance in 1 of 8 cases, or 1 of 16 by mid-p. Bonett and Price: 5 and 1 of 10.
    assert [cell.text for cell in line.cells] == ["25.0", "75.0", "+50.0", "not decided"]
    error = ((5 / 10 + 1 / 10 - (4 / 10) ** 2) / 10) ** 0.5
    low, high = (f"{100 * (4 / 10 + side * 1.96 * error):.1f}" for side in (-1, 1))
    assert line.cells[2].sub == f"{low} to {high}" == "-1.1 to 81.1"
    assert grid.title == "Comparison: b minus a" and line.cells[-1].sub == "p 0.062"


def test_a_difference_that_excludes_zero_is_marked():
    first, second = result("a", [0.0] * 20 + [1.0] * 2), result("b", [1.0] * 22)
    (line,) = compare_runs([("a", first), ("b", second)]).lines
    assert [cell.text for cell in line.cells[2:]] == ["+90.9", "better"]
    (line,) = compare_runs([("b", second), ("a", first)]).lines
    assert [cell.text for cell in line.cells[2:]] == ["-90.9", "worse"]
    (line,) = compare_runs([("a", first), ("a", first)]).lines
    assert line.cells[2].text == "0.0" and line.cells[2].sub == "-11.5 to 11.5"


def test_runs_over_other_questions_have_no_difference():
    first, second = result("a", [1.0, 0.0]), result("b", [1.0, 0.0, 1.0])
    (line,) = compare_runs([("a", first), ("b", second)]).lines
    assert line.cells[2].text == "–"
    lines = compare_runs([("a", first), ("b", result("b", [1.0], split="noise_20"))]).lines
    assert [[cell.text for cell in line.cells] for line in lines] == [["50.0", *"–––"], ["–", "100.0", *"––"]]


def test_of_three_runs_each_is_compared_with_the_first():
    runs = [(name, result(name, values)) for name, values in (("a", [1.0, 0.0]), ("b", [1.0, 1.0]), ("c", [0.0, None]))]
    grid, differences = tabulate_several(runs)
    assert len(grid.columns) == len(grid.lines[0].cells) == 3
    assert [[cell.text for cell in line.cells] for line in differences.lines] == [
        ["b", "+50.0", "–", "2", "–", "too few questions"],
        ["c", "-100.0", "–", "1", "–", "too few questions"],
    ], "of a few questions no interval"
    assert len(tabulate_several(runs[:2])) == 1


def test_facts_leave_out_what_is_not_known():
    names = [name for name, _ in list_facts([result("a", [1.0])])]
    assert "run" not in names and "cost" not in names and "latency" not in names and "model" in names


def test_a_benchmark_without_tables_of_its_own_has_a_plain_table_of_each_run(monkeypatch):
    monkeypatch.setattr(paper, "load_tables", lambda name: load_tables("no-such-room"))
    grids = tabulate_paper("rgb", [result("a", [1.0, 0.0]), result("b", [1.0, 1.0])])
    plain = [grid for grid in grids if grid.corner == "metric"]
    assert [grid.title for grid in plain] == ["rgb noise_robustness_en, a", "rgb noise_robustness_en, b"]
    assert [grid.lines[0].cells[0].text for grid in plain] == ["50.0", "100.0"]
