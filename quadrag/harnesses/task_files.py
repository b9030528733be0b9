"""The tasks of lm-eval as the YAML files that it reads from disk: one a config and split, and a group a benchmark."""

from collections.abc import Iterator
from typing import Any

import yaml

from quadrag import catalogue
from quadrag.benchmark import known, load

from .examination import Examination, list_configs, list_splits, list_tasks

_CLASS = "class: !function quadrag.harnesses.lm_eval.QuadragTask\n"
_VERSION = {"version": 1.0}


def task_files() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every file."""
    for benchmark, config in list_tasks():
        for split in list_splits(benchmark, config):
            name = _name(benchmark, config, split)
            task = {
                "task": name,
                "dataset_path": benchmark,
                "dataset_name": config,
                "test_split": split,
                "output_type": "generate_until",
                "generation_kwargs": {
                    "until": [],  # a reply ends where the model ends it
                    "do_sample": True,
                    "temperature": load(benchmark).temperature,
                    "max_gen_toks": 1024,  # lm-eval always sends a limit, 256 where a task has none
                },
                "metadata": _VERSION,
            }
            yield f"{name}.yaml", _CLASS + yaml.safe_dump(task, sort_keys=False)
    for benchmark in known():
        yield f"quadrag_{benchmark}.yaml", yaml.safe_dump(_group(benchmark), sort_keys=False)


def _name(benchmark: str, config: str, split: str) -> str:
    end = "" if split == list_splits(benchmark, config)[0] else f"_{split}"
    return f"quadrag_{benchmark}_{config}{end}"


def _group(benchmark: str) -> dict[str, Any]:
    """Return the configs of the paper's tables; those that differ in their language alone are a group within."""
    families: dict[str, list[tuple[str, str]]] = {}
    every = [(config, split) for config in _tabled(benchmark) for split in list_splits(benchmark, config)]
    for config, split in every:
        language = getattr(catalogue.config(benchmark, config), "language", None)
        family = config.removesuffix(f"_{language}")
        several = len(list_splits(benchmark, config)) > 1
        families.setdefault(f"{family}_{split}" if several else family, []).append((config, split))

    members: list[Any] = []
    for family, places in families.items():
        names = [_name(benchmark, *place) for place in places]
        members += names if len(names) == 1 else [_row(family, names, benchmark, places)]
    return _row(f"quadrag_{benchmark}", members, benchmark, every)


def _tabled(benchmark: str) -> list[str]:
    """List the configs of the paper's tables; where no passages come along, a model alone is asked that config."""
    record = load(benchmark)
    alone = [config for config in list_configs(benchmark) if record.find_default_context(config) is None]
    return list(
        dict.fromkeys(
            alone[0] if retriever == "none" and alone and record.find_default_context(config) else config
            for config, retriever in record.paper_runs(False)
        )
    )


def _row(name: str, members: list[Any], benchmark: str, places: list[tuple[str, str]]) -> dict[str, Any]:
    """Return a group, and the metrics that all its tasks share: its row is their mean, each task counting alike.

    lm-eval takes tasks for independent. Where two ask the same questions its standard error of their mean would be too
    small, so such a group has no row.
    """
    examined = [Examination(benchmark, *place, {"data_dir": "sample"}) for place in places]
    asked = [{question.query for question in each.questions} for each in examined]
    apart = len(set().union(*asked)) == sum(map(len, asked))
    shared = [metric for metric in examined[0].metrics if apart and all(metric in each.metrics for each in examined)]
    means = [{"metric": metric, "weight_by_size": False} for metric in shared]
    return {"group": name, "task": members, **({"aggregate_metric_list": means} if means else {}), "metadata": _VERSION}
