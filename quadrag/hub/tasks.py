"""A benchmark's `eval.yaml`: the tasks of its dataset repository that results of models on the Hub refer to.

The form is the Hub's own (https://huggingface.co/docs/hub/eval-results). Its list of frameworks has none of quadrag's;
the tasks run under Inspect AI, which is there. No `solvers` or `scorers` are written: the form has no place for
messages built of documents, references within alternatives and our scorers.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from quadrag import catalogue
from quadrag.data.card_facts import Headline, card_facts
from quadrag.errors import one_line

from .card import read_card

FRAMEWORK = "inspect-ai"


class HubTask(NamedTuple):
    """A task of a dataset repository: its id is the config, with the split where several of its splits are tasks."""

    id: str
    config: str
    split: str
    headline: Headline


def list_hub_tasks(benchmark: str) -> list[HubTask]:
    """List the tasks of a benchmark in the order of its configs and splits."""
    tasks = []
    for name, config in catalogue.configs(benchmark).items():
        for headline in card_facts(benchmark).headlines:
            splits = [split for split in config.splits if split in headline.splits]
            for split in splits if headline.holds_for(name) else ():
                tasks.append(HubTask(f"{name}_{split}" if len(splits) > 1 else name, name, split, headline))
    return tasks


def write_eval_yaml(benchmark: str, org: str, there: Mapping[str, Collection[str]] | None = None) -> str | None:
    """Write the `eval.yaml` of a benchmark's dataset repository; None where it holds the data of no task.

    A recipe repository has one too, though it holds no rows: a model's result names dataset and task. `there` are the
    splits that the repository holds, by config; None for all, and for a recipe.
    """
    import yaml

    tasks = [task for task in list_hub_tasks(benchmark) if there is None or task.split in there.get(task.config, ())]
    if not tasks:
        return None
    values = [
        f"{line.key} of the metric {line.metric} ({line.unit}) for {', '.join(line.configs)}"
        for line in card_facts(benchmark).headlines
    ]
    about = one_line(catalogue.load_script(catalogue.benchmarks()[benchmark])._DESCRIPTION)
    content = {
        "name": read_card(benchmark)[0]["pretty_name"],
        "description": f"{about} The value of a task is {'; '.join(values)}, as the paper's authors compute it.",
        "evaluation_framework": FRAMEWORK,
        "tasks": [{"id": task.id, "config": task.config, "split": task.split} for task in tasks],
    }
    return (
        "# quadrag builds the messages and scores the replies of these tasks; with it installed, Inspect runs them as\n"
        f"#   inspect eval quadrag/{benchmark}_{tasks[0].config}\n"
        f"# The results of a run go to a model's repository by\n"
        f"#   quadrag push {org} --results MODEL --run DIR\n"
        + str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110))
    )
