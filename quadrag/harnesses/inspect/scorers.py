"""A scorer for every evaluate module; its value is a mapping of the module's keys, NaN where one does not count.

Under ``official`` what could not be scored is NaN, which Inspect leaves out and counts; under ``corrected`` it is the
worst value. The reasons are in the score's metadata, by key. A scorer needs its arguments alone, so it can be run on a
log, under the other profile say: ``inspect score LOG --scorer quadrag/truthfulness -S benchmark=crag -S
config=task_1_2 -S profile=corrected``.
"""
# mypy: allow-untyped-decorators
# Inspect's types are not there where ours are checked.

import json
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cache
from typing import Any

from anyio import to_thread
from inspect_ai._util.error import PrerequisiteError  # type: ignore[import-not-found]  # what it tells in one line
from inspect_ai.model import (  # type: ignore[import-not-found]  # the types are checked without it
    GenerateConfig,
    Model,
    model_roles,
)
from inspect_ai.scorer import Score, Scorer, Target, scorer, stderr  # type: ignore[import-not-found]
from inspect_ai.solver import TaskState  # type: ignore[import-not-found]
from inspect_ai.util import LimitExceededError, collect  # type: ignore[import-not-found]

from quadrag import catalogue
from quadrag.baselines.runs.files.logs import inspect_answer
from quadrag.baselines.scoring.drive import Request
from quadrag.baselines.scoring.judging import check_judges
from quadrag.chat.reply import Failure
from quadrag.errors import QuadragError
from quadrag.harnesses.examination import Examination
from quadrag.harnesses.inspect.marking import Marking, Marks
from quadrag.harnesses.inspect.metrics import FAILED, NOT_RUN, SCORED, by_slice, counts, gravest_reason, mean
from quadrag.harnesses.inspect.samples import chat_message

GRADER = "grader"  # the role that Inspect's own scorers ask
# One at a time: the scorers' libraries are not made for threads, and all of it is work of the processor.
_TURN = threading.Lock()
_VERDICT = {"temperature": 0.0, "max_tokens": 1024}  # as `quadrag run` asks a judge


def open_marking(benchmark: str, config: str, settings: Mapping[str, Any]) -> Marking:
    """Return what a task and its scorers share, loaded once in a process."""
    return _load_marking(benchmark, config, json.dumps(dict(settings), sort_keys=True, default=str))


@cache
def _load_marking(benchmark: str, config: str, settings: str) -> Marking:
    return Marking(Examination(benchmark, config, None, json.loads(settings), where="-T"))


async def ask_marks(marking: Marking, module: str, ident: str, text: str | None, state: str) -> Marks:
    """Return a module's marks of an answer, and ask the graders where it wants them."""
    graders = _graders(marking)
    rounds, replies = marking.mark(module, ident, text, state, len(graders)), None
    while True:
        batch = await to_thread.run_sync(_advance, rounds, replies)
        if isinstance(batch, Marks):
            return batch
        replies = await collect(*(_reply(graders[request["judge"]], request["messages"]) for request in batch))


def _advance(rounds: Generator[list[Request], list[Any], Marks], replies: Any) -> list[Request] | Marks:
    with _TURN:
        try:
            return rounds.send(replies)
        except StopIteration as done:
            marks: Marks = done.value
            return marks


def _graders(marking: Marking) -> list[Model]:
    """Return the models of the role; the model examined is never its own grader unawares."""
    named = model_roles().get(GRADER, [])
    models = named if isinstance(named, list) else [named]
    try:
        check_judges([(marking.examination.benchmark, marking.examination.task)], len(models))
    except QuadragError as error:
        raise QuadragError(f"{str(error).partition(';')[0]}; name fewer models in the role {GRADER}") from None
    return models


async def _reply(grader: Model, chat: list[dict[str, str]]) -> str | Failure:
    """Ask for one verdict; what the role's own configuration says goes before ours."""
    wanted = {name: value for name, value in _VERDICT.items() if getattr(grader.config, name) is None}
    try:
        output = await grader.generate([chat_message(message) for message in chat], config=GenerateConfig(**wanted))
    except LimitExceededError:
        raise
    except Exception as error:  # of any provider's client; the item is unscored, and the transcript tells the rest
        return Failure("api_error", " ".join(str(error).split()))
    if output.stop_reason == "max_tokens":
        return Failure("truncated", "the verdict was cut by length; give the role a larger max_tokens")
    text, _, state = inspect_answer(output)
    return Failure(state, str(output.error or "no reply")) if text is None else text


def _score(text: str | None, state: str, marks: Marks, profile: str) -> Score:
    reasons: dict[str, list[str]] = {}
    for key, why in marks.reasons.items():
        reasons.setdefault(why, []).append(key)
    reason = None  # in Inspect's words
    if text is None:
        reason = "no_response"
    elif any(why in FAILED for why in reasons):
        reason = "grader_failed"
    elif reasons and all(why.startswith(NOT_RUN) for why in reasons) and len(marks.reasons) == len(marks.values):
        reason = "scoring_failed"
    return Score(
        value=marks.values,
        answer=text,
        reason=reason,
        explanation="; ".join(f"{', '.join(keys)}: {why}" for why, keys in reasons.items()) or None,
        metadata={"profile": profile, "state": state, "reasons": marks.reasons},
    )


def _scorer(module: str) -> Callable[..., Scorer]:
    """Register the scorer of a module under the module's name."""

    @scorer(metrics={"*": [mean(), stderr(), by_slice()]}, name=module)
    def of_module(benchmark: str, config: str, **settings: Any) -> Scorer:
        try:
            marking = open_marking(benchmark, config, settings)
        except QuadragError as error:
            raise PrerequisiteError(str(error)) from None

        async def score(state: TaskState, target: Target) -> Score:
            text, _, how = inspect_answer(state.output)
            marks = await ask_marks(marking, module, str(state.sample_id), text, how)
            return _score(text, how, marks, marking.examination.profile)

        return score

    found: Callable[..., Scorer] = of_module
    return found


SCORERS = {module: _scorer(module) for module in catalogue.metrics()}


@scorer(metrics=[counts()])
def items() -> Scorer:
    """Say of every item whether the scorers before could score it, else the gravest_reason of their reasons."""

    async def score(state: TaskState, target: Target) -> Score:
        found = [((score.metadata or {}).get("reasons") or {}) for score in (state.scores or {}).values()]
        reasons = [why for each in found for why in each.values()]
        return Score(value=gravest_reason(reasons) or SCORED)

    return score


def scorers_of(benchmark: str, config: str, settings: Mapping[str, Any]) -> Sequence[Scorer]:
    """Return the scorers of a task, in the order in which `quadrag run` reports; then the one that counts the items."""
    marking = open_marking(benchmark, config, settings)
    _graders(marking)
    found = [SCORERS[module](benchmark=benchmark, config=config, **settings) for module in marking.modules]
    return [*found, items()]
