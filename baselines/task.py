"""What to run, and the questions it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quadrag.data import check_split, open_builder, splits
from quadrag.errors import QuadragError
from quadrag.records import Question

from .benchmark import Benchmark


@dataclass(slots=True)
class Task:
    """What to run: a config of a benchmark, under which conditions."""

    benchmark: str
    config: str
    split: str | None = None
    data_dir: str | None = None
    retriever: str = "own"
    options: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    samples: int = 1
    prompts: str | None = None


def load_questions(task: Task, benchmark: Benchmark) -> tuple[list[Question], str]:
    """Load a task's questions, and say where they come from.

    Raises:
        QuadragError: a name is unknown, a file is missing or wrong, or two questions of a split have one id.
    """
    builder, source = open_builder(task.benchmark, task.config, task.data_dir, task.options)
    chosen = [check_split(builder, task.split)] if task.split else splits(builder)
    questions: list[Question] = []
    for split in chosen:
        part = list(benchmark.questions(builder, split))
        ids = {question.id for question in part}
        if len(ids) != len(part):
            raise QuadragError(f"{task.config} {split}: {len(part)} questions but {len(ids)} ids; expected one id each")
        questions += part[: task.limit] if task.limit else part
    if not questions:
        raise QuadragError(f"{task.config} holds no questions in {source}")
    return questions, source
