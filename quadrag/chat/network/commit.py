"""Group commit: what finishes in one turn of the loop goes into the ledger at once, before it is handed on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from quadrag.chat.job import Job
from quadrag.chat.ledger.shelf import Shelf
from quadrag.chat.reply import Outcome

Settled = Callable[[list[tuple[Job, Outcome]]], None]


class GroupCommit:
    """Keeps the outcomes of one batch of calls."""

    def __init__(self, model: str, shelf: Shelf | None, settled: Settled) -> None:
        """Take the model's name, where its replies are kept, and what takes outcomes that are."""
        self._model, self._shelf, self._settled = model, shelf, settled
        self._finished: list[tuple[Job, Outcome, asyncio.Future[None]]] = []

    async def keep(self, job: Job, outcome: Outcome) -> None:
        """Wait until an outcome is kept; this worker asks nothing before, so a kill repeats only calls in flight."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._finished.append((job, outcome, done))
        if len(self._finished) == 1:
            loop.call_soon(self.flush)
        await done

    def flush(self) -> None:
        """Keep what has finished."""
        finished, self._finished = self._finished, []
        if not finished:
            return
        try:
            rows = [(job.key, outcome) for job, outcome, _ in finished if not isinstance(outcome, str)]
            first = self._shelf.put_many(rows, self._model) if self._shelf is not None and rows else {}
            self._settled([(job, first.get(job.key, outcome)) for job, outcome, _ in finished])
        except Exception as error:
            for _, _, done in finished:
                if not done.done():
                    done.set_exception(error)
            return
        for _, _, done in finished:
            if not done.done():
                done.set_result(None)
