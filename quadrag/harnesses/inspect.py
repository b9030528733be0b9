"""The benchmarks as tasks of Inspect AI: questions, messages, values and verdicts are those of `quadrag run`.

Inspect loads this file by an entry point, and finds a task for every config by its name::

    inspect eval quadrag/BENCHMARK_CONFIG --model openai-api/local/M --model-role grader=openai-api/local/J

Settings of `quadrag.harnesses.examination` come with ``-T``. Judged metrics ask the role ``grader``, which may be
several models; without one they have no value. A log is scored anew, under the other profile say, by ``inspect score
LOG --scorer quadrag/score -S benchmark=BENCHMARK -S config=CONFIG -S profile=corrected``.
"""
# mypy: allow-untyped-decorators
# Inspect's types are not there where ours are checked.

import json
import math
import threading
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from anyio import from_thread, to_thread
from inspect_ai import Task, task  # type: ignore[import-not-found]
from inspect_ai._util.error import PrerequisiteError  # type: ignore[import-not-found]  # what it prints in one line
from inspect_ai.dataset import MemoryDataset, Sample  # type: ignore[import-not-found]
from inspect_ai.model import (  # type: ignore[import-not-found]
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    model_roles,
)
from inspect_ai.scorer import (  # type: ignore[import-not-found]
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState, generate  # type: ignore[import-not-found]
from inspect_ai.util import LimitExceededError, collect  # type: ignore[import-not-found]

from quadrag import __version__, catalogue
from quadrag.audit import gold_parts
from quadrag.benchmark import NO_JUDGE
from quadrag.chat.reply import Failure
from quadrag.errors import QuadragError
from quadrag.metric_record import name_together
from quadrag.records import Question
from quadrag.run.answers import inspect_answer
from quadrag.scoring.drive import Judge, Messages
from quadrag.scoring.judging import check_judges

from .examination import Examination, list_configs

_MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
_VERDICT = {"temperature": 0.0, "max_tokens": 1024}  # as `quadrag run` asks a judge
_TURN = threading.Lock()  # the scorers' libraries are not made for threads; who waits for a grader lets others go on


@metric
def mean() -> Metric:
    """Return the mean of one value in the order of the data, NaN where there is none.

    Inspect's own adds in another order than the evaluate modules do, so its last digit may differ.
    """

    def average(scores: list[SampleScore]) -> float:
        ordered = sorted(scores, key=lambda score: (score.sample_metadata or {}).get("place", 0))
        values = [score.score.as_float() for score in ordered]
        return sum(values) / len(values) if values else math.nan

    return average


@scorer(metrics={"*": [mean(), stderr()]})
def score(benchmark: str, config: str, **settings: Any) -> Scorer:
    """Score as `quadrag score` does: a value by the name that it shows, NaN where one does not count.

    Under ``official`` what could not be scored is NaN, which Inspect leaves out and counts; under ``corrected`` it is
    the worst value. The reasons are in the score's metadata.
    """
    examination = _load(benchmark, config, settings)

    async def of_sample(state: TaskState, target: Target) -> Score:
        text, _, reason = inspect_answer(state.output)
        judges: list[Judge] = [partial(_ask, grader) for grader in _graders(examination)]
        item = await to_thread.run_sync(_score, examination, str(state.sample_id), text, reason, judges)
        not_run = () if judges else examination.judged
        values = examination.values(item) | dict.fromkeys(not_run)
        reasons = dict.fromkeys(not_run, f"not_run: {NO_JUDGE}") | examination.reasons(item)
        names = name_together(values)
        return Score(
            value={names[metric]: math.nan if value is None else value for metric, value in values.items()},
            answer=text,
            explanation="; ".join(f"{names[metric]}: {why}" for metric, why in reasons.items()) or None,
            metadata={"profile": examination.profile, "reasons": reasons},
        )

    return of_sample


def _score(examination: Examination, ident: str, text: str | None, reason: str, judges: list[Judge]) -> dict[str, Any]:
    passages = examination.passages if examination.spec.searches else None
    with _TURN:
        return examination.items({ident: text}, reason, judges, passages)[ident]


def _ask(grader: Model, chats: list[Messages]) -> list[str | Failure]:
    """Ask a grader from the thread of a scorer."""

    async def replies() -> list[str | Failure]:
        return list(await collect(*(_reply(grader, chat) for chat in chats)))

    _TURN.release()
    try:
        return from_thread.run(replies)
    finally:
        _TURN.acquire()


async def _reply(grader: Model, chat: Messages) -> str | Failure:
    """Ask for one verdict; what the role's own configuration says goes before ours."""
    wanted = {name: value for name, value in _VERDICT.items() if getattr(grader.config, name) is None}
    try:
        output = await grader.generate(_chat(chat), config=GenerateConfig(**wanted))
    except LimitExceededError:
        raise
    except Exception as error:  # of any provider's client; the item is unscored, and the transcript has the rest
        return Failure("api_error", " ".join(str(error).split()))
    if output.stop_reason == "max_tokens":
        return Failure("truncated", "the verdict was cut by length; give the role a larger max_tokens")
    text, _, state = inspect_answer(output)
    return Failure(state, str(output.error or "no reply")) if text is None else text


def _graders(examination: Examination) -> list[Model]:
    """Return the models of the role; the model examined is never its own grader unawares."""
    named = model_roles().get("grader", [])  # the role that Inspect's own scorers ask
    models = named if isinstance(named, list) else [named]
    if examination.judged:
        check_judges([(examination.benchmark, examination.spec)], len(models))
    return models


def _load(benchmark: str, config: str, settings: Mapping[str, Any]) -> Examination:
    """Return what a task and its scorer share; a QuadragError would be shown as a crash."""
    try:
        examination = _examination(benchmark, config, json.dumps(settings, sort_keys=True))
        _graders(examination)
    except QuadragError as error:
        raise PrerequisiteError(str(error)) from None
    return examination


@cache
def _examination(benchmark: str, config: str, settings: str) -> Examination:
    return Examination(benchmark, config, None, json.loads(settings))


def _chat(messages: Messages) -> list[ChatMessage]:
    return [_MESSAGES[message["role"]](content=message["content"]) for message in messages]


def _sample(examination: Examination, place: int, question: Question) -> Sample:
    shown = examination.passages[question.key]
    metadata = {
        **examination.document(question),
        "place": place,
        "passages": [{"id": passage.id, "title": passage.title, "text": passage.text} for passage in shown],
        **question.slices,
    }
    return Sample(
        id=question.id,
        input=_chat(examination.messages(question)),
        target=[gold for part in gold_parts(question.references) for gold in part],
        metadata=metadata,
    )


def _register(benchmark: str, config: str) -> Any:
    def of_config(**settings: Any) -> Task:
        examination = _load(benchmark, config, settings)
        samples = [_sample(examination, place, question) for place, question in enumerate(examination.questions)]
        return Task(
            dataset=MemoryDataset(samples, name=f"{benchmark} {config}"),
            solver=generate(),
            scorer=score(benchmark=benchmark, config=config, **settings),
            config=GenerateConfig(temperature=examination.benchmark.temperature),
            score_on_error=True,  # an item that fails counts, where the user lets it pass (``--no-fail-on-error``)
            metadata={"quadrag": __version__, "profile": examination.profile, "split": examination.questions[0].split},
        )

    return task(name=f"{benchmark}_{config}")(of_config)


TASKS = {
    f"{benchmark}_{config}": _register(benchmark, config)
    for benchmark in catalogue.benchmarks()
    for config in list_configs(benchmark)
}
