"""A model file of the CRAG challenge, run as it is: ``get_batch_size()`` and ``batch_generate_answer(batch)``.

The challenge's interface (KDD Cup 2024, the released starter kit): batches of 1 to 16 queries with their pages' HTML,
their size asked before each of them, 30 seconds for each query of a batch. The model runs in its checkout, in a process
of its own (`process`); one that was killed or has died is loaded anew, without what it had in memory.

A query whose reply the ledger has is not sent, so after a resumption batches hold other queries together than in an
undisturbed run, and a model that looks at a batch as a whole, or draws numbers, may answer otherwise.

What this does not do: keep the model from the network or from files, bound its memory, cut answers to 75 tokens (the
metric does), or end processes that leave the model's process group.
"""

import contextlib
import hashlib
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from typing import Any

from quadrag.chat.keys import known_keys
from quadrag.chat.ledger import Ledger, call_key, canonical
from quadrag.chat.ledger.shelf import Shelf
from quadrag.chat.reply import NOT_ASKED, Failure, Reply, read_row
from quadrag.errors import QuadragError

from .model_file import read_model_file
from .process import Died, ModelProcess

_DEAD_AFTER = 3  # batches, all failed and none before them answered
_ASKED = ("interaction_id", "query", "query_time")
Answered = tuple[str, Reply | Failure]


@dataclass(slots=True)
class _Query:
    """A query that waits for its reply, or for that of one before it."""

    name: str
    key: bytes
    reply: Reply | Failure | None = None


