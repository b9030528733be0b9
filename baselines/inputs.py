"""What decides the bytes of a run's files, as `run.json` names it under ``inputs``.

A run with other inputs is another run. Models are named by their weights' content or commit where they are loaded here,
texts by a digest; addresses, times and costs are not among them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from quadrag import __version__, stats
from quadrag.records import Question, dumps

from .benchmark import Benchmark
from .generate import Completer
from .models import EXTRACTIVE
from .score import Embed
from .search import identity
from .task import Corpus, Task


class Models(Protocol):
    """The models of a session."""

    llm: Completer | None
    judge: Completer | None
    embed: Embed | None


def run_inputs(
    models: Models,
    benchmark: Benchmark,
    task: Task,
    questions: Sequence[Question],
    prompts: Mapping[str, Any],
    corpus: Corpus | None,
) -> dict[str, Any]:
    """Name everything that decides the bytes of the stages' files.

    Args:
        models: those in use.
        benchmark: of the task.
        task: what is run.
        questions: all of them.
        prompts: as loaded.
        corpus: what is searched, or None.

    Raises:
        QuadragError: a setting cannot be used, a model cannot be had, or a file that a metric reads is wrong.
    """
    searched: dict[str, Any] = {}
    if corpus:
        searched["retrieval"] = {**task.settings(), "corpus": corpus.fingerprint[:16]}
        searched["search"] = identity(task.retriever, task.retrieval)
    return {
        "quadrag": __version__,
        "benchmark": task.benchmark,
        "config": task.config,
        "splits": list(dict.fromkeys(question.split for question in questions)),
        "retriever": task.retriever,
        **searched,
        "options": dict(task.options),
        "limit": task.limit,
        "samples": task.samples,
        "llm": models.llm.model if models.llm else EXTRACTIVE,
        "parameters": dict(models.llm.parameters) if models.llm else {},
        "judge": models.judge.model if models.judge else None,
        **({"judging": _judging(models.judge, benchmark, task, questions)} if models.judge else {}),
        **({"bertscore": _embedding(models.embed)} if models.embed else {}),
        "prompts": _digest(prompts),
        "questions": _questions(questions),
        "seeds": {"bootstrap": stats.SEED},
    }


def _judging(judge: Completer, benchmark: Benchmark, task: Task, questions: Sequence[Question]) -> dict[str, Any]:
    """Name what verdicts depend on beside judge and answers: its parameters, and what the metrics are given."""
    judged = [metric for metric in benchmark.metrics(task.config, task.conditions) if metric.judged]
    given = {metric.module: benchmark.keywords(metric, questions, task.conditions) for metric in judged}
    return {"parameters": dict(judge.parameters), "given": _digest(given)}


def _embedding(embed: Embed) -> Any:
    describe = getattr(embed, "describe", None)
    return describe() if describe else getattr(embed, "model", None)


def _questions(questions: Sequence[Question]) -> str:
    content = hashlib.sha256()
    for question in questions:
        passages = [passage.text for passage in question.passages]
        more = [passages, question.relevant, dict(question.slots)]
        content.update(dumps([*question.key, question.query, question.references, *more]).encode())
    return content.hexdigest()[:16]


def _digest(value: Any) -> str:
    return hashlib.sha256(dumps(value).encode()).hexdigest()[:16]
