"""What answers questions, whatever it is: the one protocol that a run knows.

A system says of itself whether it finds its own passages, as a RAG service does, or wants whole pages, as a model file
of a challenge does. A failed call leaves an answer of None, with the reason.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quadrag.benchmark import Benchmark
from quadrag.chat.client import Completer
from quadrag.chat.reply import Outcome, Reply, read_answer
from quadrag.errors import QuadragError
from quadrag.prompts import Prompts, load_prompts
from quadrag.records import Answer, Key, Passage, Question
from quadrag.spec import RunSpec

Passages = Mapping[Key, Sequence[Passage]]
Questions = Sequence[Question]
OnProgress = Callable[[int, int], None] | None  # is given how many answers are done, of how many


@dataclass(slots=True)
class Generated:
    """The answers in order, with what only `run.json` keeps: latencies in seconds and failures, by key and sample.

    `passages` are those that a system found itself; `not_asked` are the places of answers that a budget left out.
    """

    answers: list[Answer]
    latency: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    not_asked: set[int] = field(default_factory=set)
    passages: dict[Key, tuple[Passage, ...]] = field(default_factory=dict)
    stopped: Mapping[str, Any] | None = None  # of the budget that ended before all were asked

    @property
    def asked(self) -> list[Answer]:
        """The answers and failures of calls that were made: after a budget stop not all were."""
        if not self.stopped:
            return self.answers
        return [answer for place, answer in enumerate(self.answers) if place not in self.not_asked]


@dataclass(frozen=True, slots=True)
class Assignment:
    """A task as a system takes it on: the benchmark as the system meets it, and the prompts."""

    benchmark: Benchmark
    task: RunSpec
    prompts: Prompts


class System(ABC):
    finds_passages = False  # none are found for it
    wants_pages = False  # it is handed whole pages
    asks_models = True  # an empty answer is then a failure
    asks_failed = True  # calls that failed are made again where a run goes on
    draws = True  # it may be asked several times
    has_answers = False  # they are there before the run, as those of a file: nothing is found for it
    completer: Completer | None = None  # what may be asked about a question before it is answered
    parameters: Mapping[str, Any] = {}  # what else decides its answers
    spent: dict[str, Any] | None = None  # calls, tokens and cost so far, as they go on; None where nothing is counted
    service: str | None = None  # what the ledger calls the server that is asked

    @property
    @abstractmethod
    def name(self) -> str:
        """What `run.json` calls it."""

    def choose(self, questions: Questions, source: Any) -> tuple[Questions, int] | None:
        """Return the questions that it answers, and among how many; None where all."""
        return None

    def note(self, record: Any) -> None:  # noqa: B027
        """Enter into a run's record what else is known of the answers."""

    def take(self, benchmark: Benchmark, task: RunSpec) -> Assignment:
        if self.wants_pages != (task.retriever == benchmark.handed_over):
            pages = benchmark.handed_over or "of a benchmark with pages"
            raise QuadragError(f"--retriever {pages} hands whole pages to --llm challenge:FILE.py#Class and no other")
        if task.samples > 1 and not self.draws:
            raise QuadragError(f"{self.name} draws nothing; leave out --samples, or name a model that does with --llm")
        return Assignment(benchmark, task, load_prompts(task.benchmark, task.prompts))

    @abstractmethod
    def answer(
        self, work: Assignment, questions: Questions, passages: Passages, on_progress: OnProgress = None
    ) -> Generated:
        """Answer n questions in their order, each as often as the task has samples.

        `passages` are of each question by its key, none of a system that finds its own. QuadragError is raised where
        what answers is dead, or a replay finds no reply at all.
        """

    def keep(self, path: Path) -> None:  # noqa: B027  # a ledger does that for models
        """Keep answers in this file of the run's folder as they come, and take those that an earlier run left there."""

    def close(self) -> None:  # noqa: B027
        """Let connections or weights go."""


def make_answer(question: Question, sample: int, content: Any, state: str = "ok") -> Answer:
    return Answer(question.benchmark, *question.key, sample, *read_answer(content, state=state))


def collect(jobs: Sequence[tuple[Question, int]], replies: Sequence[Outcome]) -> Generated:
    """Put replies together as answers; `jobs` are the question and the number of the sample of each."""
    generated = Generated([])
    for (question, sample), reply in zip(jobs, replies, strict=True):
        place = "/".join((*question.key, str(sample)))
        if isinstance(reply, Reply):
            # Once more, since a reply from the ledger was read by what was known then, of keys too.
            read = read_answer(reply.text, reply.reasoning, finish_reason=reply.finish_reason)
            parts: tuple[Any, ...] = (*read, reply.finish_reason, reply.usage)
            generated.latency[place] = round(reply.latency, 6)
        else:
            parts = (None, None, reply.reason)
            if not reply.asked:
                generated.not_asked.add(len(generated.answers))
            elif reply.reason != "truncated":
                # What may go better next time; a cut reply lies in the ledger and would come again.
                generated.failures[place] = reply.detail
        generated.answers.append(Answer(question.benchmark, *question.key, sample, *parts))
        generated.passages[question.key] = reply.passages if isinstance(reply, Reply) else ()
    return generated
