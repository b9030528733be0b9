"""The tasks of lm-eval as the YAML files that it reads from disk: one a config and split, and a group a benchmark."""

from collections.abc import Iterator
from typing import Any

import yaml

from quadrag.benchmark import known, load

from .examination import list_configs, list_splits

_CLASS = "class: !function quadrag.harnesses.lm_eval.QuadragTask\n"
_VERSION = {"version": 1.0}


def task_files() -> Iterator[tuple[str, str]]:
    for benchmark in known():
        for config in list_configs(benchmark):
            for split in list_splits(benchmark, config):
                task = _describe_task(benchmark, config, split)
                yield f"{task['task']}.yaml", _CLASS + yaml.safe_dump(task, sort_keys=False)
        members = [
            _name(benchmark, config, split) for config in _tabled(benchmark) for split in list_splits(benchmark, config)
        ]
        group = {"group": f"quadrag_{benchmark}", "task": members, "metadata": _VERSION}
        yield f"quadrag_{benchmark}.yaml", yaml.safe_dump(group, sort_keys=False)


def _describe_task(benchmark: str, config: str, split: str) -> dict[str, Any]:
    return {
        "task": _name(benchmark, config, split),
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


def _name(benchmark: str, config: str, split: str) -> str:
    end = "" if split == list_splits(benchmark, config)[0] else f"_{split}"
    return f"quadrag_{benchmark}_{config}{end}"


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
