"""One's own RAG system as a Python function: it is handed a question and returns an answer, maybe with passages.

Of a benchmark that brings its passages with the questions the function is handed these; of any other it searches
itself, and is measured as a RAG service is. What it answered is kept at once (`KeptAnswers`).
"""

import asyncio
import inspect
import json
import math
import time
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quadrag.chat.reply import Failure, Reply
from quadrag.errors import one_line
from quadrag.progress import remark
from quadrag.records import Answer, Key, Passage, Question, dumps

from ..core.benchmark import Benchmark
from ..core.prompts import load_service_prompts
from ..core.task import Task
from .beside import run_beside
from .rag.reply import Served
from .rag.service import asked_text, shown_turns
from .rag.system import collect_served, read_manner, take_served
from .returned import WrongBatch, check_signature, read_failure, read_result, refuse_failing, take_batch, take_reply
from .system import Assignment, Generated, Passages, Questions, System, Tell

_FIRST = 8  # questions that all failed: the others would
_SHOWN = 60  # characters of a question's text in a line


@dataclass(frozen=True, slots=True, repr=False)
class OpenQuestion:
    """A question as a system is handed it, without its accepted answers.

    Attributes:
        id: unique within its config and split.
        query: its text.
        history: the turns before it, each a question and its answer; empty outside conversations.
        passages: those that the benchmark brings; empty where the system is to search.
        benchmark: the benchmark's name.
        config: its config.
        split: its split.
        language: ``en`` or ``zh``.
        query_time: when it was asked, where the benchmark has that.
    """

    id: str
    query: str
    history: tuple[tuple[str, str | None], ...]
    passages: tuple[Passage, ...]
    benchmark: str
    config: str
    split: str
    language: str
    query_time: str | None = None

    def __repr__(self) -> str:
        """Show its id, the beginning of its text and how many passages it has, in a line."""
        some = f", passages={len(self.passages)}" * bool(self.passages)
        return f"OpenQuestion({self.id!r}, {one_line(self.query, _SHOWN)!r}{some})"

    @property
    def key(self) -> Key:
        """Config, split and id."""
        return (self.config, self.split, self.id)


def pose(work: Assignment, question: Question, passages: Sequence[Passage]) -> OpenQuestion:
    """Put a question as a RAG service is sent it, with the passages that are shown with it."""
    manner = read_manner(work) if Function.searches(work.benchmark) else "bare"
    return OpenQuestion(
        id=question.id,
        query=asked_text(question, work.prompts, manner),
        history=tuple(shown_turns(question)),
        passages=tuple(passages),
        benchmark=question.benchmark,
        config=question.config,
        split=question.split,
        language=question.language,
        query_time=question.slots.get("query_time"),
    )


@dataclass(frozen=True, slots=True)
class KeptAnswers:
    """The answers of a user's function, kept in a file as they come: a run that was killed goes on from there.

    Failures are not kept, so that they are asked again. Whether the function has changed since cannot be seen.
    Without a path nothing is kept.
    """

    path: Path | None = None

    def read(self) -> tuple[dict[Key, Reply | Failure], float | None]:
        """Read what is kept, and the Unix time of the oldest; a line that a kill cut off is as if it were not there."""
        found: dict[Key, Reply | Failure] = {}
        times = []
        if self.path is None or not self.path.exists():
            return found, None
        for line in self.path.read_text(encoding="utf-8", errors="replace").split("\n"):
            try:
                row = json.loads(line)
                told = row["passages"]
                passages = None if told is None else tuple(Passage(*one) for one in told)
                config, split, ident = row["key"]
                thought, took = row["reasoning"], float(row["seconds"])
                found[config, split, ident] = take_reply(str(row["answer"]), thought, took, passages)
                times.append(float(row["made"]))
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
        return found, min(times, default=None)

    def add(self, found: Mapping[Key, Reply | Failure], made: float | None = None) -> None:
        """Write answers behind what is there."""
        if self.path is None:
            return
        made = round(made or time.time(), 3)
        rows = [
            {"key": key, "answer": one.text, "reasoning": one.reasoning, "passages": one.passages}
            | {"seconds": one.latency, "made": made}
            for key, one in found.items()
            if isinstance(one, Served)
        ]
        with self.path.open("a", encoding="utf-8") as file:
            # A line break first: a kill may have cut the last line off.
            file.write("".join(f"\n{dumps(row)}\n" for row in rows))


