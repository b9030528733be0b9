"""Where work is done: one function over many parts, here, in processes of this machine, or on a Ray cluster.

Who has work to do says nothing of the place: `each` takes the one that the command named by ``--on``. Results come in
the order of the parts wherever they were made, so that what is written of them is the same to the byte.
"""

import os
import pickle
import re
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar

from quadrag.errors import NotReady, QuadragError, one_line, tell_extra

Part = TypeVar("Part")
Made = TypeVar("Made")


class _Place(NamedTuple):
    """How many parts are worked on at once, and what sends a pickled function one of them, to be waited for."""

    workers: int
    send: Callable[[bytes, Any], Callable[[], Any]]


_place: ContextVar[_Place | None] = ContextVar("place", default=None)


def each(function: Callable[[Part], Made], parts: Iterable[Part]) -> Iterator[Made]:
    """Yield what a function makes of each part, in their order, in the place that the command named.

    The function travels to the workers pickled, as parts and what it makes do. A worker keeps what it unpickled: a
    method of a model that leaves its weights behind loads them there once. Few parts are taken before they are asked
    for, and what the function raises is raised at its part's turn.
    """
    place = _place.get()
    if place is None:
        yield from map(function, parts)
        return
    sent, waiting = pickle.dumps(function), deque[Callable[[], Made]]()
    for part in parts:
        waiting.append(place.send(sent, part))
        if len(waiting) >= 2 * place.workers:
            yield waiting.popleft()()
    while waiting:
        yield waiting.popleft()()


def workers() -> int:
    return place.workers if (place := _place.get()) else 1


@contextmanager
def use(on: str | None) -> Iterator[None]:
    """Do all work in a place while the block runs; QuadragError where it cannot be had.

    `on`: a number of processes, ``ray`` (the cluster of ``RAY_ADDRESS``, else one started here) or
    ``ray://HOST:PORT``; None is here.
    """
    if on is None or on == "1":
        yield
        return
    is_ray = on == "ray" or on.startswith("ray://")
    if not is_ray and not re.fullmatch(r"[1-9]\d{0,3}", on):
        raise QuadragError(f"--on {on!r} is no place; expected processes, ray or ray://HOST")
    with _ray(on) if is_ray else _processes(int(on)) as place:
        token = _place.set(place)
        try:
            yield
        finally:
            _place.reset(token)


_unpickle = lru_cache(maxsize=4)(pickle.loads)


def _work(sent: bytes, part: Any) -> Any:
    return _unpickle(sent)(part)


@contextmanager
def _processes(workers: int) -> Iterator[_Place]:
    """Start processes, spawned, not forked: the caller may hold threads and open databases."""
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(workers, get_context("spawn"), _follow_parent)
    try:
        yield _Place(workers, lambda sent, part: pool.submit(_work, sent, part).result)
    except BrokenExecutor:
        raise QuadragError(
            f"one of {workers} processes was killed, as where memory ends; expected all to end; name fewer by --on"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _follow_parent() -> None:
    """Leave an interrupt to the parent, and end with it even if it was killed."""
    from multiprocessing import parent_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent: Any = parent_process()
    threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()


@contextmanager
def _ray(on: str) -> Iterator[_Place]:
    """Join a Ray cluster; on every node stand Python, quadrag and what it needs in the same versions.

    Tasks, which Ray does again elsewhere where a node is lost. Not Ray Data, which wants all parts before the first.
    """
    try:
        import ray  # type: ignore[import-not-found]
    except ImportError as error:
        raise NotReady(f"--on ray needs Ray ({error}); {tell_extra('ray')}") from None
    try:
        ray.init(None if on == "ray" else on, include_dashboard=None if on != "ray" else False, logging_level="ERROR")
    except Exception as error:  # Ray has many kinds: of the network, of versions, of its own processes
        raise QuadragError(f"--on {on}: no cluster can be had ({one_line(error)}); is it running?") from None
    task, share = ray.remote(_work), lru_cache(maxsize=4)(ray.put)  # a function once, however large it is

    def take(made: Any) -> Any:
        try:
            return ray.get(made)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None

    try:
        workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        yield _Place(workers, lambda sent, part: partial(take, task.remote(share(sent), part)))
    finally:
        ray.shutdown()
