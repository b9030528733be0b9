"""The event loop that coroutine functions are called in: one in a thread of its own, for the life of the process.

What clients bind to a loop at their first call, as connections and locks, so serves every evaluation after it. A loop
that runs in the caller's thread already, as a notebook's, is no obstacle.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import wait
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

_PATIENCE = 5  # seconds
_loops: dict[int, asyncio.AbstractEventLoop] = {}  # by process: a fork has none of its parent's threads


def run_beside(
    call: Callable[[Any], Coroutine[Any, Any, Any]], batches: Sequence[Any], first: int, concurrency: int
) -> Generator[tuple[Any, Any], None, None]:
    """Call a coroutine function for all batches in the loop, and yield each with its results as they come.

    Args:
        call: the function.
        batches: what it is called with.
        first: so many calls are waited for before the others begin.
        concurrency: calls in flight.
    """
    loop = _find_loop()
    gate = asyncio.Semaphore(concurrency)
    tasks: list[asyncio.Task[tuple[Any, Any]]] = []
    ended: SimpleQueue[asyncio.Task[tuple[Any, Any]]] = SimpleQueue()
    over = threading.Event()

    async def one(batch: Any) -> tuple[Any, Any]:
        async with gate:
            if over.is_set():  # before this call's turn came
                raise asyncio.CancelledError
            return batch, await call(batch)

    async def begin(part: Sequence[Any]) -> None:
        for batch in part:
            tasks.append(asyncio.ensure_future(one(batch)))
            tasks[-1].add_done_callback(ended.put)

    async def down() -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    try:
        for part in (batches[:first], batches[first:]):
            asyncio.run_coroutine_threadsafe(begin(part), loop)
            for _ in part:  # in the order they ended: what came before an error is kept
                yield ended.get().result()
    finally:
        over.set()
        if wait([asyncio.run_coroutine_threadsafe(down(), loop)], timeout=_PATIENCE).not_done:
            _loops.pop(os.getpid(), None)  # a call holds it up: the next evaluation has another


def _find_loop() -> asyncio.AbstractEventLoop:
    if (loop := _loops.get(os.getpid())) is None:
        made = asyncio.new_event_loop()
        loop = _loops.setdefault(os.getpid(), made)  # another thread may have been quicker
        if loop is made:
            threading.Thread(target=_serve, args=(loop,), name="quadrag-functions", daemon=True).start()
        else:
            made.close()
    return loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop for good: what leaves it is the exit or the interrupt of a call, which that call has, too."""
    while True:
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()
