"""A run's results as entries of a model's repository: value, task, notes, and what they do not tell."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml
from result_runs import CRAG, ORG, RGB, change_inputs, plan, scores_of

from quadrag import catalogue
from quadrag.cli import main
from quadrag.errors import QuadragError
from quadrag.hub.results.notes import hide_places, in_unit, same_model
from quadrag.hub.results.tasks import write_eval_yaml


@pytest.mark.slow
def test_an_entry_bears_the_official_value_in_percent_and_how_it_came_about(runs):
    (result,) = plan(runs / "noise").results
    row = scores_of(runs / "noise")["noise_40", "rgb_accuracy.accuracy", "official"]
    info = json.loads((runs / "noise" / "run.json").read_text(encoding="utf-8"))
    assert result.path == RGB
    assert (result.entry.dataset_id, result.entry.task_id) == (f"{ORG}/rgb", "noise_robustness_en_noise_40")
    assert result.entry.value == round(100 * row["value"], 2)
    assert result.entry.date == info["started"]
    assert result.entry.dataset_revision is None
    notes = result.entry.notes
    low, high = (round(100 * bound, 2) for bound in row["interval"])
    for part in (
        "NOT COMPARABLE: own data",
        "rgb_accuracy.accuracy, profile official, percent",
        f"95% interval {low} to {high}",
        f"{row['n_total']} answers, {row['n_scored']} scored, 0 unscored",
        "profile corrected ",
        "retriever own",
        "judge none",
        "asked with temperature 0.2, samples 1",
        f"prompts sha256 {info['inputs']['prompts']}",
        "data: en_refine.json: own data",
        "accuracy_bounded ",
        f"quadrag {info['inputs']['quadrag']}",
        f"signature {row['signature']}",
    ):
        assert part in notes
    assert str(runs) not in notes
    assert "\n" not in notes


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("the authors' files, verified", "the authors' files, verified"),
        ("/data/RGB (the authors' own files)", "the authors' own files"),
        ("/data/RGB (the authors' own files), as prepared", "the authors' own files"),
        ("~/a; corpus: /b (48 files)", "48 files"),
        ("", "not named"),
    ],
)
def test_upstreams_own_files_need_no_leave(copied, source, shown):
    # Whole upstream files are not at hand; what a run says of them is.
    (result,) = plan(
        copied(change=lambda info: info.update(source=source, provenance="authors")), accept_data=False
    ).results
    assert result.entry.notes.startswith("rgb_accuracy.accuracy, profile official, percent; 95% interval ")
    assert f"; data: {shown}; " in result.entry.notes


def test_a_folder_of_runs_gives_the_results_of_all_in_the_order_of_the_tasks(runs):
    planned = plan(runs / "all", runs / "noise", source="https://example.org/runs")
    assert [one.task.id for one in planned.results] == [
        "noise_robustness_en_noise_0",
        "noise_robustness_en_noise_40",
        "negative_rejection_zh",
    ]
    assert list(planned.files) == [RGB]
    assert planned.left_out == [
        f"{runs / 'all' / 'none'}: retriever none, and rgb asks about the documents of its questions"
    ]
    assert {one.entry.source_url for one in planned.results} == {"https://example.org/runs"}
    assert "samples 2" in planned.results[2].entry.notes
    assert "24 answers" in planned.results[2].entry.notes
    # A folder that is named twice is one folder.
    assert len(plan(runs / "all", runs / "all" / "noise").results) == 2


def test_another_way_to_find_passages_has_a_file_of_its_own(runs):
    planned = plan(runs / "crag", runs / "summary", runs / "unjudged")
    assert list(planned.files) == [CRAG, ".eval_results/quadrag-crud_rag.yaml"]
    truth, rouge = planned.results
    assert truth.entry.value == in_unit(
        scores_of(runs / "crag")["public", "truthfulness.truthfulness", "official"]["value"], percent=True
    )
    assert "judge another" in truth.entry.notes
    assert "retriever none" in truth.entry.notes
    assert rouge.entry.task_id == "summary"
    assert "retriever bm25 (tokenizer unigram, chunk_size 128, chunk_overlap 0, top_k 4)" in rouge.entry.notes
    assert planned.left_out == [f"{runs / 'unjudged'}: task_3 public has no truthfulness.truthfulness (no judge)"]
    with pytest.raises(QuadragError, match=r"^there is no value of a task: .*unjudged: .*\(no judge\)$"):
        plan(runs / "unjudged")


def test_a_file_of_answers_is_told_from_a_run(runs, tmp_path):
    answers = tmp_path / "answers.jsonl"
    shutil.copy(runs / "noise" / "answers.jsonl", answers)
    place = ["--data-dir", runs / "data" / "rgb", "--out", tmp_path / "scored"]
    words = ("score", answers, "--benchmark", "rgb", "--config", "noise_robustness_en", "--split", "noise_40", *place)
    assert main([str(word) for word in words]) == 0
    with pytest.raises(QuadragError, match=r"asked 'answers', not ann/model; .* or give --accept-name"):
        plan(tmp_path / "scored")
    (result,) = plan(tmp_path / "scored", accept_name=True).results
    assert "asked as answers, samples 1" in result.entry.notes
    assert result.entry.date is None
    assert result.entry.value == plan(runs / "noise").results[0].entry.value


def test_what_is_accepted_is_said_in_the_notes(runs, copied):
    (limited,) = plan(runs / "limited").results
    assert limited.entry.notes.startswith("NOT COMPARABLE: --limit 3, own data")
    folder = copied(change=change_inputs(options={"passage_num": 3}, llm="/srv/models/it"))
    with pytest.raises(QuadragError, match=r"option passage_num=3; own data; these are not"):
        plan(folder, accept_data=False, accept_name=True)
    with pytest.raises(QuadragError, match=r"asked '/srv/models/it', not ann/model; .*--accept-name"):
        plan(folder)
    (other,) = plan(folder, accept_name=True).results
    assert other.entry.notes.startswith("NOT COMPARABLE: option passage_num=3, own data")
    assert "asked as it with temperature 0.2" in other.entry.notes


@pytest.mark.pure
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("asked as /home/ann/models/Qwen", "asked as Qwen"),
        ("x|judge:/data/m/judge|tokenizer:~/t", "x|judge:judge|tokenizer:t"),
        ("mean(/a/b+../c/d)", "mean(b+d)"),
        ("C:\\Users\\ann\\kg.sqlite x", "kg.sqlite x"),
        ("Qwen/Qwen2.5-7B at https://example.org/a/b, 1/2", "Qwen/Qwen2.5-7B at https://example.org/a/b, 1/2"),
    ],
)
def test_places_on_the_users_machine_are_not_told(text, shown):
    assert hide_places(text) == shown


def test_a_place_with_blanks_in_it_is_not_told_either(copied):
    place = "/home/ann smith/my models/bge (1)/it"
    folder = copied(change=change_inputs(llm=place, retrieval={"embedding": place, "top_k": 4}))
    (result,) = plan(folder, accept_name=True).results
    assert "retriever own (embedding it, top_k 4); judge none; asked as it with" in result.entry.notes
    assert not any(word in result.entry.notes for word in ("home", "smith", "models", "bge"))


@pytest.mark.pure
def test_a_model_is_known_by_its_name_alone():
    assert same_model("Qwen/Qwen3-8B", "qwen/qwen3-8b")
    assert same_model("Qwen/Qwen3-8B:together", "Qwen/Qwen3-8B")
    assert same_model("Qwen/Qwen3-8B@0123abc", "Qwen/Qwen3-8B")
    assert not same_model("Qwen/Qwen3-8B-Base", "Qwen/Qwen3-8B")
    assert not same_model("Qwen3-8B", "Qwen/Qwen3-8B")
    assert (in_unit(1 / 3, True), in_unit(1 / 3, False), str(in_unit(-0.00001, True))) == (33.33, 0.3333, "0.0")


def test_every_benchmark_has_tasks_that_results_can_name(runs):
    # What stands in eval.yaml under an id is what an entry names.
    for result in plan(runs / "all", runs / "crag", runs / "summary").results:
        tasks = yaml.safe_load(write_eval_yaml(result.benchmark, ORG) or "")["tasks"]
        assert {"id": result.task.id, "config": result.task.config, "split": result.task.split} in tasks
    assert set(catalogue.benchmarks()) == {"rgb", "crag", "crud_rag", "omnieval"}
