"""A user's function as what answers: from a question to its answer, or from a list of them to a list.

Its answers are kept in the run's folder as they come, so that a run that was killed goes on. Whether the function has
changed since cannot be seen, so a finished run is another one's only where somebody says so. A coroutine function is
called in one loop in a thread of its own, for the life of the process: what clients bind to a loop at their first call,
as connections and locks, so serves every evaluation after it.
"""

import asyncio
import inspect
import json
import math
import os
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from quadrag import passages as passages_file
from quadrag.chat.keys import known_keys
from quadrag.chat.reply import Failure, Reply
from quadrag.errors import QuadragError
from quadrag.passages import Found, list_rows
from quadrag.reading import Unreadable, name_kind
from quadrag.records import Answer, Key, Passage, dumps

from ..core.benchmark import Benchmark
from ..core.prompts import load_service_prompts
from ..core.spec import RunSpec
from .own import Served, collect_served, pose, read_result, serve, take_served
from .system import Assignment, Generated, Passages, Questions, System, Tell

_FIRST = 8  # questions that all failed: the others would
_PATIENCE = 5  # seconds for calls to end that are not wanted any more
_OURS = str(Path(__file__).parent), passages_file.__file__
_loops: dict[int, asyncio.AbstractEventLoop] = {}  # by process: a fork has none of its parent's threads
_opening = threading.Lock()

Batch = Sequence[tuple[Key, Any]]  # of each question its key, and what the function is handed
Called = tuple[Batch, list[Reply | Failure]]


class Function(System):
    """A function from a question to its answer, or from a list of questions to a list of answers."""

    asks_models = False
    name = ""
    parameters: Mapping[str, Any] = {"contract": "python"}  # as of a RAG service

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
            function: takes an `OpenQuestion`, and returns what `read_result` reads. It may be a coroutine function.
            name: what `run.json` calls it; its own name when None.
            batch_size: hand it lists of this many questions, for a list of as many results.
            concurrency: calls in flight of a coroutine function.
            asks_failed: ask it again about the questions of a finished run on which it failed.
        """
        self.function, self.batch_size, self.concurrency = function, batch_size, concurrency
        self.asks_failed = asks_failed
        self._kept_in: Path | None = None
        self.spent: dict[str, Any] = {
            "calls": 0,
            "cached": 0,
            "oldest": None,
        }  # `oldest`: Unix time of the oldest kept answer
        self.name = name or str(getattr(function, "__name__", type(function).__name__))

    def take(self, benchmark: Benchmark, task: RunSpec) -> Assignment:
        """Take a task on; where the benchmark brings no passages, as what finds them; see `System.take`."""
        self.finds_passages = benchmark.supplied is None
        if self.finds_passages:
            return take_served(benchmark, task)
        return replace(super().take(benchmark, task), prompts=load_service_prompts(task.benchmark))

    def answer(self, work: Assignment, questions: Questions, passages: Passages, tell: Tell = None) -> Generated:
        """Call the function for each question that is not answered yet; see `System.answer`.

        What it raises is the failure of that question alone, unless nothing but failures comes of it.
        """
        replies = self._read_kept()
        asked = [question for question in questions if question.key not in replies]
        self.spent["calls"] += len(asked)
        self.spent["cached"] += len(questions) - len(asked)
        first = math.ceil(_FIRST / (self.batch_size or 1))
        with closing(self._call_all(self._pose(work, asked, passages), first)) as calls:
            for number, (batch, results) in enumerate(calls, 1):
                made = dict(zip((key for key, _ in batch), results, strict=True))
                self._keep(made)
                replies |= made
                if number == first and len(asked) >= _FIRST:
                    _refuse_failing(list(replies.values()), number)
                if tell is not None:
                    tell(len(replies), len(questions))
        return collect_served(questions, [replies[question.key] for question in questions])

    def _pose(self, work: Assignment, questions: Questions, passages: Passages) -> Iterable[tuple[Key, Any]]:
        return ((question.key, pose(work, question, passages.get(question.key, ()))) for question in questions)

    def _call_all(self, posed: Iterable[tuple[Key, Any]], first: int) -> Generator[Called, None, None]:
        """Call the function for lists of questions, in the order in which it is done with them."""
        rest = iter(posed)
        batches = iter(lambda: list(islice(rest, self.batch_size or 1)), [])
        if self._is_async:
            # Of calls that all fail no more are begun.
            yield from _run_beside(self._call, list(islice(batches, first)), self.concurrency)
            yield from _run_beside(self._call, list(batches), self.concurrency)
        for batch in batches:
            try:
                self._call(batch).send(None)  # it awaits nothing, so this ends it
            except StopIteration as done:
                yield batch, done.value

    @property
    def _is_async(self) -> bool:
        calls = (self.function, getattr(self.function, "__call__", None))  # noqa: B004
        return any(map(inspect.iscoroutinefunction, calls))

    async def _call(self, batch: Batch) -> list[Reply | Failure]:
        """Call the function for a batch, and read what it returns; what it raises is a failure of this batch alone."""
        started = time.perf_counter()
        try:
            result = self.function([posed for _, posed in batch] if self.batch_size else batch[0][1])
            result = await result if self._is_async else result
        except (Exception, asyncio.CancelledError) as error:
            return [_read_failure(error)] * len(batch)
        return self._read(batch, result, time.perf_counter() - started)

    def _read(self, batch: Batch, result: Any, seconds: float) -> list[Reply | Failure]:
        """Read what the function returned for a batch.

        Raises:
            QuadragError: it is no list of as many results: whose they are, nobody knows.
        """
        rows = [result]
        if self.batch_size:
            found = list_rows(result) if hasattr(result, "__len__") else None
            if found is None or len(found) != len(batch):
                many = f" of {len(result)} results" if hasattr(result, "__len__") else ""
                raise QuadragError(
                    f"the function returned {name_kind(result)}{many}; expected a list of {len(batch)}, a result for "
                    "each question; earlier answers are kept; correct the function and run again"
                )
            rows = found
        return [_read_one(row, seconds / len(batch)) for row in rows]

    def keep(self, path: Path) -> None:
        """Keep answers in this file, and take those that are kept there; see `System.keep`."""
        self._kept_in = path

    def recall(self, answers: Sequence[Answer], passages: Passages, seconds: Mapping[str, float], made: float) -> None:
        """Keep answers that stand, so that only what failed is asked again; see `System.recall`."""
        stand: dict[Key, Reply | Failure] = {}
        for answer in answers:
            if answer.answer is not None:
                took = seconds.get("/".join((*answer.key, str(answer.sample))), 0.0)
                told = tuple(passages[answer.key]) if answer.key in passages else None
                stand[answer.key] = serve(answer.answer, answer.reasoning, took, Found(told))
        self._keep(stand, made)

    def _read_kept(self) -> dict[Key, Reply | Failure]:
        """Read the answers that are kept; a line that a kill cut off is as if it were not there."""
        kept: dict[Key, Reply | Failure] = {}
        text = self._kept_in.read_text("utf-8", "replace") if self._kept_in and self._kept_in.exists() else ""
        for line in text.split("\n"):
            with suppress(ValueError, KeyError, TypeError, RecursionError):
                row = json.loads(line)
                told = None if row["passages"] is None else tuple(Passage(*passage) for passage in row["passages"])
                config, split, ident = row["key"]
                kept[config, split, ident] = serve(row["answer"], row["reasoning"], row["seconds"], Found(told))
                self.spent["oldest"] = min(row["made"], self.spent["oldest"] or row["made"])
        return kept

    def _keep(self, replies: Mapping[Key, Reply | Failure], made: float | None = None) -> None:
        """Write answers behind those that are kept; failures are not, so that they are asked again."""
        if self._kept_in is None:
            return
        made = round(made or time.time(), 3)
        rows = [
            {"key": key, "answer": reply.text, "reasoning": reply.reasoning, "passages": reply.passages}
            | {"seconds": reply.latency, "made": made}
            for key, reply in replies.items()
            if isinstance(reply, Served)
        ]
        with self._kept_in.open("a", encoding="utf-8") as file:
            # A line break first: a kill may have cut the last line off.
            file.write("".join(f"\n{dumps(row)}\n" for row in rows))


def _refuse_failing(replies: Sequence[Reply | Failure], calls: int) -> None:
    """Refuse to go on where all that came of the first calls is failures."""
    failures = [reply for reply in replies if isinstance(reply, Failure)]
    if len(failures) == len(replies):
        raise QuadragError(
            f"the first {calls} calls of the function all failed, and no more are made; the first: "
            f"{failures[0].detail}; correct the function and run again"
        )


def _read_one(result: Any, seconds: float) -> Reply | Failure:
    try:
        text, reasoning, found = read_result(result)
    except Unreadable as error:
        return Failure("unparsable", f"returned {error}")
    return serve(text, reasoning, seconds, found)


def _read_failure(error: BaseException) -> Failure:
    """Read an exception that the function raised, with the last line of the user's own file that led to it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_OURS)]
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    place = ""
    if own:
        cell = Path(own[-1].filename).parent.name.startswith("ipykernel_")  # whose file is one that nobody knows
        file = "its cell" if cell else Path(own[-1].filename).name
        place = f" ({own[-1].name}, {file}:{own[-1].lineno})"
    said = ": ".join(filter(None, (type(error).__name__, str(error))))
    return Failure("raised", known_keys().line(f"{said}{place}"))


