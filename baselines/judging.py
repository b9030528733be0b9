"""The session's judges at the score stage: how many may be named, and what remains where their budget ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from quadrag.errors import QuadragError
from quadrag.prices import BudgetReached
from quadrag.progress import Progress
from quadrag.records import Answer, Key, Passage, Question

from .benchmark import Benchmark
from .generate import Completer
from .score import Aids, Embed, Judge, score
from .task import Task


class Judging(Protocol):
    """What judges: of a session, the judges and the sentence embedding."""

    judges: Sequence[Completer]
    embed: Embed | None


def score_answers(
    session: Judging,
    benchmark: Benchmark,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    task: Task,
    stopped: str | None = None,
    passages: Mapping[Key, Sequence[Passage]] | None = None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str | None]:
    """Score answers with the session's judge, unless the run has stopped before; ranks too, where passages are given.

    Returns:
        Items and scores as `score` does, and why the run stopped: a budget that ends among the verdicts leaves the
        rest of them unscored.
    """
    by_key = {question.key: question for question in questions}
    judges = () if stopped else session.judges
    aids = Aids(embed=session.embed, passages=passages)
    if not judges:
        return *score(benchmark, by_key, answers, task.conditions, aids), stopped
    ended: list[str] = []

    def stopping(judge: Completer) -> Judge:
        def verdicts(batch: list[list[dict[str, str]]]) -> list[Any]:
            try:
                return list(judge(batch))
            except BudgetReached as stop:
                ended.append(str(stop))
                return list(stop.results)

        verdicts.model = judge.model  # type: ignore[attr-defined]  # the judge contract's optional attribute
        return verdicts

    with Progress(f"{task.config}: verdicts", len(answers)) as progress:
        for judge in judges:
            judge.on_progress = progress.update
        aids = replace(aids, judges=[stopping(judge) for judge in judges])
        items, scores = score(benchmark, by_key, answers, task.conditions, aids)
    return items, scores, ended[0] if ended else None


def check_judges(benchmark: Benchmark, task: Task, judges: Sequence[Completer]) -> None:
    """See to it that no more judges are named than the metrics ask.

    Raises:
        QuadragError: there are more.
    """
    asking = [metric for metric in benchmark.metrics(task.config, task.conditions) if metric.judged]
    most = max((metric.judge + 1 for metric in asking), default=1)
    if len(judges) > most and not any(metric.panel for metric in asking):
        name = asking[0].module if asking else task.benchmark
        wanted = "one judge" if most == 1 else f"at most {most} judges"
        times = "once" if most == 1 else "less often"
        raise QuadragError(f"{name} asks {wanted}, and {len(judges)} were named; give --judge {times}")
