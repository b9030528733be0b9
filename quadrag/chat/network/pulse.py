"""Whether the servers live: calls that fail before any answer wait for one; where all do, the servers are dead."""

from __future__ import annotations

import asyncio
import time

from quadrag.chat.faults import Fault
from quadrag.chat.network.pace import Pace
from quadrag.chat.network.wire import Wire


class Pulse:
    """What is known of the life of one client's servers; `successes` counts the answers of all batches."""

    def __init__(self, wire: Wire, pace: Pace) -> None:
        """Take the way to the servers, and how many calls it may carry at once."""
        self._wire, self._pace = wire, pace
        self.successes = 0
        self._model = ""
        self._working = 0
        self._alive_at = 0.0
        self._parked: list[tuple[asyncio.Future[None], Fault]] = []

    def begin(self, model: str, workers: int) -> None:
        """Begin a batch of calls of a model, made by so many workers."""
        self._model, self._working = model, workers
        self._alive_at = time.monotonic()
        self._parked.clear()

    def silence(self) -> float:
        """Return the seconds since an answer came, or since the batch began."""
        return time.monotonic() - self._alive_at

    def answered(self) -> None:
        """Note an answer: whoever waits for the first one goes on."""
        self.successes += 1
        self._alive_at = time.monotonic()
        for parked, _ in self._parked:
            if not parked.done():
                parked.set_result(None)
        self._parked.clear()

    async def park(self, fault: Fault) -> None:
        """Wait until something has answered; the last call to fail finds the server dead."""
        if self.successes:
            return
        parked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._parked.append((parked, fault))
        await self._raise_if_dead()
        await parked

    async def leave(self) -> None:
        """Let a worker end, which has no more to do; the others may be those that wait for a first answer."""
        self._working -= 1
        await self._raise_if_dead()

    async def _raise_if_dead(self) -> None:
        """Raise when every call that may be in flight waits for a first answer."""
        if self._parked and not self.successes and len(self._parked) >= min(self._working, self._pace.allowed):
            raise await self._dead([one for _, one in self._parked])

    async def _dead(self, faults: list[Fault]) -> Exception:
        return await self._wire.transport.explain_dead(faults, self._model, self._wire.keys, self._wire.list_models)