def _run_beside(call: Callable[[Batch], Any], batches: Sequence[Batch], concurrency: int) -> Iterator[Called]:
    """Call a coroutine function for all batches in the loop, and yield each with its results as they come."""
    if not batches:
        return
    loop, over = _find_loop(), threading.Event()
    ended: SimpleQueue[tuple[Batch, Any, BaseException | None]] = SimpleQueue()

    async def one(batch: Batch, gate: asyncio.Semaphore) -> None:
        async with gate:
            try:
                ended.put((batch, await call(batch), None))
            except BaseException as error:
                ended.put((batch, None, error))
                raise

    async def every() -> None:
        gate = asyncio.Semaphore(concurrency)
        try:
            async with asyncio.TaskGroup() as group:
                for batch in batches:
                    group.create_task(one(batch, gate))
        finally:
            over.set()

    work = asyncio.run_coroutine_threadsafe(every(), loop)
    try:
        for _ in batches:  # in the order they ended: what came before an error is kept
            batch, results, error = ended.get()
            if error is not None:
                raise error
            yield batch, results
    finally:
        work.cancel()
        if not over.wait(_PATIENCE):
            _loops.pop(os.getpid(), None)  # a call holds it up: the next evaluation has another


def _find_loop() -> asyncio.AbstractEventLoop:
    with _opening:
        if os.getpid() not in _loops:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=_serve, args=(loop,), name="quadrag-functions", daemon=True).start()
        return _loops[os.getpid()]


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop for good: what leaves it is the exit or the interrupt of a call, which that call has, too."""
    while True:
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()
