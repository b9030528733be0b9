"""A benchmark's `eval.yaml`: the tasks of its dataset repository that results of models on the Hub refer to.

The form is the Hub's own (https://huggingface.co/docs/hub/eval-results): a name, a description, the framework, and of
each task id, config and split. The framework is one of the list in huggingface.js, `packages/tasks/src/eval.ts`, which
takes new names seldom and has none of quadrag's; the tasks run under Inspect AI, which is there. Inspect could run an
`eval.yaml` by itself, but its form has no place for what ours need: messages built from a list of documents, references
of alternatives within alternatives, our scorers. So no `field_spec`, `solvers` or `scorers` are written.

The file does not make a leaderboard: the Hub admits benchmarks one by one. `HEADLINES` says which metric stands for a
task there, since one result has one value.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.errors import QuadragError
from quadrag.export_card import RECIPES, card
from quadrag.paths import room

FRAMEWORK = "inspect-ai"
PERCENT = 0.01


class Headline(NamedTuple):
    """The metric that stands for some tasks: of which configs (a pattern) and splits, which module's which key."""

    configs: str
    splits: tuple[str, ...]
    module: str
    key: str


# One value a task: the first metric of the paper's table that every run has. Where the paper has one by rule and one by
# a judge, the rule's: values by different judges do not compare. CRAG's and OmniEval's are all by judges. ROUGE-L, not
# BLEU, for CRUD-RAG: the authors' BLEU lacks its brevity penalty. Splits are those that the papers have numbers of.
_NOISE = ("noise_0", "noise_20", "noise_40", "noise_60", "noise_80")
HEADLINES: dict[str, tuple[Headline, ...]] = {
    "rgb": (
        Headline("noise_robustness_*", _NOISE, "rgb_accuracy", "accuracy"),
        Headline("negative_rejection_*", ("test",), "rejection_rate", "rejection_rate"),
        Headline("information_integration_*", _NOISE[:3], "rgb_accuracy", "accuracy"),
        Headline("counterfactual_robustness_*", ("test",), "error_detection", "error_detection"),
    ),
    "crud_rag": (Headline("*", ("test",), "crud_overlap", "rouge_l"),),
    "crag": (Headline("task_*", ("public",), "truthfulness", "truthfulness"),),
    "omnieval": (Headline("*", ("auto", "human"), "omnieval", "acc"),),
}


class HubTask(NamedTuple):
    """A task of a dataset repository: what it is called there, and what its value is.

    Attributes:
        id: the config, and the split where several of its splits are tasks.
        config: of the dataset.
        split: of that config.
        module: the metric.
        key: the key of its result.
        scale: what a value of the paper is multiplied by to be one of ours: 0.01 where it prints percent.
    """

    id: str
    config: str
    split: str
    module: str
    key: str
    scale: float


def hub_tasks(benchmark: str) -> list[HubTask]:
    """List the tasks of a benchmark in the order of its configs and splits.

    Raises:
        QuadragError: the benchmark is unknown, or none of its metrics is known to stand for it.
    """
    configs = catalogue.configs(benchmark)
    if benchmark not in HEADLINES:
        raise QuadragError(f"no metric stands for {benchmark}; name one in HEADLINES of quadrag/eval_yaml.py")
    found = []
    for name, config in configs.items():
        for one in (each for each in HEADLINES[benchmark] if fnmatchcase(name, each.configs)):
            splits = [split for split in config.splits if split in one.splits]
            scale = scales()[benchmark, one.module, one.key]
            for split in splits:
                ident = f"{name}_{split}" if len(splits) > 1 else name
                found.append(HubTask(ident, name, split, one.module, one.key, scale))
    return found


@cache
def scales() -> Mapping[tuple[str, str, str], float]:
    """Map (benchmark, module, key) to the scale of the paper's values, as `published/mapping.csv` has it."""
    with (room("baselines") / "published" / "mapping.csv").open(encoding="utf-8", newline="") as lines:
        return {(row["benchmark"], row["module"], row["key"]): float(row["scale"]) for row in csv.DictReader(lines)}


def eval_yaml(benchmark: str, org: str, there: Mapping[str, Collection[str]] | None = None) -> str | None:
    """Write the `eval.yaml` of a benchmark's dataset repository.

    A recipe repository has one too, though it holds no rows: a model's result names dataset and task, and without the
    file those of benchmarks whose data may not be hosted could name none. A repository of the made-up samples is no
    benchmark: give it none.

    Args:
        benchmark: its name.
        org: whose repository it is, as in ``ORG/NAME``.
        there: the splits that the repository holds, by config; None for all, and for a recipe.

    Returns:
        The text, or None where the repository holds the data of no task.

    Raises:
        QuadragError: the benchmark is unknown, or has no card.
    """
    import yaml

    every = hub_tasks(benchmark)
    tasks = [task for task in every if there is None or task.split in there.get(task.config, ())]
    if not tasks:
        return None
    content: dict[str, Any] = {
        "name": card(benchmark)[0]["pretty_name"],
        "description": _description(benchmark, tasks),
        "evaluation_framework": FRAMEWORK,
        "tasks": [{"id": task.id, "config": task.config, "split": task.split} for task in tasks],
    }
    text: str = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)
    first = tasks[0]
    return (
        "# quadrag builds the messages and scores the replies of these tasks; with it installed, Inspect runs them as\n"
        f"#   inspect eval quadrag/{benchmark}_{first.config}\n"
        f"# (`inspect eval hf/{org}/{benchmark}` cannot). The results of a run go to a model's repository by\n"
        f"#   quadrag push {org} --results MODEL --run DIR\n{text}"
    )


def _description(benchmark: str, tasks: Collection[HubTask]) -> str:
    """Say what the benchmark is, in its builder's words, and what the value of each task is."""
    about = " ".join(catalogue.load_script(catalogue.benchmarks()[benchmark])._DESCRIPTION.split())
    by_metric: dict[str, list[str]] = {}
    for one in HEADLINES[benchmark]:
        if any(fnmatchcase(task.config, one.configs) for task in tasks):
            percent = " in percent" if scales()[benchmark, one.module, one.key] == PERCENT else ""
            by_metric.setdefault(f"{one.key} of the metric {one.module}{percent}", []).append(one.configs)
    # A benchmark with one metric needs no saying which.
    values = [" for ".join([one, " and ".join(where)][: len(by_metric)]) for one, where in by_metric.items()]
    said = [about, f"The value of a task is {'; '.join(values)}, as the paper's authors compute it."]
    if benchmark in RECIPES:
        said.append("The data are not in this repository; its card says why and how quadrag builds them.")
    said.append("Run with quadrag, by itself or under Inspect AI.")
    return " ".join(said)
