"""What a replicated row says of itself: which printed row it stands for, who was asked, with whose prompts."""

from pathlib import Path

import pytest
from chat_server import ChatServer

from quadrag.baselines.report.paper import tabulate_paper
from quadrag.baselines.runs.folder import read_result


@pytest.fixture
def run(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with ChatServer() as server:

        def run(recipe, *more):
            asked = ("run", "--recipe", recipe, "--data-dir", "sample", "--limit", "1", "--llm", f"{server.url}#m")
            code, out, err = cli(*asked, "--ledger", "L", *more)
            assert code == 0, err
            return out

        yield run


def test_a_recipe_says_which_row_it_replicates_and_marks_it(run, cli):
    out = run("rgb-table7-chatgpt-zh", "--out", "r")
    line = "Recipe rgb-table7-chatgpt-zh: published row chatgpt (gpt-3.5-turbo); asked: m; prompts: ours."
    mark = "<: the published row that the recipe replicates."
    assert [word for word in out.split() if word.endswith("<")] == ["chatgpt-zh<"]
    for shown in (out, cli("report", "r").out):
        assert line in " ".join(shown.split()) and mark in shown
    alone = cli("report", "r/counterfactual_robustness_zh").out
    assert line in " ".join(alone.split()) and mark not in alone


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        (("--temperature", "0.9"), "temperature 0.9, recipe 0.2"),
        (("--top-p", "0.5", "--samples", "2"), "samples 2, recipe 1; top_p 0.5, recipe none"),
        (("--temperature", "0.2"), None),
    ],
)
def test_a_setting_that_is_not_the_recipes_is_named_and_nothing_is_marked(run, cli, given, changed):
    out = run("rgb-table7-chatgpt-zh", "--out", "r", "--verbose", *given)
    for shown in (out, cli("report", "r").out):
        said = f"chatgpt (gpt-3.5-turbo); {f'changed: {changed}; ' if changed else ''}asked: m;"
        assert said in " ".join(shown.split()) and ("chatgpt-zh<" in shown) == (changed is None)


def test_an_option_that_is_not_the_recipes_is_named(run):
    out = run("omnieval-table5-qwen2.5-72b-alone", "--option", "conversation=turns", "--out", "r")
    assert "changed: conversation turns, recipe text; asked" in " ".join(out.split())


def test_the_mark_fits_into_80_columns(run):
    out = run("rgb-table1-vicuna-7b-v1.3", "--out", "r")
    assert "vicuna-7b-v1.3<" in out and max(map(len, out.splitlines())) <= 80


def test_of_a_sweep_all_of_whose_rows_are_replicated_none_is_marked(run):
    run("rgb-table1-chatgpt", "--out", "r")
    result = read_result(Path("r/noise_robustness_en_original"))
    labels = [line.label for line in tabulate_paper("rgb", [result])[0].lines if line.kind == "published"]
    assert [label for label in labels if label.endswith("<")] == ["chatgpt<"]
    results = [result]
    for label in labels[1:]:
        other = read_result(Path("r/noise_robustness_en_original"))
        other.run.inputs.llm, other.run.row = label, {"recipe": f"rgb-table1-{label}", "row": label}
        results.append(other)
    assert not any(line.label.endswith("<") for line in tabulate_paper("rgb", results)[0].lines)


def test_runs_of_different_benchmarks_are_not_compared(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for benchmark, config in (("rgb", "negative_rejection_en"), ("crag", "task_1_2")):
        assert cli("run", benchmark, config, "--data-dir", "sample", "--limit", "2", "--out", benchmark).code == 0
    code, out, err = cli("report", "rgb", "crag")
    assert (code, out, err) == (2, "", "quadrag: the runs are of rgb and crag; compare runs of one benchmark\n")
