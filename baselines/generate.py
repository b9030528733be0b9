"""The generate stage: an answer to every question, by a model named in a spec.

``extractive`` needs no model, ``http(s)://host:port/v1#model`` and ``provider:MODEL`` are chat endpoints, and
``local:MODEL`` is loaded here with transformers; ``challenge:FILE.py#Class`` is a model file of the CRAG challenge. A
RAG service answers by passages of its own. A call that fails leaves an answer of None with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from quadrag.errors import QuadragError
from quadrag.prices import BudgetReached
from quadrag.records import Answer, Key, Passage, Question
from quadrag.reply import NOT_ASKED, Failure, Reply

from . import extractive
from .benchmark import Benchmark, Prompts
from .challenge import ChallengeModel
from .rag_reply import Served
from .rag_service import RagService, Wording


class Completer(Protocol):
    """What `ask` needs of a model: `quadrag.chat.ChatClient` and `baselines.local.LocalModel` have it."""

    parameters: dict[str, Any]
    spent: dict[str, Any]
    on_progress: Callable[[int, int], None] | None

    @property
    def model(self) -> str:
        """The model's name as requested."""

    def complete(
        self, batch: Sequence[list[dict[str, str]]], *, samples: Sequence[int] | None = None
    ) -> list[Reply | Failure]:
        """Answer a batch of chats in order."""

    def __call__(self, batch: Sequence[list[dict[str, str]]]) -> list[str | Failure]:
        """Answer as a judge does."""

    def close(self) -> None:
        """Let connections or weights go."""


@dataclass(slots=True)
class Generated:
    """The answers in order, with what only `run.json` keeps: latencies in seconds and failures, by key and sample."""

    answers: list[Answer]
    latency: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    not_asked: set[int] = field(default_factory=set)

    @property
    def asked(self) -> list[Answer]:
        """The answers and failures of calls that were made: after a budget stop not all were."""
        return [answer for place, answer in enumerate(self.answers) if place not in self.not_asked]


def extract(questions: Sequence[Question], passages: Mapping[Key, Sequence[Passage]]) -> Generated:
    """Answer with the most similar sentence; it draws nothing, so there is one sample."""
    return Generated(
        [
            _answer(question, 0, extractive.answer(question.query, passages[question.key], question.language))
            for question in questions
        ]
    )


def ask(
    benchmark: Benchmark,
    questions: Sequence[Question],
    passages: Mapping[Key, Sequence[Passage]],
    prompts: Prompts,
    client: Completer,
    samples: int = 1,
    retriever: str = "own",
) -> Generated:
    """Answer with a chat model, each question `samples` times.

    Raises:
        BudgetReached: as the client raises it; its ``results`` are then the `Generated` answers so far.
    """
    jobs = [(question, sample) for question in questions for sample in range(samples)]
    batch = [benchmark.messages(question, passages[question.key], prompts, retriever) for question, _ in jobs]
    try:
        return _collect(jobs, client.complete(batch, samples=[sample for _, sample in jobs]))
    except BudgetReached as stop:
        stop.results = [_collect(jobs, stop.results)]
        raise


def ask_challenge(
    questions: Sequence[Question], records: Iterable[Mapping[str, Any]], model: ChallengeModel
) -> Generated:
    """Answer with a model of the CRAG challenge, which is handed the pages and has its own ways with them.

    Raises:
        QuadragError: the model is dead, or the data lack a question.
    """
    found = dict(model.answer(records, len(questions)))
    missing = [question.id for question in questions if question.id not in found]
    if missing:
        raise QuadragError(f"the data changed while they were read: {missing[0]} is no longer there; run again")
    return _collect([(question, 0) for question in questions], [found[question.id] for question in questions])


def ask_service(
    questions: Sequence[Question], service: RagService, words: Wording, how: str
) -> tuple[Generated, dict[Key, tuple[Passage, ...]]]:
    """Answer with a RAG service, which finds its passages itself.

    Returns:
        The answers, and of every question the passages that the service gave: none where it gave none or failed.

    Raises:
        QuadragError: the service is dead, or a replay finds no reply.
    """
    replies = service.ask(questions, words, how)
    passages = {
        question.key: reply.passages if isinstance(reply, Served) else ()
        for question, reply in zip(questions, replies, strict=True)
    }
    return _collect([(question, 0) for question in questions], replies), passages


def _collect(jobs: Sequence[tuple[Question, int]], replies: Sequence[Reply | Failure]) -> Generated:
    generated = Generated([])
    for (question, sample), reply in zip(jobs, replies, strict=True):
        place = f"{question.config}/{question.split}/{question.id}/{sample}"
        if isinstance(reply, Reply):
            generated.latency[place] = round(reply.latency, 6)
            generated.answers.append(
                _answer(question, sample, reply.text, finish_reason=reply.finish_reason, usage=reply.usage)
            )
        else:
            if reply.detail.startswith(NOT_ASKED):
                generated.not_asked.add(len(generated.answers))
            elif reply.reason != "truncated":
                # What may go better next time; a cut reply lies in the ledger and would come again.
                generated.failures[place] = reply.detail
            generated.answers.append(_answer(question, sample, None, state=reply.reason))
    return generated


def _answer(question: Question, sample: int, text: str | None, **rest: Any) -> Answer:
    return Answer(question.benchmark, question.config, question.split, question.id, sample, text, **rest)
