"""One run: questions, passages, answers, items and scores, each stage a file of the run folder.

A stage whose file stands is not done again, so a run that stopped goes on where it was; replies already paid for come
from the ledger. What a table looks like is `report.py`'s affair.
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from quadrag import __version__, stats
from quadrag.data import check_split, open_builder, splits
from quadrag.errors import QuadragError
from quadrag.prices import BudgetReached
from quadrag.progress import Progress
from quadrag.records import Answer, Key, Passage, Question, dumps, read_jsonl, write_text

from . import retrieve
from .benchmark import Benchmark, load, load_prompts
from .folder import RunFolder
from .generate import Completer, Generated, ask, extract
from .score import score

_LIBRARIES = ("datasets", "evaluate", "huggingface_hub", "numpy")


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


@dataclass(slots=True)
class Result:
    """What a run came to. `stopped` is the reason where it could not finish; the scores are then partial."""

    info: dict[str, Any]
    scores: list[dict[str, Any]]
    items: list[dict[str, Any]]
    reused: bool = False
    stopped: str | None = None


@dataclass(slots=True)
class Session:
    """What several runs share: the models, and how the user started them."""

    llm: Completer | None = None
    judge: Completer | None = None
    llm_name: str = "extractive"
    command: Sequence[str] = ()

    def run(self, task: Task, out: Path) -> Result:
        """Run a task into a folder, or go on with what the folder holds.

        Raises:
            QuadragError: bad input, a dead server, or a folder of another run; finished stages stay.
        """
        benchmark = load(task.benchmark)
        if task.retriever not in benchmark.RETRIEVERS:
            raise QuadragError(f"{task.benchmark} takes --retriever {' or '.join(benchmark.RETRIEVERS)}")
        prompts = load_prompts(task.benchmark, task.prompts)
        questions, source = load_questions(task, benchmark)
        folder = RunFolder(out, self._inputs(task, questions, prompts))
        if folder.finished and not folder.info.get("failures") and not folder.info.get("failed_verdicts"):
            scores = json.loads((out / "scores.json").read_text(encoding="utf-8"))
            return Result(folder.info, scores, [row for _, row in read_jsonl(out / "items.jsonl")], reused=True)
        folder.save(state="running", source=source, command=list(self.command), versions=_versions())
        started = time.time()
        before = {name: dict(model.spent) for name, model in self._models().items()}
        passages = self._retrieve(folder, task, questions)
        generated, stopped = self._generate(folder, benchmark, task, questions, passages, prompts)
        answered = generated.answers if not stopped else [a for a in generated.answers if a.state == "ok"]
        items, scores, stopped = score_answers(self, benchmark, questions, answered, task, stopped)
        if stopped:
            # Not recorded: a partial table is no finished stage.
            write_text(out / "items.jsonl", jsonl_text(items))
            write_text(out / "scores.json", score_text(scores))
        else:
            folder.write("items.jsonl", jsonl_text(items))
            folder.write("scores.json", score_text(scores))
        folder.save(
            state="stopped" if stopped else "finished",
            stopped=stopped,
            failed_verdicts=0 if stopped else failed_verdicts(answered, items),
            started=_clock(started),
            seconds=round(time.time() - started, 3),
            host=platform.node(),
            usage={name: _since(before[name], model.spent) for name, model in self._models().items()},
        )
        return Result(folder.info, scores, items, stopped=stopped)

    def _models(self) -> dict[str, Completer]:
        return {name: model for name, model in (("llm", self.llm), ("judge", self.judge)) if model is not None}

    def _inputs(self, task: Task, questions: Sequence[Question], prompts: Mapping[str, Any]) -> dict[str, Any]:
        """Name everything that decides the bytes of the stages' files."""
        content = hashlib.sha256()
        for question in questions:
            passages = [passage.text for passage in question.passages]
            content.update(dumps([*question.key, question.query, question.references, passages]).encode())
        return {
            "quadrag": __version__,
            "benchmark": task.benchmark,
            "config": task.config,
            "splits": list(dict.fromkeys(question.split for question in questions)),
            "retriever": task.retriever,
            "options": dict(task.options),
            "limit": task.limit,
            "samples": task.samples,
            "llm": self.llm.model if self.llm else self.llm_name,
            "parameters": dict(self.llm.parameters) if self.llm else {},
            "judge": self.judge.model if self.judge else None,
            "prompts": hashlib.sha256(dumps(prompts).encode()).hexdigest()[:16],
            "questions": content.hexdigest()[:16],
            "seeds": {"bootstrap": stats.SEED},
        }

    def _retrieve(self, folder: RunFolder, task: Task, questions: Sequence[Question]) -> dict[Key, tuple[Passage, ...]]:
        path = folder.path / "retrieved.jsonl"
        if folder.replaced(path.name):
            passages = retrieve.read(path, questions)
            folder.keep(path.name)
            return passages
        if not folder.stands(path.name):
            found = retrieve.retrieve(questions, task.retriever)
            folder.write(path.name, jsonl_text(retrieve.rows(questions, found)))
        return retrieve.read(path, questions)

    def _generate(
        self,
        folder: RunFolder,
        benchmark: Benchmark,
        task: Task,
        questions: Sequence[Question],
        passages: Mapping[Key, Sequence[Passage]],
        prompts: Mapping[str, Mapping[str, str]],
    ) -> tuple[Generated, str | None]:
        """Answer the questions; on a budget stop, return what there is and the reason."""
        path = folder.path / "answers.jsonl"
        replaced = folder.replaced(path.name)
        if replaced or (folder.stands(path.name) and not folder.info.get("failures")):
            answers = read_answers(path, {question.key: question for question in questions})
            if replaced:
                folder.keep(path.name, failures={}, latency_seconds={}, latency=None)
            return Generated(answers), None
        stopped = None
        if self.llm is None:
            generated = extract(questions, passages)
        else:
            with Progress(f"{task.config}: answers", len(questions) * task.samples) as progress:
                self.llm.on_progress = progress.update
                try:
                    generated = ask(benchmark, questions, passages, prompts, self.llm, task.samples)
                except BudgetReached as stop:
                    (generated,), stopped = stop.results, str(stop)
        entries = {
            "failures": generated.failures,
            "latency_seconds": generated.latency,
            "latency": spread(list(generated.latency.values())),
        }
        if stopped:
            folder.save(**entries)
        else:
            folder.write(path.name, jsonl_text(answer.as_row() for answer in generated.answers), **entries)
        return generated, stopped


