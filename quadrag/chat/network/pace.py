"""How many calls are in flight at once: few until the first reply, then as many as the servers bear.

A reply says what that is: so many were in flight with it, and were there more, and each slower by as much, they would
still come in time. Where a reply takes long whatever else is asked that says nothing: there the number doubles while
none is lost, and stays below the one at which some were.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import NamedTuple

_FIRST = 2  # calls of a server of which nothing is known
_IN_TIME = 0.75  # of the time limit


class Sending(NamedTuple):
    """A moment at which a call is sent, and how many are in flight with it."""

    moment: float
    flight: int


class Pace:
    """How many calls may be in flight, `allowed`, of those that a batch would make at once."""

    def __init__(self, timeout: float, servers: int) -> None:
        """Take the seconds within which a reply must come, and the number of servers."""
        self._timeout = timeout
        self.allowed = _FIRST * servers
        self._most = self._flight = self._in_time = 0
        self._line: deque[asyncio.Future[None]] = deque()
        self._lost = float("inf")  # calls in flight at which one was lost
        self._narrowed = 0.0

    def begin(self, most: int) -> None:
        """Begin a batch that makes so many calls at once."""
        self._most, self._flight = max(most, _FIRST), 0
        self._line.clear()

    async def enter(self) -> None:
        """Wait until one more call may be in flight."""
        if self._flight < self.allowed and not self._line:
            self._flight += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        await turn

    def leave(self) -> None:
        """Let a call be in flight no longer."""
        self._flight -= 1
        self._call_in()

    async def queue_again(self) -> None:
        """Let a call that was lost wait for its turn behind the others."""
        self.leave()
        await self.enter()

    def sending(self) -> Sending:
        """Note that a call is sent."""
        return Sending(time.monotonic(), self._flight)

    def answered(self, sending: Sending) -> None:
        """Take note of a reply."""
        flight, seconds = max(sending.flight, self._flight), time.monotonic() - sending.moment
        bearable = int(flight * _IN_TIME * self._timeout / max(seconds, 1e-3))
        self._in_time += 1
        if bearable > self.allowed:
            self._allow(min(2 * self.allowed, bearable))
        elif self._in_time >= self.allowed:
            self._allow(max(self.allowed, min(2 * self.allowed, self._lost - 1)))

    def widen(self) -> None:
        """Let more calls show whether a server lives that has refused some at once."""
        self._allow(2 * self.allowed)

    def narrow(self, sending: Sending) -> None:
        """Take note of a call that got no reply in time; those that were lost together are one."""
        if sending.moment >= self._narrowed:
            self._narrowed = time.monotonic()
            self._lost = max(sending.flight, self._flight)
            self._allow(max(1, self._lost // 2))

    def _allow(self, number: float) -> None:
        # The limit of a batch is not forgotten by a smaller one.
        self.allowed, self._in_time = int(min(number, max(self._most, self.allowed))), 0
        self._call_in()

    def _call_in(self) -> None:
        while self._line and self._flight < self.allowed:
            turn = self._line.popleft()
            if not turn.done():
                self._flight += 1
                turn.set_result(None)
