"""A user's function as what answers, from a question to its answer or from lists to lists; and a challenge's model.

Its answers are kept in the run's folder as they come, so that a run that was killed goes on; whether the function has
changed since cannot be seen. A coroutine function is called in one loop in a thread of its own, for the life of the
process: what clients bind to a loop at their first call, as connections and locks, so serves every evaluation after it.
"""

import asyncio
import hashlib
import inspect
import os
import runpy
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from quadrag.benchmark import Benchmark
from quadrag.chat.keys import known_keys
from quadrag.chat.reply import Failure, Outcome, Reply, read_row
from quadrag.errors import QuadragError, Unreadable, name_kind
from quadrag.passages import list_rows
from quadrag.prompts import load_service_prompts
from quadrag.records import Key, append_rows, read_whole_rows
from quadrag.spec import RunSpec

from .own import pose, read_result, take_served
from .system import Assignment, Generated, OnProgress, Passages, Questions, System, collect

_FIRST = 8  # questions that all failed: the others would
_OURS = str(Path(__file__).parent)
_CHALLENGE_FIELDS = ("interaction_id", "query", "search_results", "query_time")

Batch = Sequence[tuple[Key, Any]]  # of each question its key, and what the function is handed
Results = list[Outcome]


class Function(System):
    asks_models = asks_failed = draws = False
    name = ""
    parameters: Mapping[str, Any] = {"contract": "python"}  # as of a RAG service

    def __init__(
        self,
        function: Callable[[Any], Any],
        name: str | None = None,
        batch_size: int | None = None,
        concurrency: int = 16,
    ) -> None:
        """Take a function, or a coroutine function, from an `OpenQuestion` to what `read_result` reads.

        With `batch_size` it is handed lists of so many, for lists of as many results; `concurrency` bounds the calls in
        flight of a coroutine function.
        """
        self.function, self.batch_size, self.concurrency = function, batch_size, concurrency
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        calls = (function, getattr(function, "__call__", None))  # noqa: B004
        self._waits = any(map(inspect.iscoroutinefunction, calls))
        # `oldest` is the Unix time of the oldest kept answer.
        self.spent: dict[str, Any] = {"calls": 0, "cached": 0, "oldest": None}
        self._kept_in: Path | None = None

    def take(self, benchmark: Benchmark, task: RunSpec) -> Assignment:
        self.finds_passages = benchmark.default_context is None and not self.wants_pages
        if self.finds_passages:
            return take_served(benchmark, task)
        return replace(super().take(benchmark, task), prompts=load_service_prompts(task.benchmark))

    def answer(
        self, work: Assignment, questions: Questions, passages: Passages, on_progress: OnProgress = None
    ) -> Generated:
        """Answer as `System.answer`; what the function raises is a failure, unless nothing but failures come of it."""
        kept = [] if self._kept_in is None else read_whole_rows(self._kept_in, _read_kept)
        replies: dict[Any, Outcome] = dict(kept)
        asked = [question for question in questions if question.key not in replies]
        self.spent["calls"] += len(asked)
        self.spent["cached"] += len(questions) - len(asked)
        self.spent["oldest"] = min((reply.created for _, reply in kept), default=None)
        failures: list[Failure] = []

        def keep(batch: Batch, results: Results) -> None:
            new = dict(zip((key for key, _ in batch), results, strict=True))
            if self._kept_in is not None:
                # Not the failures, which are asked again.
                kept = {key: reply for key, reply in new.items() if isinstance(reply, Reply)}
                append_rows(self._kept_in, ({"key": key, "reply": reply.row()} for key, reply in kept.items()))
            replies.update(new)
            failures.extend(reply for reply in results if isinstance(reply, Failure))
            if _FIRST <= len(replies) == len(failures):
                raise QuadragError(
                    f"the first {len(failures)} questions all failed, and no more are asked; the first: "
                    f"{failures[0].detail}; correct the function and run again"
                )
            if on_progress is not None:
                on_progress(len(replies), len(questions))

        posed = iter(self._pose(work, asked, passages))
        batches: Iterator[Batch] = iter(lambda: list(islice(posed, self.batch_size or 1)), [])
        if self._waits:
            _call_beside(self._call, batches, self.concurrency, keep)
        for batch in batches:  # of a plain function, since a coroutine function leaves none
            try:
                self._call(batch).send(None)  # it awaits nothing, so this ends it
            except StopIteration as done:
                keep(batch, done.value)
        return collect([(question, 0) for question in questions], [replies[question.key] for question in questions])

    def keep(self, path: Path) -> None:
        self._kept_in = path

    def _pose(self, work: Assignment, questions: Questions, passages: Passages) -> Iterable[tuple[Key, Any]]:
        return ((question.key, pose(work, question, passages.get(question.key, ()))) for question in questions)

    async def _call(self, batch: Batch) -> Results:
        """Return what a batch comes to; QuadragError where whose results they are nobody knows."""
        started = time.perf_counter()
        try:
            result = self.function([posed for _, posed in batch] if self.batch_size else batch[0][1])
            result = await result if self._waits else result
        except (Exception, asyncio.CancelledError) as error:
            return [_read_failure(error)] * len(batch)
        seconds = (time.perf_counter() - started) / len(batch)
        rows = list_rows(result) if self.batch_size else [result]
        if rows is None or len(rows) != len(batch):
            many = "" if rows is None else f" of {len(rows)} results"
            raise QuadragError(
                f"the function returned {name_kind(result)}{many}; expected a list of {len(batch)}, a result for each "
                "question; earlier answers are kept; correct the function and run again"
            )
        return [_read(row, seconds) for row in rows]


