"""An event loop in a thread of its own, so that callers need none and may themselves run in one (notebooks do).

It lives as long as its client, which keeps the connections open between batches.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quadrag.dispatch import Dispatcher, Job, Limits, Outcome
from quadrag.errors import QuadragError
from quadrag.faults import Fault
from quadrag.ledger import Ledger
from quadrag.spec import Keys, Spec
from quadrag.wire import Wire

_TELL_EVERY = 0.1  # seconds


class Engine:
    """The running side of a chat client."""

    def __init__(self, spec: Spec, keys: Keys, timeout: float, wire: Wire | None = None) -> None:
        """Start the loop; no connection is opened.

        Args:
            spec: where the model is.
            keys: the key to send and what to hide.
            timeout: seconds one attempt may take.
            wire: another way to the servers than that of chat completions.
        """
        self.wire = wire or Wire(spec, keys, timeout)
        self.dispatcher: Dispatcher | None = None
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._loop.run_forever, name="quadrag-chat", daemon=True)
        thread.start()
        # Also at the interpreter's exit, when nobody called close().
        self._finish = weakref.finalize(self, _stop, self._loop, thread, self.wire)

    def start(self, model: str, parameters: Mapping[str, Any], ledger: Ledger | None, spent: dict[str, Any]) -> None:
        """Bind the engine to a model; see `Dispatcher`."""
        self.dispatcher = Dispatcher(self.wire, model, parameters, ledger, spent)

    def served(self) -> list[str]:
        """Return the ids that the server lists.

        Raises:
            QuadragError: it cannot be asked.
        """
        try:
            return asyncio.run_coroutine_threadsafe(self.wire.served(), self._loop).result()
        except Fault as fault:
            raise QuadragError(
                f"the models cannot be listed: {fault.detail}; start the server, or append #model to the spec"
            ) from None

    def run(
        self,
        jobs: Sequence[Job],
        limits: Limits,
        outcomes: dict[bytes, Outcome],
        progress: Callable[[list[bytes]], None] | None,
    ) -> None:
        """Make calls and wait for them.

        Args:
            jobs: the calls.
            limits: concurrency, retries, prices and budget.
            outcomes: filled as calls finish, also when the run ends with an error.
            progress: called in this thread, some times a second, with the keys of calls that finished.

        Raises:
            QuadragError: as `Dispatcher.run` does.
        """
        if self.dispatcher is None:
            raise RuntimeError("the engine was not started")
        news: queue.SimpleQueue[list[bytes] | None] = queue.SimpleQueue()

        untold: list[bytes] = []
        told = time.monotonic()

        def settled(finished: list[tuple[Job, Outcome]]) -> None:
            nonlocal untold, told
            outcomes.update((job.key, outcome) for job, outcome in finished)
            if progress is None:
                return
            untold.extend(job.key for job, _ in finished)
            # Each message wakes the caller's thread, which takes the interpreter from the loop.
            if time.monotonic() - told >= _TELL_EVERY:
                news.put(untold)
                untold, told = [], time.monotonic()

        running = asyncio.run_coroutine_threadsafe(self.dispatcher.run(jobs, limits, settled), self._loop)
        running.add_done_callback(lambda _: news.put(None))
        try:
            while (keys := news.get()) is not None:
                if progress is not None:
                    progress(keys)
            if progress is not None and untold:
                progress(untold)
        except BaseException:
            # An interrupt, or an error of the caller's own progress function.
            running.cancel()
            while news.get() is not None:
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