class ChallengeModel:
    """A model of the challenge; `model` is its name, `parameters` what else decides its answers."""

    def __init__(
        self, spec: str, *, ledger: Ledger | Shelf | None, replay: bool = False, time_limit: float | None = None
    ) -> None:
        """Name the model; its process starts at the first query that the ledger does not answer.

        Args:
            spec: ``PATH.py#Class``; see `model_file.read_model_file`.
            ledger: where replies are kept.
            replay: answer from the ledger alone.
            time_limit: most seconds for each query of a batch, above 0; loading is not counted. None: any time.

        Raises:
            QuadragError: there is no such model, or the limit is none.
        """
        if time_limit is not None and not (0 < time_limit < math.inf):
            raise QuadragError(f"the time limit is {time_limit!r}; expected seconds above 0")
        self._file = read_model_file(spec)
        self.model = f"challenge:{self._file.shown}"
        self.parameters: dict[str, Any] = {"code": self._file.digest[:16]}
        if time_limit is not None:
            self.parameters["time_limit"] = time_limit
        self.spent: dict[str, Any] = {"calls": 0, "cached": 0, "prompt_tokens": 0, "completion_tokens": 0}
        self.on_progress: Callable[[int, int], None] | None = None
        self._ledger, self._replay, self._limit = ledger, replay, time_limit
        self._keys = known_keys()  # which the model may use, not print
        self._process: ModelProcess | None = None
        self._failed: list[str] = []  # the first batches' reasons, until one is answered
        self._alive = False

    def answer(self, records: Iterable[Mapping[str, Any]], total: int | None = None) -> Iterator[Answered]:
        """Answer queries; one record at a time is held here, a batch of them in the model's process.

        Args:
            records: mappings with interaction_id, query, query_time and search_results (pages as upstream's).
            total: how many there are, for `on_progress`; by default their length where they have one.

        Yields:
            Each interaction_id in order with its reply, whose latency is its batch's seconds divided by its queries.
            A batch that raises, is late, kills its process or gives other than a text for each query is a failure of
            each of its queries.

        Raises:
            QuadragError: the model cannot be loaded, wants batches of another size, or fails its first three
                batches; or a replay finds no reply at all.
        """
        if total is None and isinstance(records, Sized):
            total = len(records)
        finished = False
        try:
            for done, answered in enumerate(self._answer(records), 1):
                if self.on_progress:
                    self.on_progress(done, total or done)
                yield answered
            finished = True
        finally:
            if not finished and self._process is not None:  # the model may be at work, or have half a batch
                self._process.kill()

    def close(self) -> None:
        """Let the model end; afterwards none of its processes is left."""
        if self._process is not None:
            self._process.close()

    def _answer(self, records: Iterable[Mapping[str, Any]]) -> Iterator[Answered]:
        waiting: list[_Query] = []  # from the first whose reply is lacking
        batch: list[_Query] = []
        size, found = 0, not self._replay
        for record in records:
            query = _Query(record["interaction_id"], self._key(record))
            waiting.append(query)
            stored = self._ledger.get_many([query.key]) if self._ledger is not None else {}
            if query.key in stored:
                self.spent["cached"] += 1
                found = True
                query.reply = self._reply(stored[query.key], cached=True)
            elif self._replay:
                query.reply = Failure("api_error", f"{NOT_ASKED}: the ledger has no reply to replay")
            else:
                size = size if batch else self._begin()
                batch.append(query)
                died = self._add(record)
                if died or len(batch) == size:
                    self._finish(batch, died)
                    batch = []
            del record
            if found and not batch:
                yield from _take(waiting)
        if batch:
            self._finish(batch, None)
        if waiting and not found:
            raise QuadragError(
                f"the ledger lacks {len(waiting)} of {len(waiting)} replies of {self.model}; run without --replay"
            )
        yield from _take(waiting)

    def _key(self, record: Mapping[str, Any]) -> bytes:
        pages = hashlib.sha256()
        for page in record.get("search_results") or ():
            pages.update(hashlib.sha256(canonical(dict(page))).digest())
        asked = {name: record[name] for name in _ASKED}
        return call_key(self.model, [{**asked, "pages": pages.hexdigest()}], {"code": self._file.digest})

    def _begin(self) -> int:
        """Begin a batch, in a new process where there is none or it has died since the last; returns its size."""
        if self._process is not None and not self._process.ended:
            with contextlib.suppress(Died):
                return self._process.begin()
        self._process = ModelProcess(self._file, self._keys.line)
        try:
            return self._process.begin()
        except Died as death:
            raise QuadragError(f"{self.model} cannot be asked for its batch size: {death}") from None

    def _add(self, record: Mapping[str, Any]) -> str | None:
        """Hand a query over; returns why that failed."""
        assert self._process is not None
        try:
            self._process.add(record)
        except Died as death:
            return str(death)
        return None

    def _finish(self, batch: list[_Query], died: str | None) -> None:
        """Have a batch answered and note the replies; `died` says why it cannot be."""
        assert self._process is not None
        self.spent["calls"] += len(batch)
        try:
            answered: dict[str, Any] = {"failed": died} if died else self._process.answer(self._limit)
        except Died as death:
            answered = {"failed": str(death)}
        if "failed" in answered:
            self._fail(batch, self._keys.line(answered["failed"]))
            return
        self._alive = True
        latency = answered["seconds"] / len(batch)
        rows = [(query.key, self._row(text, latency)) for query, text in zip(batch, answered["answers"], strict=True)]
        others = self._ledger.put_many(rows, model=self.model) if self._ledger is not None else {}
        for query, (key, row) in zip(batch, rows, strict=True):
            query.reply = self._reply(others.get(key, row), cached=False)

    def _fail(self, batch: list[_Query], reason: str) -> None:
        for query in batch:
            query.reply = Failure("api_error", reason)
        if not self._alive:
            self._failed.append(reason)
            if len(self._failed) == _DEAD_AFTER:
                raise QuadragError(
                    f"the first {_DEAD_AFTER} batches of {self.model} all failed: {self._failed[0]}; "
                    "see what it printed"
                )

    def _row(self, text: str, latency: float) -> dict[str, Any]:
        nothing = dict.fromkeys(("reasoning", "finish_reason", "usage"))
        when = {"latency": round(latency, 6), "created": round(time.time(), 3)}
        return {"text": text, **nothing, **when}

    def _reply(self, row: Mapping[str, Any], cached: bool) -> Reply | Failure:
        latency = row["latency"]
        if self._limit is not None and latency > self._limit:
            # Answered under another limit, or in the moment before it would have been killed.
            return Failure("api_error", f"no answer within {self._limit:g} s for each query: it took {latency:g} s")
        return read_row(dict(row), cached, None)


def _take(waiting: list[_Query]) -> Iterator[Answered]:
    """Yield what is answered, and empty the list."""
    held = list(waiting)
    waiting.clear()
    for query in held:
        assert query.reply is not None
        yield query.name, query.reply
