"""`eval.yaml`: its tasks are those of the catalogue, its form is the Hub's, its metrics are those of the papers."""

from __future__ import annotations

import csv
import json
import re
from fnmatch import fnmatchcase

import pytest
import yaml

from quadrag import catalogue
from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.settings import Conditions
from quadrag.errors import QuadragError
from quadrag.harnesses.task_list import list_tasks
from quadrag.hub.record import hub_record
from quadrag.hub.results.tasks import list_hub_tasks, write_eval_yaml
from quadrag.paths import room

BENCHMARKS = sorted(catalogue.benchmarks())
# huggingface.js, packages/tasks/src/eval.ts, as of July 2026: the part that stood there before quadrag was written.
FRAMEWORKS = {"inspect-ai", "math-arena", "mteb", "olmocr-bench", "harbor", "archipelago", "nemo-evaluator"}


def read(benchmark, there=None):
    text = write_eval_yaml(benchmark, "ann", there)
    assert text is not None
    return yaml.safe_load(text)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_form_is_the_hubs(benchmark):
    content = read(benchmark)
    assert list(content) == ["name", "description", "evaluation_framework", "tasks"]
    assert content["evaluation_framework"] in FRAMEWORKS
    for task in content["tasks"]:
        assert list(task) == ["id", "config", "split"]
        assert re.fullmatch(r"[a-z0-9_]+", task["id"])
    ids = [task["id"] for task in content["tasks"]]
    assert len(set(ids)) == len(ids) > 1
    assert json.loads(json.dumps(content)) == content  # no date, no tag of YAML's own


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_tasks_are_configs_and_splits_of_the_catalogue(benchmark):
    configs = catalogue.configs(benchmark)
    for task in read(benchmark)["tasks"]:
        assert task["split"] in configs[task["config"]].splits
        assert task["id"] in (task["config"], f"{task['config']}_{task['split']}")
    # Every pattern matches, and every split that it names is one.
    for one in hub_record(benchmark).headlines:
        matching = [name for name in configs if fnmatchcase(name, one.configs)]
        assert matching
        assert set(one.splits) <= {split for name in matching for split in configs[name].splits}
    # Every config that a table of the paper needs has a task, and every task one metric.
    tabled = {name for original in (False, True) for name, _ in load(benchmark).campaign(original)}
    assert tabled <= {task.config for task in list_hub_tasks(benchmark)}
    assert len({(task.config, task.split) for task in list_hub_tasks(benchmark)}) == len(list_hub_tasks(benchmark))


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_headlines_are_metrics_that_a_usual_run_has_and_the_paper_prints(benchmark):
    module = load(benchmark)
    assert hub_record(benchmark).retriever == module.default_retriever
    with (room("baselines") / benchmark / "mapping.csv").open(encoding="utf-8", newline="") as lines:
        scales = {(row["module"], row["key"]): float(row["scale"]) for row in csv.DictReader(lines)}
    for task in list_hub_tasks(benchmark):
        conditions = Conditions(retriever=module.default_retriever, options={})
        metric, key, percent = task.headline[2:]
        assert key in {
            each for use in module.metrics(task.config, conditions) if use.module == metric for each in use.keys
        }
        assert scales[metric, key] == (0.01 if percent else 1)


def test_one_task_a_noise_ratio_and_one_a_config_with_one_split():
    ids = {(task.config, task.split): task.id for task in list_hub_tasks("rgb")}
    assert ids["noise_robustness_en", "noise_20"] == "noise_robustness_en_noise_20"
    assert ids["counterfactual_robustness_zh", "test"] == "counterfactual_robustness_zh"
    assert len(ids) == 32
    assert [task.id for task in list_hub_tasks("crag")] == ["task_1_2", "task_3"]
    assert len(list_hub_tasks("crud_rag")) == 6
    assert len(list_hub_tasks("omnieval")) == 12


def test_a_repository_with_a_part_of_the_data_names_that_part():
    there = {"noise_robustness_en": ["noise_0", "noise_80"], "negative_rejection_zh": ["test"], "elsewhere": ["test"]}
    content = read("rgb", there)
    assert [task["id"] for task in content["tasks"]] == [
        "noise_robustness_en_noise_0",
        "noise_robustness_en_noise_80",
        "negative_rejection_zh",
    ]
    assert "error_detection" not in content["description"]
    assert write_eval_yaml("crag", "ann", {"qa": ["public"], "task_3": ["validation"]}) is None
    assert write_eval_yaml("crag", "ann", {}) is None


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_it_says_what_a_value_is_and_where_data_and_program_are(benchmark):
    text = write_eval_yaml(benchmark, "ann") or ""
    content = yaml.safe_load(text)
    for task in list_hub_tasks(benchmark):
        assert f"{task.headline.key} of the metric {task.headline.metric}" in content["description"]
    assert ("in percent" in content["description"]) == (benchmark != "omnieval")
    assert ("The data are not in this repository" in content["description"]) == (
        hub_record(benchmark).not_hosted is not None
    )
    assert f"inspect eval quadrag/{benchmark}_" in text
    assert "quadrag push ann --results MODEL --run DIR" in text


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_inspect_has_a_task_for_every_config(benchmark):
    found = {task.config for task in list_tasks(benchmark)}
    assert {task.config for task in list_hub_tasks(benchmark)} <= found


def test_an_unknown_benchmark_gets_the_nearest_names():
    with pytest.raises(QuadragError, match="unknown benchmark 'rgp'; nearest: rgb"):
        write_eval_yaml("rgp", "ann")
