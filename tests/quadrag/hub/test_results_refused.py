"""What is no result of a model, and is refused in one line: other data, broken runs, names that cannot be."""

from __future__ import annotations

import hashlib

import pytest
from altered_runs import alter
from result_runs import MODEL, ORG, change_inputs, plan

from quadrag.cli import main
from quadrag.errors import QuadragError
from quadrag.hub.results.plan import plan_results


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("noise", "own data; these are not the benchmark's own questions"),
        ("limited", "--limit 3; own data"),
        ("summary", "own data; these"),
        ("data", "holds no run.json; expected the folder of a run"),
    ],
)
def test_runs_that_are_no_result_of_the_model_are_refused_in_one_line(runs, name, said):
    with pytest.raises(QuadragError) as error:
        plan(runs / name, accept_data=False)
    assert str(error.value).startswith(str(runs / name))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def change(**entries):
    return lambda info: info.update(entries)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (change_inputs(llm="extractive"), "was answered by the extractive baseline, which is no model; run with --llm"),
        (change(state="stopped", stopped="the budget is spent"), "is not finished (the budget is spent); run the same"),
        (change(state="running"), "is not finished (running); run the same command again"),
        (change(provenance="sample"), "bundled sample, whose questions are made up; run on real data"),
        (change(inputs=3), "run.json is of another version"),
        (change(more=3), "run.json is of another version"),
        (
            change(files={"retrieved.jsonl": "0" * 64}),
            "scores.json is not as the run wrote it; remove it and run again",
        ),
        (change_inputs(benchmark="rgp"), "unknown benchmark 'rgp'; nearest: rgb"),
        (change_inputs(config="noise_robustness"), "unknown config of rgb 'noise_robustness'; nearest: noise_"),
        (change_inputs(config="negative_rejection_en"), "unknown split in"),
    ],
)
def test_a_run_that_is_not_whole_is_refused_in_one_line(copied, changed, said):
    with pytest.raises(QuadragError) as error:
        plan(copied(change=changed))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "[", "{}", "[1]", "null"])
def test_broken_scores_are_refused(copied, text):
    folder = copied()
    (folder / "scores.json").write_text(text)
    with pytest.raises(QuadragError, match=r"is not as the run wrote it"):
        plan(folder)
    (folder / "run.json").write_text(text)
    with pytest.raises(QuadragError, match=r"run.json is damaged"):
        plan(folder)


def test_scores_edited_by_hand_and_unknown_metrics_are_refused(copied):
    folder = copied()
    path = folder / "scores.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"rgb_accuracy"', '"rgb_accurate"'), encoding="utf-8")
    with pytest.raises(QuadragError, match=r"scores.json is not as the run wrote it; remove it and run again"):
        plan(folder)
    known = hashlib.sha256(path.read_bytes()).hexdigest()
    alter(folder, lambda info: info["files"].update({"scores.json": known}))
    with pytest.raises(QuadragError, match=r"unknown metric in .* 'rgb_accurate'; nearest: rgb_accuracy"):
        plan(folder)


def test_two_runs_of_one_task_are_refused(runs, copied):
    with pytest.raises(QuadragError, match=r"both runs of rgb noise_robustness_en noise_40 with the same retriever"):
        plan(runs / "noise", copied())


@pytest.mark.parametrize(
    ("org", "model"), [("a/b", MODEL), ("", MODEL), (ORG, "a/b/c"), (ORG, "ann/"), (ORG, "../m"), (ORG, "ann/mü")]
)
def test_names_that_the_hub_cannot_have_are_refused(runs, org, model):
    with pytest.raises(QuadragError, match=r"is no (name|model) on the Hub; expected"):
        plan_results(org, model, [runs / "noise"])


def test_a_source_is_a_web_address(runs):
    with pytest.raises(QuadragError, match=r"^the source 'runs/a' is no web address; expected https://"):
        plan(runs / "noise", source="runs/a")


@pytest.mark.pure
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--results", ""], "'' is no model on the Hub; expected OWNER/NAME"),
        (["--results", "", "--run", "runs/a"], "'' is no model on the Hub; expected OWNER/NAME"),
        (["--results", MODEL], "--results needs the runs; give --run DIR"),
        (["--results", MODEL, "--private"], "--private is not for --results; leave it out"),
        (["--run", "runs/a"], "--run is only for --results; leave it out"),
    ],
)
def test_a_name_that_came_out_empty_pushes_nothing_else(words, said, capsys):
    """As of a shell's variable that is not set: not all of the benchmarks in its place."""
    assert main(["push", ORG, *words, "--yes"]) == 2
    assert capsys.readouterr().err == f"quadrag: {said}\n"
