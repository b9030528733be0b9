"""The tasks that every harness has: one for each config that holds questions.

They come from the catalogue, the benchmark's record and its card; no file of the harnesses names a benchmark.
"""

from typing import NamedTuple

from quadrag import catalogue
from quadrag.baselines.core.benchmark import Benchmark, known, load
from quadrag.hub.card import read_card


class ListedTask(NamedTuple):
    """A config as a task: its default split, and the retriever that shows the passages coming with its questions."""

    benchmark: str
    config: str
    split: str
    supplied: str | None

    @property
    def name(self) -> str:
        """The task's name; those of lm-eval, where names have no package, begin with ``quadrag_``."""
        return f"{self.benchmark}_{self.config}"

    @property
    def title(self) -> str:
        """What the task asks, as ``RGB: noise robustness in English``."""
        return f"{display_name(self.benchmark)}: {catalogue.config(self.benchmark, self.config).description}"


def list_tasks(benchmark: str) -> list[ListedTask]:
    """List a benchmark's tasks in the order of its dataset script."""
    record = load(benchmark)
    return [
        ListedTask(benchmark, config, default_split(record, config), record.find_supplied(config))
        for config in catalogue.configs(benchmark)
        if record.corpus is None or config in record.configs  # beside a corpus, a config may hold no questions
    ]


def all_tasks() -> list[ListedTask]:
    """List the tasks of all benchmarks."""
    return [task for benchmark in known() for task in list_tasks(benchmark)]


def table_tasks(benchmark: str) -> list[ListedTask]:
    """List the tasks of the paper's tables, in their order; a model alone is asked where no passages come along."""
    tasks = {task.config: task for task in list_tasks(benchmark)}
    alone = [task for task in tasks.values() if task.supplied is None]
    rows = [(tasks[config], retriever) for config, retriever in load(benchmark).campaign(False)]
    found = [alone[0] if retriever == "none" and task.supplied and alone else task for task, retriever in rows]
    return list(dict.fromkeys(found))


def display_name(benchmark: str) -> str:
    """Return a benchmark's name as people write it."""
    return str(read_card(benchmark)[0]["pretty_name"])


def default_split(benchmark: Benchmark, config: str) -> str:
    """Return the split of the paper's tables, else the config's first."""
    return benchmark.default_split or str(catalogue.config(benchmark.name, config).splits[0])