def score_answers(
    session: Session,
    benchmark: Benchmark,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    task: Task,
    stopped: str | None = None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str | None]:
    """Score answers with the session's judge, unless the run has stopped before.

    Returns:
        Items and scores as `score` does, and why the run stopped: a budget that ends among the verdicts leaves the
        rest of them unscored.
    """
    by_key = {question.key: question for question in questions}
    judge = None if stopped else session.judge
    if judge is None:
        return *score(benchmark, by_key, answers, task.retriever), stopped
    ended: list[str] = []
    with Progress(f"{task.config}: verdicts", len(answers)) as progress:
        judge.on_progress = progress.update

        def verdicts(batch: list[list[dict[str, str]]]) -> list[Any]:
            try:
                return list(judge(batch))
            except BudgetReached as stop:
                ended.append(str(stop))
                return list(stop.results)

        verdicts.model = judge.model  # type: ignore[attr-defined]  # the judge contract's optional attribute
        items, scores = score(benchmark, by_key, answers, task.retriever, verdicts)
    return items, scores, ended[0] if ended else None


def failed_verdicts(answers: Sequence[Answer], items: Sequence[Mapping[str, Any]]) -> int:
    """Count the answers that a judge was asked about in vain; a later run may ask again."""
    return sum(
        answer.state == "ok"
        and any(value.get("reason") == "api_error" for value in line.values() if isinstance(value, dict))
        for answer, line in zip(answers, items, strict=True)
    )


def jsonl_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of a JSON Lines file."""
    return "".join(f"{dumps(row)}\n" for row in rows)


def score_text(scores: Sequence[dict[str, Any]]) -> str:
    """Return the text of ``scores.json``: a JSON list, a row a line."""
    return "[\n" + ",\n".join(dumps(row) for row in scores) + "\n]\n"


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


def read_answers(
    path: Path, questions: Mapping[Key, Question], defaults: Mapping[str, str] | None = None
) -> list[Answer]:
    """Read answers, in the order of the questions.

    Args:
        path: JSON Lines with ``id`` and ``answer`` at least; see `answers.py` for the forms.
        questions: every question by its key.
        defaults: ``config`` and ``split`` of lines that do not say them.

    Raises:
        QuadragError: a line is not an answer, or ids are unknown, missing or given twice.
    """
    from .answers import read

    found = read(path, questions, defaults or {})
    order = {key: place for place, key in enumerate(questions)}
    return sorted(found, key=lambda answer: (order[answer.key], answer.sample))


def _since(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """What this run spent: the session's counters now, less those when it began."""
    return {name: None if value is None else value - (before[name] or 0) for name, value in now.items()}


def _versions() -> dict[str, str]:
    return {"quadrag": __version__, "python": platform.python_version()} | {name: version(name) for name in _LIBRARIES}


def _clock(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def spread(seconds: list[float]) -> dict[str, float] | None:
    """Median and 95th percentile, in seconds."""
    if not seconds:
        return None
    import numpy as np

    median, high = np.quantile(seconds, [0.5, 0.95])
    return {"median": round(float(median), 4), "p95": round(float(high), 4)}
