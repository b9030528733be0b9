"""How many calls are in flight at once: one until the first reply, then as many as the server bears.

Replies say what that is: so many calls were in flight, and were there more, and each slower by as much, they would
still come in time. Where replies take nearly as long as they may, more are asked for while that makes none slower.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque

_IN_TIME = 0.75  # of the time limit
_FASTER = 1.3


class Pace:
    """How many calls may be in flight, `allowed`, of those that a batch would make at once."""

    def __init__(self, timeout: float) -> None:
        self._seconds = _IN_TIME * timeout
        self.allowed = 1  # while nothing is known of the server
        self._most = self._flight = 0
        self._line: deque[asyncio.Future[None]] = deque()
        self._rates = deque([0.0], 4)  # of the last replies: calls that were in flight, by the seconds of the reply
        self._best = 0.0
        self._lost = float("inf")  # calls in flight at which one was lost
        self._narrowed = 0.0

    def begin(self, most: int) -> None:
        """Begin a batch that makes so many calls at once."""
        self._most, self._flight = most, 0
        self._line.clear()

    async def enter(self) -> None:
        """Wait until one more call may be in flight."""
        turn = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        self._call_in()
        await turn

    def leave(self) -> None:
        """Let a call be in flight no longer."""
        self._flight -= 1
        self._call_in()

    def answered(self, flight: int, seconds: float) -> None:
        """Take note of a reply: how many calls were in flight when it was asked for, and how long it took."""
        rate = flight / max(seconds, 1e-3)
        self._rates.append(rate)
        bearable = min(self._rates) * self._seconds
        if bearable > 2 * self._lost:  # by far, so it was lost for another reason
            self._lost = float("inf")
        if bearable > self.allowed:
            self._allow(min(2 * self.allowed, self._lost - 1, bearable))
        elif flight >= self.allowed and rate > _FASTER * self._best:
            self._allow(min(2 * self.allowed, self._lost - 1))
        self._best = max(self._best, rate)

    def widen(self) -> None:
        """Let more calls show whether a server lives that has refused some, or says nothing."""
        self._allow(2 * self.allowed)

    def narrow(self, flight: int, seconds: float) -> None:
        """Take note of a call that was lost; those that were lost together are one."""
        if time.monotonic() - seconds >= self._narrowed:
            self._narrowed, self._lost = time.monotonic(), max(flight, self._flight)
            self.allowed = max(1, int(self._lost) // 2)

    def _allow(self, number: float) -> None:
        # A small batch does not take back what a larger one found.
        self.allowed = max(self.allowed, int(min(number, self._most)))
        self._call_in()

    def _call_in(self) -> None:
        while self._line and self._flight < self.allowed:
            turn = self._line.popleft()
            if not turn.done():
                self._flight += 1
                turn.set_result(None)
