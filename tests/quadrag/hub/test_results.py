"""A run's results as files of a model's repository: value, task, notes; what is refused; the pull request."""

import csv
import json
from fnmatch import fnmatchcase

import huggingface_hub
import pytest
import yaml
from altered_runs import alter
from hub_recorder import Recorder

from quadrag import catalogue
from quadrag.benchmark import load
from quadrag.cli import main
from quadrag.data.card_facts import hub_record
from quadrag.errors import QuadragError
from quadrag.harnesses.examination import list_configs
from quadrag.hub.tasks import list_hub_tasks, write_eval_yaml
from quadrag.parts import Conditions
from quadrag.paths import room
from quadrag.reporting.hub import hide_places, plan_results

ORG, MODEL = "quadrag-test", "ann/model"
NOISE = ".eval_results/quadrag-rgb-noise_robustness_en_noise_40.yaml"
BENCHMARKS = sorted(catalogue.benchmarks())


def plan(*runs, model=MODEL, **options):
    return plan_results(ORG, model, runs, **{"accept_data": True, **options})


def entries(planned):
    return {path: yaml.safe_load(text)[0] for path, text in planned.files.items()}


def row_of(folder, split, metric, key, profile="official"):
    rows = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    wanted = {"split": split, "metric": metric, "key": key, "profile": profile, "slice": "all"}
    return next(row for row in rows if wanted.items() <= row.items())


def change(**values):
    return lambda info: info.update(values)


def change_in(part, **values):
    return lambda info: info[part].update(values)


def change_model(name):
    return lambda info: info["digests"]["system"].update(model=name)


@pytest.mark.slow
def test_an_entry_bears_the_official_value_in_percent_and_how_it_came_about(runs):
    ((path, entry),) = entries(plan(runs / "noise", source="https://example.org/runs")).items()
    row = row_of(runs / "noise", "noise_40", "rgb_accuracy", "accuracy")
    corrected = row_of(runs / "noise", "noise_40", "rgb_accuracy", "accuracy", "corrected")
    info = json.loads((runs / "noise" / "run.json").read_text(encoding="utf-8"))
    assert path == NOISE
    assert entry["dataset"] == {"id": f"{ORG}/rgb", "task_id": "noise_robustness_en_noise_40"}
    assert entry["value"] == round(100 * row["value"], 2)
    assert str(entry["date"]) == info["started"]
    assert entry["source"] == {"url": "https://example.org/runs"}
    low, high = (round(100 * bound, 2) for bound in row["interval"])
    for part in (
        "NOT COMPARABLE: own data",
        f"rgb_accuracy.accuracy, percent; profile official {entry['value']}, 95% interval {low} to {high}",
        f"n_total {row['n_total']}, n_scored {row['n_scored']}",
        f"profile corrected {round(100 * corrected['value'], 2)}, ",
        "retriever own",
        "judge none",
        "asked ann/model, temperature 0.2, samples 1",
        f"prompts {info['digests']['prompts']}",
        "data: en_refine.json: own data",
        f"signature {row['signature']}",
    ):
        assert part in entry["notes"], part
    assert str(runs) not in entry["notes"]


def test_folders_of_runs_retrievers_and_what_is_no_task(runs):
    planned = plan(
        runs / "all", runs / "noise", runs / "crag", runs / "summary", runs / "unjudged", runs / "all" / "noise"
    )
    found = {path.removeprefix(".eval_results/quadrag-"): entry for path, entry in entries(planned).items()}
    assert sorted(found) == [
        "crag-task_1_2-none.yaml",
        "crud_rag-summary.yaml",
        "rgb-negative_rejection_zh.yaml",
        "rgb-noise_robustness_en_noise_0.yaml",
        "rgb-noise_robustness_en_noise_40.yaml",
    ]
    assert len(planned.left_out) == 2
    assert "counterfactual" not in "".join(planned.files) and str(runs / "all" / "none") in planned.left_out[0]
    assert str(runs / "unjudged") in planned.left_out[1] and "judge none" in planned.left_out[1]
    truth = row_of(runs / "crag", "public", "truthfulness", "truthfulness")
    assert found["crag-task_1_2-none.yaml"]["value"] == round(100 * truth["value"], 2)
    assert "judge another" in found["crag-task_1_2-none.yaml"]["notes"]
    assert "samples 2" in found["rgb-negative_rejection_zh.yaml"]["notes"]
    assert "tokenizer unigram, chunk_size 128, chunk_overlap 0, top_k 4" in found["crud_rag-summary.yaml"]["notes"]
    for entry in found.values():
        benchmark = entry["dataset"]["id"].partition("/")[2]
        tasks = yaml.safe_load(write_eval_yaml(benchmark, ORG))["tasks"]
        assert entry["dataset"]["task_id"] in {task["id"] for task in tasks}


def test_upstreams_own_files_need_no_leave(copied):
    folder = copied(change=change(source="/data/RGB (the authors' own files)", provenance="authors"))
    (entry,) = entries(plan(folder, accept_data=False)).values()
    assert entry["notes"].startswith("rgb_accuracy.accuracy, percent; profile official ")
    assert "; data: the authors' own files; " in entry["notes"]


