"""Our benchmarks as custom tasks of lighteval 0.13.0: questions, messages and rule metrics are those of `quadrag run`.

`lighteval` loads this file by its path (``--custom-tasks``). Every config that holds questions is a task,
``quadrag_BENCHMARK_CONFIG``; what varies is said in ``QUADRAG_LIGHTEVAL`` (`quadrag.harnesses.lighteval.settings`).
The chat of a question, which a document of lighteval has no place for, stands in its ``specific``; `model.py` sends it.

Judged metrics are not computed here: `quadrag score` does that on the details that lighteval writes.
"""

import functools
import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lighteval.metrics.metrics_corpus import CorpusLevelComputation  # type: ignore[import-not-found]
from lighteval.metrics.metrics_sample import SampleLevelComputation  # type: ignore[import-not-found]
from lighteval.metrics.utils.metric_utils import SampleLevelMetric  # type: ignore[import-not-found]
from lighteval.metrics.utils.stderr import mean_stderr  # type: ignore[import-not-found]
from lighteval.tasks.lighteval_task import LightevalTaskConfig  # type: ignore[import-not-found]
from lighteval.tasks.requests import Doc, SamplingMethod  # type: ignore[import-not-found]

from quadrag.errors import QuadragError
from quadrag.harnesses.examination import Examination, average, higher_is_better, one_line
from quadrag.harnesses.lighteval.settings import VARIABLE, settings
from quadrag.harnesses.task_list import all_tasks
from quadrag.paths import cache_dir
from quadrag.records import dumps

_SPLIT = "test"  # what our files are called for lighteval, whichever split they hold
_SPLITS = {"hf_subset": "default", "hf_avail_splits": [_SPLIT], "evaluation_splits": [_SPLIT]}


@functools.cache
def examine(benchmark: str, config: str) -> Examination:
    """Load the questions of a config as the settings say, once in a process.

    Raises:
        QuadragError: a setting is unknown or cannot be had, or data are lacking.
    """
    return Examination(benchmark, config, None, settings().tasks, where=VARIABLE)


@functools.lru_cache(maxsize=1)  # the metrics of a task are computed one after the other
def _items(benchmark: str, config: str, replies: tuple[tuple[str, str | None], ...]) -> dict[str, dict[str, Any]]:
    return examine(benchmark, config).items(dict(replies))


class RuleMetric(SampleLevelComputation, CorpusLevelComputation):  # type: ignore[misc]  # so they are Any
    """One rule metric of a task, named ``MODULE.KEY``: of every item, and their mean."""

    def __init__(self, benchmark: str, config: str, name: str) -> None:
        """Name the metric; it holds no data, for lighteval copies it."""
        self._place, self._name = (benchmark, config), name
        self._values: list[float | None] = []

    def __str__(self) -> str:
        """Return the metric's name, which lighteval writes into its results."""
        return self._name

    def compute(self, responses: Sequence[Any], docs: Sequence[Any], **_: Any) -> list[float | None]:
        """Return the values of all documents of the task; None is one that does not count (`Examination.values`)."""
        # Not `final_text`, from which lighteval takes any <think> out: `model.py` has parted reasoning and answer.
        texts = [response.text[0] if response.text else None for response in responses]
        replies = dict(zip((doc.specific["id"] for doc in docs), texts, strict=True))
        examination = examine(*self._place)
        items = _items(*self._place, tuple(replies.items()))
        found = {ident: examination.values(item).get(self._name) for ident, item in items.items()}
        # lighteval shuffles the documents, and a sum's last digit depends on the order.
        self._values = [found[question.id] for question in examination.questions if question.id in found]
        return [found[ident] for ident in replies]

    def compute_corpus(self, items: Sequence[float | None]) -> dict[str, float]:
        """Return the mean of what counts, NaN where nothing does, and its standard error, from two items on.

        In one mapping, since lighteval's own estimate takes no None.
        """
        mean = average(self._values)
        counted = [value for value in self._values if value is not None]
        error = {f"{self._name}_stderr": mean_stderr(counted)} if len(counted) > 1 else {}
        return {self._name: math.nan if mean is None else mean, **error}


class QuadragTask(LightevalTaskConfig):  # type: ignore[misc]  # so it is Any
    """A config of a benchmark, whose data are not looked for before the task is asked for."""

    def __init__(self, benchmark: str, config: str) -> None:
        """Name the config."""
        self.place = (benchmark, config)
        name = f"quadrag_{benchmark}_{config}"
        super().__init__(name=name, prompt_function=document, hf_repo=f"quadrag/{benchmark}", metrics=[], **_SPLITS)

    def __deepcopy__(self, memo: Any) -> Any:
        """Return the task with data and metrics: lighteval copies the tasks that it was asked for, and no others."""
        with one_line():
            examination = examine(*self.place)
            folder = _write_questions(examination, "_".join(self.place))
        return LightevalTaskConfig(
            name=self.name,
            prompt_function=document,
            hf_repo=str(folder),
            metrics=[_metric(*self.place, name) for name in examination.metrics],
            **_SPLITS,
        )


def document(row: Mapping[str, Any], task_name: str) -> Any:
    """Make a document of lighteval of a row of our file; `query` is the chat as one text, for what shows no chat."""
    if row.get("__few_shots"):
        with one_line():
            raise QuadragError(f"examples are asked for, and the protocol shows none; write {task_name}|0")
    names = ("benchmark", "config", "split", "id", "temperature", "conditions", "messages")
    return Doc(
        query="\n\n".join(message["content"] for message in row["messages"]),
        choices=[row["references"]],
        gold_index=0,
        original_query=row["query"],
        task_name=task_name,
        specific={name: row[name] for name in names} | {"state": None},
    )


def _metric(benchmark: str, config: str, name: str) -> Any:
    rule = RuleMetric(benchmark, config, name)
    return SampleLevelMetric(
        metric_name=name,
        higher_is_better=higher_is_better(name),
        category=SamplingMethod.GENERATIVE,
        sample_level_fn=rule,
        corpus_level_fn=rule,
        batched_compute=True,
    )


def _write_questions(examination: Examination, name: str) -> Path:
    """Write the questions as Parquet, the form that lighteval loads, into a folder named by their content."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    temperature = {"temperature": float(examination.benchmark.temperature)}
    rows = [examination.document(question) | temperature for question in examination.questions]
    digest = hashlib.sha256("\n".join(map(dumps, rows)).encode()).hexdigest()[:16]
    file = cache_dir() / "lighteval" / f"{name}-{digest}" / f"{_SPLIT}.parquet"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.{os.getpid()}.part")
        try:
            pq.write_table(pa.Table.from_pylist(rows), partial)
            partial.replace(file)
        finally:
            partial.unlink(missing_ok=True)
    return file.parent


TASKS_TABLE = [QuadragTask(listed.benchmark, listed.config) for listed in all_tasks()]
