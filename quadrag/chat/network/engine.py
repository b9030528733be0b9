"""An event loop in a thread of its own, so that callers need none and may themselves run in one (notebooks do).

It lives as long as its client, which keeps the connections open between batches.
"""

import asyncio
import queue
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quadrag.chat.faults import Fault
from quadrag.chat.job import Job, Limits
from quadrag.chat.ledger.shelf import Shelf
from quadrag.chat.network.dispatch import Dispatcher
from quadrag.chat.network.wire import Wire
from quadrag.chat.reply import Outcome

_TELL_EVERY = 0.1  # seconds


class Engine:
    """The running side of a chat client."""

    def __init__(self, wire: Wire, shelf: Shelf | None, spent: dict[str, Any]) -> None:
        """Start the loop; no connection is opened. For the arguments see `Dispatcher`."""
        self._wire = wire
        self._dispatcher = Dispatcher(wire, shelf, spent)
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._loop.run_forever, name="quadrag-chat", daemon=True)
        thread.start()
        # Also at the interpreter's exit, when nobody called close().
        self._finish = weakref.finalize(self, _stop, self._loop, thread, wire)

    def list_models(self) -> list[str] | Fault:
        """Return the ids that the server lists, or why there are none."""
        try:
            return asyncio.run_coroutine_threadsafe(self._wire.list_models(), self._loop).result()
        except Fault as fault:
            return fault

    def run(
        self,
        model: str,
        parameters: Mapping[str, Any],
        jobs: Sequence[Job],
        limits: Limits,
        outcomes: dict[bytes, Outcome],
        progress: Callable[[list[bytes]], None] | None,
    ) -> None:
        """Make calls and wait for them.

        Raises:
            QuadragError: as `Dispatcher.run` does.
        """
        finished_keys: queue.SimpleQueue[list[bytes] | None] = queue.SimpleQueue()
        waiting: list[bytes] = []
        sent_at = time.monotonic()

        def settled(finished: list[tuple[Job, Outcome]]) -> None:
            nonlocal waiting, sent_at
            outcomes.update((job.key, outcome) for job, outcome in finished)
            if progress is None:
                return
            waiting.extend(job.key for job, _ in finished)
            # Each message wakes the caller's thread, which takes the interpreter from the loop.
            if time.monotonic() - sent_at >= _TELL_EVERY:
                finished_keys.put(waiting)
                waiting, sent_at = [], time.monotonic()

        calls = self._dispatcher.run(model, parameters, jobs, limits, settled)
        running = asyncio.run_coroutine_threadsafe(calls, self._loop)
        running.add_done_callback(lambda _: finished_keys.put(None))
        try:
            while (keys := finished_keys.get()) is not None:
                if progress is not None:
                    progress(keys)
            if progress is not None and waiting:
                progress(waiting)
        except BaseException:
            # An interrupt, or an error of the caller's own progress function.
            running.cancel()
            while finished_keys.get() is not None:
                continue
            raise
        running.result()

    def close(self) -> None:
        """Close the connections and end the thread."""
        self._finish()


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread, wire: Wire) -> None:
    async def down() -> None:
        # After an interrupt workers may still be on their way out.
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await wire.close()

    closing = asyncio.run_coroutine_threadsafe(down(), loop)
    closing.add_done_callback(lambda _: loop.call_soon_threadsafe(loop.stop))
    thread.join(timeout=5.0)
    if not thread.is_alive():
        loop.close()