class Function(System):
    """A function from a question to its answer, or from a list of questions to a list of answers."""

    asks_models = False

    def __init__(
        self,
        function: Callable[[Any], Any],
        name: str | None = None,
        batch_size: int | None = None,
        concurrency: int = 16,
        asks_failed: bool = False,
    ) -> None:
        """Take the function; it is not called yet.

        Args:
            function: takes an `OpenQuestion`, and returns a text, or a text and its passages, best first, as
                `quadrag.passages` reads them; or both in a mapping, as ``answer`` and ``passages``. It may be a
                coroutine function.
            name: what `run.json` calls it; its own name when None.
            batch_size: hand it lists of this many questions, for a list of as many results.
            concurrency: calls in flight of a coroutine function.
            asks_failed: ask it again about the questions of a finished run on which it failed.
        """
        self.function = function
        self.batch_size = batch_size
        self.concurrency = concurrency
        self.kept = KeptAnswers()  # a run gives it a file
        self.asks_failed = asks_failed
        self._spent: dict[str, Any] = {"calls": 0, "cached": 0, "oldest": None}
        called = str(getattr(function, "__name__", type(function).__name__))
        self._name = name or called
        check_signature(function, called, "a list of questions" if batch_size else "one question")

    @property
    def name(self) -> str:
        """What `run.json` calls it."""
        return self._name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """How it is asked, as of a RAG service."""
        return {"contract": "python"}

    @property
    def spent(self) -> dict[str, Any]:
        """The questions it was asked, and the answers that are kept from a run that stopped."""
        return self._spent

    @staticmethod
    def searches(benchmark: Benchmark) -> bool:
        """Whether a function finds the passages of a benchmark itself."""
        return benchmark.supplied is None

    def take(self, benchmark: Benchmark, task: Task) -> Assignment:
        """Take a task on, as a service where the function is to search; see `System.take`."""
        self.finds_passages = self.searches(benchmark)
        if self.finds_passages:
            return take_served(benchmark, task, "the function searches that itself; give it to quadrag.corpus alone")
        return replace(super().take(benchmark, task), prompts=load_service_prompts(task.benchmark))

    def answer(self, work: Assignment, questions: Questions, passages: Passages, tell: Tell = None) -> Generated:
        """Call the function for each question that is not answered yet; see `System.answer`.

        What it raises is the failure of that question alone, unless nothing but failures comes of it.
        """
        replies, self._spent["oldest"] = self.kept.read()
        asked = [question for question in questions if question.key not in replies]
        self._spent["calls"] += len(asked)
        if kept := len(questions) - len(asked):
            self._spent["cached"] += kept
            told = f"{kept} of {len(questions)} answers are kept from the earlier run"
            remark(f"{self.kept.path}: {told}; fresh=True asks anew")
        size = self.batch_size or 1
        posed = [pose(work, question, passages.get(question.key, ())) for question in asked]
        batches = [posed[start : start + size] for start in range(0, len(posed), size)]
        with closing(self._call_all(batches)) as calls, self._telling_kept(replies, len(questions)):
            for number, (batch, results) in enumerate(calls, 1):
                found = dict(zip((one.key for one in batch), results, strict=True))
                self.kept.add(found)
                replies |= found
                if number == self._first and len(asked) >= _FIRST:
                    refuse_failing(list(replies.values()), number)
                if tell is not None:
                    tell(len(replies), len(questions))
        return collect_served(questions, [replies[question.key] for question in questions])

    @contextmanager
    def _telling_kept(self, replies: Mapping[Key, Reply | Failure], asked: int) -> Iterator[None]:
        """Say of a run that is stopped by hand how many answers the next call finds."""
        try:
            yield
        except KeyboardInterrupt:
            kept = sum(isinstance(one, Served) for one in replies.values())
            told = f"stopped; {kept} of {asked} answers are kept, and the same call goes on"
            remark(f"{self.kept.path}: {told}")
            raise

    @property
    def _first(self) -> int:
        return math.ceil(_FIRST / (self.batch_size or 1))

    def _call_all(
        self, batches: Sequence[list[OpenQuestion]]
    ) -> Generator[tuple[list[OpenQuestion], list[Reply | Failure]], None, None]:
        if self._is_async:
            yield from run_beside(self._call, batches, self._first, self.concurrency)
        else:
            yield from _run_here(self._call, batches)

    @property
    def _is_async(self) -> bool:
        calls = (self.function, getattr(self.function, "__call__", None))  # noqa: B004
        return any(map(inspect.iscoroutinefunction, calls))

    async def _call(self, batch: list[OpenQuestion]) -> list[Reply | Failure]:
        """Call the function for a batch; of one that is no coroutine function nothing is awaited."""
        started = time.perf_counter()
        try:
            given = self.function(batch if self.batch_size else batch[0])
            if self._is_async:
                given = await given
            return self._read(batch, given, time.perf_counter() - started)
        except WrongBatch:
            raise
        except (Exception, asyncio.CancelledError) as error:  # one that cancels itself: of its batch alone
            return [read_failure(error)] * len(batch)

    def _read(self, batch: Sequence[OpenQuestion], given: Any, seconds: float) -> list[Reply | Failure]:
        """Read what the function returned for a batch.

        Raises:
            WrongBatch: it is no list of as many results.
        """
        if not self.batch_size:
            return [read_result(given, seconds)]
        return [read_result(one, seconds / len(batch)) for one in take_batch(given, len(batch))]

    def take_kept(self, answers: int, made: float) -> None:
        """Count answers that stand; see `System.take_kept`."""
        self._spent["cached"] += answers
        self._spent["oldest"] = made

    def recall(self, answers: Sequence[Answer], passages: Passages, seconds: Mapping[str, float], made: float) -> None:
        """Keep answers that stand, so that only what failed is asked again; see `System.recall`."""
        stand: dict[Key, Reply | Failure] = {}
        for one in answers:
            if one.answer is not None:
                took = seconds.get("/".join((*one.key, str(one.sample))), 0.0)
                told = tuple(passages[one.key]) if one.key in passages else None
                stand[one.key] = take_reply(one.answer, one.reasoning, took, told)
        self.kept.add(stand, made)


def _run_here(
    call: Callable[[Any], Coroutine[Any, Any, Any]], batches: Sequence[Any]
) -> Generator[tuple[Any, Any], None, None]:
    """Call a coroutine function that awaits nothing for all batches in turn, without a loop: one step ends it."""
    for batch in batches:
        try:
            call(batch).send(None)
        except StopIteration as done:
            results = done.value
        yield batch, results
