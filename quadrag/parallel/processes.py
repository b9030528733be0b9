"""Work in processes of this machine."""

import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context, parent_process
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from quadrag.parallel.place import AHEAD, Made, Part


class Processes:
    """Some processes, started when the first part comes.

    Spawned, not forked: the caller may hold threads and open databases. Where one is killed, or the caller's script
    starts over when it is imported, what is left is done here.
    """

    def __init__(self, workers: int) -> None:
        """Name their number."""
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._broken = False

    def each(self, function: Callable[[Part], Made], parts: Iterable[Part]) -> Iterator[Made]:
        """Yield what the function makes of each part; see `Place.each`."""
        # Where nobody wants the rest, a part at work may still leave its file while the folder goes.
        with TemporaryDirectory(prefix="quadrag-parallel-", ignore_cleanup_errors=True) as folder:
            waiting: deque[tuple[Part, Future[str] | None]] = deque()
            try:
                for number, part in enumerate(parts):
                    waiting.append((part, self._submit(partial(_keep, function, f"{folder}/{number}"), part)))
                    if len(waiting) >= AHEAD * self.workers:
                        yield self._take(function, *waiting.popleft())
                while waiting:
                    yield self._take(function, *waiting.popleft())
            finally:
                for _, future in waiting:
                    if future is not None:
                        future.cancel()

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _submit(self, keep: Callable[[Any], str], part: Any) -> "Future[str] | None":
        if self._broken:
            return None
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.workers, get_context("spawn"), _follow_parent)
        try:
            return self._pool.submit(keep, part)
        except BrokenProcessPool:
            self._broken = True
            return None

    def _take(self, function: Callable[[Part], Made], part: Part, future: "Future[str] | None") -> Made:
        if future is not None:
            try:
                path = Path(future.result())
            except BrokenProcessPool:
                self._broken = True
            else:
                made: Made = pickle.loads(path.read_bytes())  # a worker of ours wrote it
                path.unlink()
                return made
        return function(part)


def _keep(function: Callable[[Any], Any], path: str, part: Any) -> str:
    """Leave what was made in a file: a worker killed amid a large message would leave its reader waiting for good."""
    Path(path).write_bytes(pickle.dumps(function(part)))
    return path


def _follow_parent() -> None:
    """Leave an interrupt to the parent, and end with it even if it was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
