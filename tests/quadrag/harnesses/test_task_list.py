"""The tasks of all harnesses are those of the catalogue, and their files on disk those that `make tasks` writes."""

import re

import pytest
import yaml

from quadrag import catalogue
from quadrag.baselines.core.benchmark import known, load
from quadrag.cli import main
from quadrag.errors import QuadragError
from quadrag.harnesses import path
from quadrag.harnesses.examination import Examination, higher_is_better
from quadrag.harnesses.task_files import task_files
from quadrag.harnesses.task_list import list_tasks, table_tasks

BENCHMARKS = sorted(known())


def tasks():
    """Every YAML file as lm-eval reads it, templates laid under, by its task's or group's name."""

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))
    folder = path("lm-eval")
    found = {}
    for file in sorted(folder.glob("*.yaml")):
        read = yaml.load(file.read_text(encoding="utf-8"), Loader)
        under = yaml.load((folder / read.pop("include")).read_text("utf-8"), Loader) if "include" in read else {}
        found[read.get("group") or read["task"]] = {**under, **read}
    return found


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_tasks_have_title_and_split_of_their_config_and_those_of_the_tables_are_the_campaigns(benchmark):
    for task in list_tasks(benchmark):
        config = catalogue.config(benchmark, task.config)
        assert task.title.endswith(f": {config.description}")
        assert task.split == (load(benchmark).default_split or config.splits[0])
        assert task.split in config.splits
        assert task.supplied in (None, *load(benchmark).retrievers)
    wanted = {config for config, _ in load(benchmark).campaign(False)}
    wanted |= {"qa"} if benchmark == "crag" else set()  # the same questions without pages
    assert {task.config for task in table_tasks(benchmark)} == wanted
    assert len(table_tasks(benchmark)) == len(wanted)


def test_the_files_on_disk_are_those_that_make_tasks_writes():
    written = dict(task_files())
    there = {file for file in path("lm-eval").iterdir() if file.suffix != ".py" and file.is_file()}
    assert there == set(written), "run `make tasks`, and remove what is no task's any more"
    for file, text in written.items():
        assert file.read_text(encoding="utf-8") == text, f"{file.name} is not as generated; run `make tasks`"


@pytest.mark.parametrize(
    ("metric", "better"),
    [
        ("crud_overlap.rouge_l", True),
        ("crud_overlap.length", None),
        ("truthfulness.missing", False),
        ("rejection_rate.unsupported_correct", False),
        ("retrieval_ranking.recall@5", True),
    ],
)
def test_a_metric_says_which_way_is_better(metric, better):
    assert higher_is_better(metric) is better


def test_the_folder_is_found_by_the_harness_s_name():
    assert (path("lm-eval") / "utils.py").is_file()
    with pytest.raises(QuadragError, match=re.escape("unknown harness 'lmeval'; nearest: lm-eval")):
        path("lmeval")


def test_every_config_with_questions_is_a_task_and_in_the_split_that_is_there():
    single = [task for task in tasks().values() if "dataset_name" in task]
    wanted = set()
    for benchmark in catalogue.benchmarks():
        for config in set(catalogue.configs(benchmark)) - {"corpus", "ragquesteval"}:
            name, usual = f"quadrag_{benchmark}_{config}", load(benchmark).default_split
            first, *others = [usual] if usual else catalogue.config(benchmark, config).splits
            wanted |= {(name, benchmark, config, first)}
            wanted |= {(f"{name}_{split}", benchmark, config, split) for split in others}
    found = {(task["task"], task["dataset_path"], task["dataset_name"], task["test_split"]) for task in single}
    assert found == wanted
    assert len(found) == len(single) == 47
    for task in single:
        assert task["generation_kwargs"]["temperature"] == load(task["dataset_path"]).temperature


def test_the_groups_are_the_configs_of_the_papers_tables():
    groups = {name: task["task"] for name, task in tasks().items() if "group" in task}
    assert set(groups) == {f"quadrag_{benchmark}" for benchmark in catalogue.benchmarks()}
    assert groups["quadrag_crag"] == ["quadrag_crag_qa", "quadrag_crag_task_1_2", "quadrag_crag_task_3"]
    within = {group["group"]: group["task"] for group in groups.pop("quadrag_rgb")}
    ratios = {f"noise_robustness_noise_{ratio}" for ratio in (0, 20, 40, 60, 80)}
    ratios |= {f"information_integration_noise_{ratio}" for ratio in (0, 20, 40)}
    assert set(within) == {*ratios, "negative_rejection", "counterfactual_robustness"}
    assert set().union(*groups.values(), *within.values()) < set(tasks())


@pytest.mark.parametrize("name", ["data_dir", "split", "profile", "prompts", "retriever", "retrieved"])
@pytest.mark.parametrize("value", [2024, True, ["sample"], ""])
def test_a_setting_that_is_no_text_is_refused(name, value):
    with pytest.raises(QuadragError, match=re.escape(f"{name} in --metadata is {value!r}; expected words or a path")):
        Examination("rgb", "noise_robustness_en", "noise_0", {"data_dir": "sample", name: value}, "--metadata", ())


def test_passages_of_another_split_are_refused_and_nobody_is_told_to_remove_them(tmp_path):
    run = ["run", "rgb", "noise_robustness_en", "--split", "noise_0", "--data-dir", "sample", "--out", str(tmp_path)]
    assert main(run) == 0
    given = {"data_dir": "sample", "split": "noise_20", "retrieved": str(tmp_path / "retrieved.jsonl")}
    with pytest.raises(QuadragError) as caught:
        Examination("rgb", "noise_robustness_en", "noise_0", given)
    assert "holds 12 questions of which 0 are among the 12 asked" in str(caught.value)
    assert str(caught.value).endswith("; expected passages for every question of noise_robustness_en noise_20")
