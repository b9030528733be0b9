"""A model file of the CRAG challenge, run as it is, in this process: ``batch_generate_answer`` of a class.

The challenge's interface (KDD Cup 2024, the released starter kit): batches of queries with their pages' HTML. A query
whose reply the ledger has is not sent, so after a resumption batches hold other queries together. The file's digest
covers the file alone, not what it imports. Files that the model opens are looked for where quadrag is started, in its
checkout's root. A batch that is late is let finish.
"""

import hashlib
import importlib.util
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

from quadrag.chat.keys import known_keys
from quadrag.chat.ledger import Ledger, Shelf, call_key, canonical
from quadrag.chat.reply import NOT_ASKED, Failure, Reply, read_row
from quadrag.errors import QuadragError
from quadrag.metrics._shared.tally import split_reasoning, strings

from ..core.benchmark import Benchmark
from ..core.task import Task
from .system import AskedSystem, Assignment, Generated, Passages, Questions, Tell, collect

METHOD, _USER_MODEL = "batch_generate_answer", "UserModel"
_DEAD_AFTER = 3  # batches, all failed and none before them answered
_FIELDS = ("interaction_id", "query", "search_results", "query_time")


class ChallengeModel:
    """A model of the challenge; `model` is its name, `parameters` what else decides its answers."""

    def __init__(
        self, spec: str, *, ledger: Ledger | Shelf | None, replay: bool = False, time_limit: float | None = None
    ) -> None:
        """Name the model; it is loaded at the first query that the ledger does not answer.

        Args:
            spec: ``PATH.py#Class``; without ``#Class`` its `UserModel`, else its only class with the method.
            ledger: where replies are kept.
            replay: answer from the ledger alone.
            time_limit: most seconds for each query of a batch; a reply that took longer is a failure.
        """
        path, _, self._name = spec.partition("#")
        self._path = Path(path).expanduser().resolve()
        if self._path.suffix != ".py" or not self._path.is_file():
            raise QuadragError(f"no model file {path!r}; expected PATH.py#Class")
        self._digest = hashlib.sha256(self._path.read_bytes()).hexdigest()
        self.model = f"challenge:{self._path.name}" + f"#{self._name}" * bool(self._name)
        self.parameters: dict[str, Any] = {"code": self._digest[:16]}
        if time_limit is not None:
            self.parameters["time_limit"] = time_limit
        self.spent: dict[str, Any] = {"calls": 0, "cached": 0, "prompt_tokens": 0, "completion_tokens": 0}
        self.on_progress: Callable[[int, int], None] | None = None
        self._ledger, self._replay, self._limit = ledger, replay, time_limit
        self._loaded: Any = None
        self._failed: list[str] = []  # the first batches' reasons, until one is answered
        self._alive = False

    def answer(self, records: Iterable[Mapping[str, Any]], total: int) -> dict[str, Reply | Failure]:
        """Answer queries, and return the replies by interaction_id.

        Args:
            records: mappings with interaction_id, query, query_time and search_results (pages as upstream's).
            total: how many there are, for `on_progress`.
        """
        replies: dict[str, Reply | Failure] = {}
        for batch in self._missing(records, replies):
            replies |= self._ask(batch)
            if self.on_progress:
                self.on_progress(len(replies), total)
        if self._replay and replies and not self.spent["cached"]:
            raise QuadragError(
                f"the ledger lacks {len(replies)} of {total} replies of {self.model}; run without --replay"
            )
        return replies

    def close(self) -> None:
        """Let the model go."""
        self._loaded = None

    def _missing(
        self, records: Iterable[Mapping[str, Any]], replies: dict[str, Reply | Failure]
    ) -> Iterator[list[tuple[bytes, Mapping[str, Any]]]]:
        """Yield batches of what the ledger has no reply to; what it has goes into `replies`."""
        batch: list[tuple[bytes, Mapping[str, Any]]] = []
        size = 0
        for record in records:
            pages = hashlib.sha256(canonical([dict(page) for page in record["search_results"] or ()])).hexdigest()
            asked = {**{name: record[name] for name in _FIELDS}, "search_results": pages}
            key = call_key(self.model, [asked], {"code": self._digest})
            stored = self._ledger.get_many([key]) if self._ledger is not None else {}
            if key in stored:
                self.spent["cached"] += 1
                replies[record["interaction_id"]] = self._reply(stored[key], cached=True)
            elif self._replay:
                lacking = Failure("api_error", f"{NOT_ASKED}: the ledger has no reply to replay")
                replies[record["interaction_id"]] = lacking
            else:
                size = size if batch else self._load().get_batch_size()
                batch.append((key, record))
                if len(batch) >= size:
                    yield batch
                    batch = []
        if batch:
            yield batch

    def _ask(self, batch: list[tuple[bytes, Mapping[str, Any]]]) -> dict[str, Reply | Failure]:
        self.spent["calls"] += len(batch)
        start = time.perf_counter()
        try:
            with redirect_stdout(sys.stderr):
                columns = {name: [record[name] for _, record in batch] for name in _FIELDS}
                texts = strings(self._load().batch_generate_answer(columns), METHOD)
            if len(texts) != len(batch):
                raise ValueError(f"{METHOD} returned {len(texts)} texts for {len(batch)} queries")
        except (Exception, SystemExit) as error:
            why = known_keys().line(f"{type(error).__name__}: {error}")
            self._failed += [] if self._alive else [why]
            if len(self._failed) == _DEAD_AFTER and not self._alive:
                raise QuadragError(f"the first {_DEAD_AFTER} batches of {self.model} all failed: {why}") from error
            return {record["interaction_id"]: Failure("api_error", why) for _, record in batch}
        self._alive = True
        when = {"latency": round((time.perf_counter() - start) / len(batch), 6), "created": round(time.time(), 3)}
        rows = []
        for (key, _), text in zip(batch, texts, strict=True):
            answer, reasoning = split_reasoning(text)
            rows.append((key, {"text": answer, "reasoning": reasoning, "finish_reason": None, "usage": None, **when}))
        if self._ledger is not None:
            self._ledger.put_many(rows, model=self.model)
        return {
            record["interaction_id"]: self._reply(row, cached=False)
            for (_, record), (_, row) in zip(batch, rows, strict=True)
        }

    def _reply(self, row: Mapping[str, Any], cached: bool) -> Reply | Failure:
        if self._limit is not None and row["latency"] > self._limit:
            late = f"no answer within {self._limit:g} s for each query: it took {row['latency']:g} s"
            return Failure("api_error", late)
        return read_row(dict(row), cached, None)

    def _load(self) -> Any:
        """Load the file and make its model; its imports are looked for in its folder and the one above."""
        if self._loaded is None:
            folders = [str(folder) for folder in self._path.parents[:2]]
            sys.path[:0] = folders
            try:
                spec = importlib.util.spec_from_file_location(self._path.stem, self._path)
                assert spec is not None and spec.loader is not None
                module = importlib.util.module_from_spec(spec)
                with redirect_stdout(sys.stderr):
                    spec.loader.exec_module(module)
                    self._loaded = getattr(module, self._name or _choose_class(module))()
            except (Exception, SystemExit) as error:
                why = known_keys().line(f"{type(error).__name__}: {error}")
                raise QuadragError(f"cannot load {self.model} ({why}); expected PATH.py#Class with {METHOD}") from error
            finally:
                sys.path[:] = [folder for folder in sys.path if folder not in folders]
        return self._loaded


def _choose_class(module: ModuleType) -> str:
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    models = [name for name in own if callable(getattr(getattr(module, name), METHOD, None))]
    return models[0] if len(models) == 1 and not hasattr(module, _USER_MODEL) else _USER_MODEL


class Challenge(AskedSystem):
    """A model file as what answers: it is handed the pages themselves."""

    wants_pages = True

    def take(self, benchmark: Benchmark, task: Task) -> Assignment:
        """Refuse samples; see `System.take`."""
        work = super().take(benchmark, task)
        if task.samples > 1:
            raise QuadragError("a challenge: model has no seed to vary; leave out --samples")
        return work

    def answer(self, work: Assignment, questions: Questions, passages: Passages, tell: Tell = None) -> Generated:
        """Hand the pages over; see `System.answer`."""
        assert work.benchmark.records is not None
        self.asked.on_progress = tell
        replies = self.asked.answer(work.benchmark.records(work.task, questions), len(questions))
        if missing := [question.id for question in questions if question.id not in replies]:
            raise QuadragError(f"the data changed while they were read: {missing[0]} is no longer there; run again")
        return collect([(question, 0) for question in questions], [replies[question.id] for question in questions])
