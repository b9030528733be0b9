"""A run's results as files of a model's repository: value, task, notes; what is refused; the pull request."""

import csv
import json

import huggingface_hub
import pytest
import yaml
from altered_runs import alter
from hub_recorder import Recorder
from specs import spec_of

from quadrag import catalogue
from quadrag.cli import main
from quadrag.data.card_facts import card_facts
from quadrag.errors import QuadragError
from quadrag.harnesses.examination import list_configs
from quadrag.hub.export import list_hub_tasks, write_eval_yaml
from quadrag.hub.push import hide_places, plan_results

pytestmark = pytest.mark.plugins

ORG, MODEL = "quadrag-test", "ann/model"
NOISE = ".eval_results/quadrag-rgb-noise_robustness_en_noise_40.yaml"
BENCHMARKS = sorted(catalogue.benchmarks())


def plan(*runs, **options):
    return plan_results(ORG, MODEL, runs, **{"accept_data": True, **options})


def entries(*runs, **options):
    return {path: yaml.safe_load(text)[0] for path, text in plan(*runs, **options).items()}


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
    ((path, entry),) = entries(runs / "noise", source="https://example.org/runs").items()
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
    named = [runs / name for name in ("all", "noise", "crag", "summary", "unjudged", "all/noise")]
    found = {path.removeprefix(".eval_results/quadrag-"): entry for path, entry in entries(*named).items()}
    assert sorted(found) == [
        "crag-task_1_2-none.yaml",
        "crud_rag-summary.yaml",
        "rgb-negative_rejection_zh.yaml",
        "rgb-noise_robustness_en_noise_0.yaml",
        "rgb-noise_robustness_en_noise_40.yaml",
    ]
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
    (entry,) = entries(folder, accept_data=False).values()
    assert entry["notes"].startswith("rgb_accuracy.accuracy, percent; profile official ")
    assert "; data: the authors' own files; " in entry["notes"]


def test_what_is_accepted_stands_in_the_notes_and_no_place_of_the_machine_does(runs, copied):
    (limited,) = entries(runs / "limited").values()
    assert limited["notes"].startswith("NOT COMPARABLE: answers to 3 of 12 questions, own data")
    place = "/home/ann smith/my models/bge (1)/it"
    options = {"passage_num": 3}
    folder = copied(change=change_in("digests", options=options, retrieval={"embedding": place, "top_k": 4}))
    alter(folder, change_model(place))
    with pytest.raises(QuadragError, match="passage_num=3; own data"):
        plan(folder, accept_data=False)
    (other,) = entries(folder).values()
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
def test_places_on_the_users_machine_are_hidden(text, shown):
    assert hide_places(text) == shown


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (change_model("extractive"), "extractive"),
        (change(state="stopped", stopped={"code": "budget", "params": {}}), "budget"),
        (change(state="running"), "running"),
        (lambda info: info["notes"].append({"code": "invalid", "params": {}}), "INVALID"),
        (change(provenance="sample"), "sample"),
        (change(spec=3), "run.json"),
        (change(files={"retrieved.jsonl": "0" * 64}), "scores.json"),
        (change_in("spec", benchmark="rgp"), "rgp"),
        (change_in("spec", config="noise_robustness"), "noise_robustness"),
    ],
)
def test_a_run_that_is_no_result_of_the_model_is_refused_in_one_line(copied, changed, named):
    with pytest.raises(QuadragError) as error:
        plan(copied(change=changed))
    assert named in str(error.value) and "\n" not in str(error.value)


def test_runs_on_other_data_twins_and_folders_of_none_are_refused(runs, copied):
    twin = copied()
    for folders, accept, named in (
        ([runs / "noise"], False, "own data"),
        ([runs / "data"], True, r"run\.json"),
        ([runs / "unjudged"], True, "unjudged"),
        ([runs / "noise", twin], True, "noise_40"),
    ):
        with pytest.raises(QuadragError, match=named):
            plan(*folders, accept_data=accept)


def test_results_are_one_pull_request(runs, monkeypatch, capsys):
    hub = Recorder()
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda **_: hub)
    command = ["push", ORG, "--results", MODEL, "--run", str(runs / "noise"), "--accept-data"]
    assert main(command) == 0
    assert NOISE in capsys.readouterr().out and hub.calls == []
    assert main([*command, "--yes"]) == 0
    assert capsys.readouterr().out == f"https://hub/{MODEL}/discussions/1\n"
    ((name, asked),) = hub.calls
    assert (name, asked["create_pr"]) == ("upload_folder", True)
    assert hub.files[MODEL] == {NOISE: plan(runs / "noise")[NOISE].encode()}


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_tasks_are_of_the_hubs_form_the_catalogue_and_the_papers(benchmark):
    content = yaml.safe_load(write_eval_yaml(benchmark, "ann"))
    assert list(content) == ["name", "description", "evaluation_framework", "tasks"]
    assert content["evaluation_framework"] == "inspect-ai"
    assert json.loads(json.dumps(content)) == content  # no date, no tag of YAML's own
    tasks = list_hub_tasks(benchmark)
    assert [dict(zip(("id", "config", "split"), task, strict=False)) for task in tasks] == content["tasks"]
    expected = {"rgb": 32, "crag": 2, "crud_rag": 6, "omnieval": 12}[benchmark]
    assert len({task.id for task in tasks}) == len(tasks) == expected
    record, configs = catalogue.plugin(benchmark), catalogue.configs(benchmark)
    with (catalogue.plugin_folder(benchmark) / "mapping.csv").open(encoding="utf-8", newline="") as lines:
        scales = {(row["module"], row["key"]): float(row["scale"]) for row in csv.DictReader(lines)}
    for task in tasks:
        assert task.split in configs[task.config].splits
        assert task.id in (task.config, f"{task.config}_{task.split}")
        metric, key = task.headline.metric, task.headline.key
        spec = spec_of(benchmark, task.config, retriever=record.default_retriever)
        assert key in {each for use in record.metrics(spec) if use.module == metric for each in use.keys}
        assert scales[metric, key] == (0.01 if task.headline.unit == "percent" else 1)
        assert f"{key} of the metric {metric}" in content["description"]
    assert all(any(map(one.holds_for, configs)) for one in card_facts(benchmark).headlines)
    # Every config that a table of the paper needs has a task, and every task one of Inspect's.
    tabled = {name for original in (False, True) for name, _ in record.paper_runs(original)}
    assert tabled <= {task.config for task in tasks} <= {*list_configs(benchmark)}