def _read_kept(row: Mapping[str, Any]) -> tuple[Any, Reply]:
    return tuple(row["key"]), read_row(row["reply"])


def _read(result: Any, seconds: float) -> Outcome:
    try:
        return replace(read_result(result), latency=seconds, created=round(time.time(), 3))
    except Unreadable as error:
        return Failure("unparsable", f"returned {error}")


def _read_failure(error: BaseException) -> Failure:
    """Make a failure of what the function raised, with the last line of the user's own file that led to it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_OURS)]
    users = [frame for frame in frames if frame.filename == frames[0].filename]
    place = f" ({users[-1].name}, {Path(users[-1].filename).name}:{users[-1].lineno})" if users else ""
    message = ": ".join(filter(None, (type(error).__name__, str(error))))
    return Failure("raised", known_keys().line(f"{message}{place}"))


def _call_beside(
    call: Callable[[Batch], Any], batches: Iterator[Batch], concurrency: int, keep: Callable[[Batch, Results], None]
) -> None:
    """Call a coroutine function in the loop, and keep what comes of each batch in the order they end."""
    results: SimpleQueue[tuple[Batch, Any]] = SimpleQueue()

    async def work() -> None:
        for batch in batches:
            try:
                results.put((batch, await call(batch)))
            except BaseException as error:  # which might end the loop
                results.put((batch, error))
                return

    async def work_all() -> None:
        await asyncio.gather(*(work() for _ in range(concurrency)))

    running = asyncio.run_coroutine_threadsafe(work_all(), _find_loop(os.getpid()))
    running.add_done_callback(lambda _: results.put(([], None)))
    try:
        while (batch_result := results.get())[0]:
            batch, result = batch_result
            if isinstance(result, BaseException):
                raise result
            keep(batch, result)
    finally:
        running.cancel()


@cache
def _find_loop(process: int) -> asyncio.AbstractEventLoop:
    """Return the loop of a process; a fork has none of its parent's threads."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="quadrag-functions", daemon=True).start()
    return loop


class Challenge(Function):
    """A model of the KDD Cup 2024's starter kit, by ``PATH.py#Class``; without ``#Class`` its `UserModel`.

    Its ``batch_generate_answer`` is handed batches of queries with their pages' HTML. Imports are looked for in the
    file's folder and the one above.
    """

    wants_pages = asks_failed = True

    def __init__(self, spec: str) -> None:
        path, _, kind = spec.partition("#")
        self._path, self._class = Path(path).expanduser().resolve(), kind or "UserModel"
        if self._path.suffix != ".py" or not self._path.is_file():
            raise QuadragError(f"no model file {path!r}; expected PATH.py#Class")
        super().__init__(lambda rows: None, f"challenge:{self._path.name}" + f"#{kind}" * bool(kind))
        self.parameters = {"code": hashlib.sha256(self._path.read_bytes()).hexdigest()[:16]}

    def answer(
        self, work: Assignment, questions: Questions, passages: Passages, on_progress: OnProgress = None
    ) -> Generated:
        with redirect_stdout(sys.stderr):
            sys.path[:0] = map(str, self._path.parents[:2])
            try:
                model = runpy.run_path(str(self._path))[self._class]()
            except Exception as error:
                why = known_keys().line(f"{type(error).__name__}: {error}")
                raise QuadragError(f"cannot load {self.name} ({why}); expected PATH.py#Class") from error
            self.batch_size, ask = model.get_batch_size(), model.batch_generate_answer
            self.function = lambda rows: ask({name: [row[name] for row in rows] for name in _CHALLENGE_FIELDS})
            return super().answer(work, questions, passages, on_progress)

    def _pose(self, work: Assignment, questions: Questions, passages: Passages) -> Iterator[tuple[Key, Any]]:
        keys = {question.id: question.key for question in questions}
        for record in work.benchmark.records(work.task, questions) if work.benchmark.records else ():
            yield keys[record["interaction_id"]], record
