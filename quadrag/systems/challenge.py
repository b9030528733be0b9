"""A model file of a challenge as what answers, as it is, in this process: ``batch_generate_answer`` of a class.

The interface is that of the KDD Cup 2024's starter kit: batches of queries with their pages' HTML. Imports are looked
for in the file's folder and the one above.
"""

import hashlib
import runpy
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from quadrag.chat.keys import known_keys
from quadrag.errors import QuadragError
from quadrag.records import Key

from .function import Function
from .system import Assignment, Generated, OnProgress, Passages, Questions

_FIELDS = ("interaction_id", "query", "search_results", "query_time")


class Challenge(Function):
    """A model of the challenge, by ``PATH.py#Class``; without ``#Class`` its `UserModel`."""

    wants_pages = asks_failed = True

    def __init__(self, spec: str) -> None:
        """Name the model, which is loaded at the first query."""
        path, _, kind = spec.partition("#")
        self._path, self._class = Path(path).expanduser().resolve(), kind or "UserModel"
        if self._path.suffix != ".py" or not self._path.is_file():
            raise QuadragError(f"no model file {path!r}; expected PATH.py#Class")
        super().__init__(lambda rows: None, f"challenge:{self._path.name}" + f"#{kind}" * bool(kind))
        self.parameters = {"code": hashlib.sha256(self._path.read_bytes()).hexdigest()[:16]}

    def answer(
        self, work: Assignment, questions: Questions, passages: Passages, on_progress: OnProgress = None
    ) -> Generated:
        """Hand the pages over, in batches as large as the model wants them; see `System.answer`."""
        with redirect_stdout(sys.stderr):
            sys.path[:0] = map(str, self._path.parents[:2])
            try:
                model = runpy.run_path(str(self._path))[self._class]()
            except Exception as error:
                why = known_keys().line(f"{type(error).__name__}: {error}")
                raise QuadragError(f"cannot load {self.name} ({why}); expected PATH.py#Class") from error
            self.batch_size, ask = model.get_batch_size(), model.batch_generate_answer
            self.function = lambda rows: ask({name: [row[name] for row in rows] for name in _FIELDS})
            return super().answer(work, questions, passages, on_progress)

    def _pose(self, work: Assignment, questions: Questions, passages: Passages) -> Iterator[tuple[Key, Any]]:
        keys = {question.id: question.key for question in questions}
        for record in work.benchmark.records(work.task, questions) if work.benchmark.records else ():
            yield keys[record["interaction_id"]], record
