"""Calls parted over workers by their keys, each worker with a ledger of its own for its share.

A reply is committed by the worker that got it, then by the run into its own ledger; what a killed run left in the
workers' ledgers goes into it when it is next opened (`Ledger.adopt`). So no reply is paid for twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quadrag import parallel
from quadrag.chat.job import Job, Limits
from quadrag.chat.ledger import Ledger
from quadrag.chat.ledger.parts import parts_folder
from quadrag.chat.ledger.shelf import Shelf
from quadrag.chat.network.engine import Engine
from quadrag.chat.network.wire import Wire
from quadrag.chat.reply import Outcome
from quadrag.chat.server import Bounds
from quadrag.chat.spec import Spec
from quadrag.chat.transport import Transport

_CALLS = 64  # of a part, for each that is in flight at once: enough to keep them all busy


@dataclass(frozen=True)
class _Share:
    """What a worker is to know: the servers, and where it keeps replies."""

    spec: Spec
    bounds: Bounds
    transport: Transport
    service: str
    folder: Path | None
    model: str
    parameters: dict[str, Any]
    limits: Limits

    def ask(self, part: tuple[int, list[Job]]) -> tuple[dict[bytes, Outcome], dict[str, Any]]:
        """Make calls, less those whose replies are kept; return what all came to, and what was spent."""
        shard, jobs = part
        counters = ("calls", "retries", "timed_out", "failed", "prompt_tokens", "completion_tokens")
        spent: dict[str, Any] = {**dict.fromkeys(counters, 0), "cost": 0.0}
        if self.folder is None:
            return self._ask(jobs, None, spent), spent
        with Ledger(self.folder / f"{shard}.sqlite") as ledger:
            shelf = Shelf(ledger, self.service)
            kept: dict[bytes, Outcome] = dict(shelf.get_many(job.key for job in jobs))
            left = [job for job in jobs if job.key not in kept]
            return {**kept, **self._ask(left, shelf, spent)}, spent

    def _ask(self, jobs: Sequence[Job], shelf: Shelf | None, spent: dict[str, Any]) -> dict[bytes, Outcome]:
        outcomes: dict[bytes, Outcome] = {}
        if jobs:
            engine = Engine(Wire(self.spec, self.bounds, self.transport), shelf, spent)
            try:
                engine.run(self.model, self.parameters, jobs, self.limits, outcomes, None)
            finally:
                engine.close()
        return outcomes


class PartedEngine(Engine):
    """The running side of a chat client whose calls many workers make; see `Engine`. No budget bounds them."""

    def __init__(
        self, spec: Spec, bounds: Bounds, transport: Transport, shelf: Shelf | None, spent: dict[str, Any]
    ) -> None:
        """Take what a worker opens its own engine with."""
        super().__init__(Wire(spec, bounds, transport), shelf, spent)
        self._spec, self._bounds, self._transport = spec, bounds, transport
        self._shelf, self._spent = shelf, spent

    def run(
        self,
        model: str,
        parameters: Any,
        jobs: Sequence[Job],
        limits: Limits,
        outcomes: dict[bytes, Outcome],
        progress: Callable[[list[bytes]], None] | None,
    ) -> None:
        """Make calls and wait for them; see `Engine.run`."""
        shelf = self._shelf
        service = "" if shelf is None else shelf.service
        with parts_folder(None if shelf is None else shelf.ledger.path) as folder:
            share = _Share(self._spec, self._bounds, self._transport, service, folder, model, dict(parameters), limits)
            for made, spent in parallel.each(share.ask, _parts(jobs, limits.concurrency * _CALLS)):
                if shelf is not None:
                    shelf.put_many([(key, row) for key, row in made.items() if not isinstance(row, str)], model)
                outcomes.update(made)
                for row in made.values():
                    limits.refused.update({} if isinstance(row, str) else row.get("refused", {}))
                for name, value in spent.items():
                    if self._spent[name] is not None:
                        self._spent[name] += value
                if progress is not None:
                    progress(list(made))


def _parts(jobs: Sequence[Job], most: int) -> Iterator[tuple[int, list[Job]]]:
    """Part calls by their keys, a shard for each worker, and those again into as many as are worth a journey."""
    shards: list[list[Job]] = [[] for _ in range(parallel.workers())]
    for job in jobs:
        shards[int.from_bytes(job.key[:4], "big") % len(shards)].append(job)
    for start in range(0, max(map(len, shards)), most):
        for shard, mine in enumerate(shards):
            if part := mine[start : start + most]:
                yield shard, part
