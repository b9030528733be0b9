"""Work on a Ray cluster: tasks, which Ray makes again elsewhere where a node is lost.

Tasks, not Ray Data: parts come as they are made, and Ray Data wants all of them before the first.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from quadrag.errors import NotReady, QuadragError, one_line, tell_extra
from quadrag.parallel.place import AHEAD, Made, Part


class Cluster:
    """A Ray cluster; on every node stand Python, quadrag and what it needs in the same versions."""

    def __init__(self, address: str | None) -> None:
        """Join a cluster.

        Args:
            address: ``ray://HOST:PORT``; None is that of ``RAY_ADDRESS``, else one of this machine is started.

        Raises:
            NotReady: Ray is not installed.
            QuadragError: the cluster does not answer.
        """
        try:
            import ray  # type: ignore[import-not-found]
        except ImportError as error:
            raise NotReady(f"--on ray needs Ray ({error}); {tell_extra('ray')}") from None
        self._ray = ray
        self._joined = not ray.is_initialized()
        if self._joined:
            try:
                ray.init(address, include_dashboard=None if address else False, logging_level=logging.ERROR)
            except Exception as error:  # Ray has many kinds: of the network, of versions, of its own processes
                where = address or "ray"
                raise QuadragError(f"--on {where}: no cluster can be had ({one_line(error)}); is it running?") from None
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)))

    def each(self, function: Callable[[Part], Made], parts: Iterable[Part]) -> Iterator[Made]:
        """Yield what the function makes of each part; see `Place.each`."""
        task = self._ray.remote(_call)
        shared = self._ray.put(function)
        waiting: deque[Any] = deque()
        for part in parts:
            waiting.append(task.remote(shared, part))
            if len(waiting) >= AHEAD * self.workers:
                yield self._take(waiting.popleft())
        while waiting:
            yield self._take(waiting.popleft())

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        if self._joined:
            self._ray.shutdown()

    def _take(self, made: Any) -> Any:
        try:
            return self._ray.get(made)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None


def _call(function: Callable[[Part], Made], part: Part) -> Made:
    return function(part)
