"""The tasks that lm-eval reads from disk, as YAML files.

``python -m quadrag.harnesses.task_files`` (`make tasks`) writes them; a test compares what lies there.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from quadrag import catalogue
from quadrag.baselines.core.benchmark import known, load
from quadrag.harnesses import path
from quadrag.harnesses.examination import Examination
from quadrag.harnesses.task_list import ListedTask, default_split, display_name, list_tasks, table_tasks

_TEMPLATE = """\
# {name} with lm-eval: {shown}.
# --metadata names the split, the data and options too; quadrag/harnesses/examination.py says which.
# Metrics of a judge are computed of the logs: `quadrag score FOLDER --judge URL`.
# This file has no ending because lm-eval takes every *.yaml for a task.
class: !function utils.QuadragTask
dataset_path: {benchmark}
test_split: {split}
output_type: generate_until
generation_kwargs:
  until: []  # a reply ends where the model ends it
  do_sample: true
  temperature: {temperature}  # as `quadrag run` asks
  max_gen_toks: 1024  # lm-eval always sends a limit, 256 where a task has none
metadata:
  version: 1.0
"""
_WITH = """with the passages that come with the questions, or --metadata '{"retriever": "none"}'"""
_WITHOUT = """without passages, or with those of --metadata '{"retrieved": "runs/a/retrieved.jsonl"}'"""
_GROUP = """\
# The configs of the paper's tables; --tasks 'quadrag_{benchmark}_*' takes all.
# A row of a group is the mean over its tasks, each counting alike; without aggregate_metric_list there is none.
{group}"""


def task_files() -> Iterator[tuple[Path, str]]:
    """Yield every file with its text: a template, a group and its tasks."""
    lm_eval = path("lm-eval")
    for benchmark in known():
        tasks = list_tasks(benchmark)
        some = any(task.supplied for task in tasks)
        split = tasks[-1].split  # a task of another one names it
        yield (
            lm_eval / f"_{benchmark}",
            _TEMPLATE.format(
                name=display_name(benchmark),
                shown=_WITH if some else _WITHOUT,
                benchmark=benchmark,
                split=split,
                temperature=load(benchmark).temperature,
            ),
        )
        for task in [one for listed in tasks for one in _each_split(listed)]:
            yield lm_eval / f"{_name(task)}.yaml", _task(task, task.split != split, some and task.supplied is None)
        group = yaml.safe_dump(_group(benchmark), sort_keys=False)
        yield lm_eval / f"{benchmark}.yaml", _GROUP.format(benchmark=benchmark, group=group)


def _each_split(task: ListedTask) -> list[ListedTask]:
    if load(task.benchmark).default_split:
        return [task]
    return [task._replace(split=split) for split in catalogue.config(task.benchmark, task.config).splits]


def _name(task: ListedTask) -> str:
    usual = default_split(load(task.benchmark), task.config)
    return task.name if task.split == usual else f"{task.name}_{task.split}"


def _task(task: ListedTask, split: bool, bare: bool) -> str:
    lines = [f"include: _{task.benchmark}", f"task: quadrag_{_name(task)}", f"dataset_name: {task.config}"]
    lines += [f"test_split: {task.split}"] if split else []
    lines += ["metadata:", "  version: 1.0", "  retriever: none  # no passages come with it"] if bare else []
    return "\n".join(lines) + "\n"


def _group(benchmark: str) -> dict[str, Any]:
    """Return the group of a benchmark; tasks that differ in their language alone are a group within it."""
    families: dict[str, list[ListedTask]] = {}
    every = [one for task in table_tasks(benchmark) for one in _each_split(task)]
    for task in every:
        config = catalogue.config(benchmark, task.config)
        family = task.config.removesuffix(f"_{getattr(config, 'language', None)}")
        families.setdefault(family if len(_each_split(task)) == 1 else f"{family}_{task.split}", []).append(task)
    members: list[Any] = []
    for name, tasks in families.items():
        names = [f"quadrag_{_name(task)}" for task in tasks]
        members += names if len(names) == 1 else [_row(name, names, tasks)]
    return _row(f"quadrag_{benchmark}", members, every)


def _row(name: str, members: list[Any], tasks: Sequence[ListedTask]) -> dict[str, Any]:
    """Return a group with what gives it a row: the metrics that all its tasks share.

    lm-eval takes tasks for independent. Where two ask the same questions its standard error of their mean would be too
    small, so such a group has no row.
    """
    examined = [Examination(task.benchmark, task.config, task.split, {"data_dir": "sample"}) for task in tasks]
    asked = [{question.query for question in one.questions} for one in examined]
    apart = len(set().union(*asked)) == sum(map(len, asked))
    shared = [metric for metric in examined[0].metrics if apart and all(metric in one.metrics for one in examined)]
    means = [{"metric": metric, "weight_by_size": False} for metric in shared]
    row = {"aggregate_metric_list": means} if means else {}
    return {"group": name, "task": members, **row, "metadata": {"version": 1.0}}


def main() -> None:
    """Write the files."""
    for file, text in task_files():
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