def test_what_is_accepted_is_said_and_no_place_of_the_machine_is(runs, copied):
    (limited,) = entries(plan(runs / "limited")).values()
    assert limited["notes"].startswith("NOT COMPARABLE: answers to 3 of 12 questions, own data")
    place = "/home/ann smith/my models/bge (1)/it"
    options = {"passage_num": 3}
    folder = copied(change=change_in("digests", options=options, retrieval={"embedding": place, "top_k": 4}))
    alter(folder, change_model(place))
    with pytest.raises(QuadragError, match=r"option passage_num=3; own data"):
        plan(folder, accept_data=False)
    (other,) = entries(plan(folder)).values()
    assert "retriever own, embedding it, top_k 4, judge none, asked it, " in other["notes"]
    assert not any(word in other["notes"] for word in ("home", "smith", "models", "bge"))


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


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (change_model("extractive"), "extractive"),
        (change(state="stopped", stopped="the budget is spent"), "the budget is spent"),
        (change(state="running"), "running"),
        (change(provenance="sample"), "sample"),
        (change(spec=3), "run.json"),
        (change(files={"retrieved.jsonl": "0" * 64}), "scores.json"),
        (change_in("spec", benchmark="rgp"), "rgp"),
        (change_in("spec", config="noise_robustness"), "noise_robustness"),
    ],
)
def test_a_run_that_is_no_result_of_the_model_is_refused_in_one_line(copied, changed, said):
    with pytest.raises(QuadragError) as error:
        plan(copied(change=changed))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_scores_of_another_form_twins_and_folders_of_none_are_refused(runs, copied):
    with pytest.raises(QuadragError, match="own data"):
        plan(runs / "noise", accept_data=False)
    with pytest.raises(QuadragError, match=r"run\.json"):
        plan(runs / "data")
    with pytest.raises(QuadragError, match="judge none"):
        plan(runs / "unjudged")
    with pytest.raises(QuadragError, match="noise_40"):
        plan(runs / "noise", copied())
    folder = copied("crag")
    (folder / "scores.json").write_text("[1]")
    with pytest.raises(QuadragError, match=r"scores\.json"):
        plan(folder)


def test_results_are_one_pull_request_that_is_opened_once(runs, monkeypatch, capsys):
    hub = Recorder()
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda **_: hub)
    command = ["push", ORG, "--results", MODEL, "--run", str(runs / "noise"), "--accept-data"]
    assert main(command) == 0
    assert NOISE in capsys.readouterr().out
    assert hub.calls == []
    assert main([*command, "--yes"]) == 0
    assert capsys.readouterr().out == f"https://hub/{MODEL}/discussions/1\n"
    assert [name for name, _ in hub.calls] == ["whoami", "get_repo_discussions", "upload_folder"]
    assert dict(hub.calls)["get_repo_discussions"]["author"] == "ann"
    assert dict(hub.calls)["upload_folder"]["create_pr"] is True
    assert hub.files[MODEL] == {NOISE: plan(runs / "noise").files[NOISE].encode()}
    hub.calls.clear()
    assert main([*command, "--yes"]) == 0
    assert capsys.readouterr().out == f"https://hub/{MODEL}/discussions/1\n"
    assert "upload_folder" not in dict(hub.calls)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_tasks_are_of_the_hubs_form_the_catalogue_and_the_papers(benchmark):
    content = yaml.safe_load(write_eval_yaml(benchmark, "ann"))
    assert list(content) == ["name", "description", "evaluation_framework", "tasks"]
    assert content["evaluation_framework"] == "inspect-ai"
    assert json.loads(json.dumps(content)) == content  # no date, no tag of YAML's own
    tasks = list_hub_tasks(benchmark)
    assert [dict(zip(("id", "config", "split"), task, strict=False)) for task in tasks] == content["tasks"]
    assert (
        len({task.id for task in tasks})
        == len(tasks)
        == {"rgb": 32, "crag": 2, "crud_rag": 6, "omnieval": 12}[benchmark]
    )
    module, configs = load(benchmark), catalogue.configs(benchmark)
    assert hub_record(benchmark).retriever == module.default_retriever
    with (room("baselines") / benchmark / "mapping.csv").open(encoding="utf-8", newline="") as lines:
        scales = {(row["module"], row["key"]): float(row["scale"]) for row in csv.DictReader(lines)}
    conditions = Conditions(retriever=module.default_retriever, options={})
    for task in tasks:
        assert task.split in configs[task.config].splits
        assert task.id in (task.config, f"{task.config}_{task.split}")
        metric, key, percent = task.headline[2:]
        used = [use for use in module.metrics(task.config, conditions) if use.module == metric]
        assert key in {each for use in used for each in use.keys}
        assert scales[metric, key] == (0.01 if percent else 1)
        assert f"{key} of the metric {metric}" in content["description"]
    for one in hub_record(benchmark).headlines:
        assert any(fnmatchcase(name, one.configs) for name in configs)
    # Every config that a table of the paper needs has a task, and every task one of Inspect's.
    tabled = {name for original in (False, True) for name, _ in module.paper_runs(original)}
    assert tabled <= {task.config for task in tasks} <= {*list_configs(benchmark)}


def test_a_repository_with_a_part_of_the_data_names_that_part():
    there = {"noise_robustness_en": ["noise_0", "noise_80"], "negative_rejection_zh": ["test"], "elsewhere": ["test"]}
    tasks = yaml.safe_load(write_eval_yaml("rgb", "ann", there))["tasks"]
    assert [task["id"] for task in tasks] == [
        "noise_robustness_en_noise_0",
        "noise_robustness_en_noise_80",
        "negative_rejection_zh",
    ]
    assert write_eval_yaml("crag", "ann", {"qa": ["public"], "task_3": ["validation"]}) is None
