"""The tasks of all harnesses are those of the catalogue, and their files on disk those that `make tasks` writes."""

from __future__ import annotations

import pytest

from quadrag import catalogue
from quadrag.baselines.core.benchmark import known, load
from quadrag.harnesses import path
from quadrag.harnesses.examination import higher_is_better
from quadrag.harnesses.task_files import task_files
from quadrag.harnesses.task_list import all_tasks, list_tasks, table_tasks

BENCHMARKS = sorted(known())


def test_every_config_with_questions_is_a_task() -> None:
    without = {"corpus", "ragquesteval"}
    wanted = [(b, c) for b in known() for c in catalogue.configs(b) if c not in without]
    assert [(task.benchmark, task.config) for task in all_tasks()] == wanted
    assert len(wanted) == 27


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_task_has_a_title_and_a_split_of_its_config(benchmark: str) -> None:
    for task in list_tasks(benchmark):
        config = catalogue.config(benchmark, task.config)
        assert task.title.endswith(f": {config.description}")
        assert task.split == (load(benchmark).default_split or config.splits[0])
        assert task.split in config.splits
        assert task.supplied in (None, *load(benchmark).retrievers)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_tasks_of_the_tables_are_the_configs_of_the_campaign(benchmark: str) -> None:
    wanted = {config for config, _ in load(benchmark).campaign(False)}
    wanted |= {"qa"} if benchmark == "crag" else set()  # the same questions without pages
    assert {task.config for task in table_tasks(benchmark)} == wanted
    assert len(table_tasks(benchmark)) == len(wanted)


def test_the_files_on_disk_are_those_that_make_tasks_writes() -> None:
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
def test_a_metric_says_which_way_is_better(metric: str, better: bool | None) -> None:
    assert higher_is_better(metric) is better
