"""A model file of the CRAG challenge as what answers, as it is, in this process: ``batch_generate_answer`` of a class.

The challenge's interface (KDD Cup 2024, the released starter kit): batches of queries with their pages' HTML. It is a
user's function that is handed lists, and is kept as one. The file's digest covers the file alone, not what it imports.
Files that the model opens are looked for where quadrag is started, in its checkout's root. A batch that is late is let
finish.
"""

import hashlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from quadrag.chat.keys import known_keys
from quadrag.chat.reply import Failure, Reply
from quadrag.errors import QuadragError
from quadrag.records import Key

from ..core.benchmark import Benchmark
from ..core.spec import RunSpec
from .function import Batch, Function
from .system import Assignment, Generated, Passages, Questions, System, Tell

METHOD = "batch_generate_answer"
_FIELDS = ("interaction_id", "query", "search_results", "query_time")


class Challenge(Function):
    """A model of the challenge, by ``PATH.py#Class``; without ``#Class`` its `UserModel`, else its only class."""

    wants_pages = True

    def __init__(self, spec: str, time_limit: float | None = None) -> None:
        """Name the model, which is loaded at the first query; a reply fails that took more seconds for each query."""
        path, _, self._class = spec.partition("#")
        self._path, self._limit = Path(path).expanduser().resolve(), time_limit
        if self._path.suffix != ".py" or not self._path.is_file():
            raise QuadragError(f"no model file {path!r}; expected PATH.py#Class")
        named = f"challenge:{self._path.name}" + f"#{self._class}" * bool(self._class)
        super().__init__(self._answer, named, batch_size=1, asks_failed=True)
        code = hashlib.sha256(self._path.read_bytes()).hexdigest()[:16]
        self.parameters = {"code": code} | ({} if time_limit is None else {"time_limit": time_limit})
        self._model: Any = None

    def take(self, benchmark: Benchmark, task: RunSpec) -> Assignment:
        """Refuse samples; see `System.take`."""
        if task.samples > 1:
            raise QuadragError("a challenge: model has no seed to vary; leave out --samples")
        return System.take(self, benchmark, task)

    def answer(self, work: Assignment, questions: Questions, passages: Passages, tell: Tell = None) -> Generated:
        """Hand the pages over, in batches as large as the model wants them; see `System.answer`."""
        self._model = self._load()
        self.batch_size = self._model.get_batch_size()
        return super().answer(work, questions, passages, tell)

    def _pose(self, work: Assignment, questions: Questions, passages: Passages) -> Iterator[tuple[Key, Any]]:
        assert work.benchmark.records is not None
        keys = {question.id: question.key for question in questions}
        for record in work.benchmark.records(work.task, questions):
            yield keys.pop(record["interaction_id"]), record
        if keys:
            raise QuadragError(
                f"the data changed while they were read: {next(iter(keys))} is no longer there; run again"
            )

    def _answer(self, records: list[Mapping[str, Any]]) -> Any:
        try:
            with redirect_stdout(sys.stderr):
                return self._model.batch_generate_answer({name: [row[name] for row in records] for name in _FIELDS})
        except SystemExit as error:
            raise RuntimeError(f"it exits: {error}") from error

    def _read(self, batch: Batch, result: Any, seconds: float) -> list[Reply | Failure]:
        if self._limit is not None and seconds > self._limit * len(batch):
            late = f"no answer within {self._limit:g} s for each query: it took {seconds / len(batch):g} s"
            return [Failure("api_error", late)] * len(batch)
        return super()._read(batch, result, seconds)

    def _load(self) -> Any:
        """Load the file and make its model; its imports are looked for in its folder and the one above."""
        folders = [str(folder) for folder in self._path.parents[:2]]
        sys.path[:0] = folders
        try:
            spec = importlib.util.spec_from_file_location(self._path.stem, self._path)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            with redirect_stdout(sys.stderr):
                spec.loader.exec_module(module)
                kinds = [kind for kind in vars(module).values() if getattr(kind, "__module__", None) == module.__name__]
                models = [kind for kind in kinds if callable(getattr(kind, METHOD, None))]
                only = len(models) == 1 and not self._class and not hasattr(module, "UserModel")
                return models[0]() if only else getattr(module, self._class or "UserModel")()
        except (Exception, SystemExit) as error:
            why = known_keys().line(f"{type(error).__name__}: {error}")
            raise QuadragError(f"cannot load {self.name} ({why}); expected PATH.py#Class with {METHOD}") from error
        finally:
            sys.path[:] = [folder for folder in sys.path if folder not in folders]
