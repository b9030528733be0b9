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
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import lru_cache, partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple, TypeVar

from quadrag.errors import NotReady, QuadragError, one_line, tell_extra
from quadrag.gone import instead

Part = TypeVar("Part")
Made = TypeVar("Made")


class Travels:
    """What reaches a worker as the arguments that it was made with; the worker makes it once, and keeps it.

    So a model's weights are loaded by each worker, once. `stays` are keywords that no worker needs.
    """

    stays: ClassVar[tuple[str, ...]] = ()

    def __new__(cls, *arguments: Any, **keywords: Any) -> Any:
        """Note the arguments."""
        self = super().__new__(cls)
        sent = {name: value for name, value in keywords.items() if name not in cls.stays}
        self._made_with = (arguments, sent)  # type: ignore[attr-defined]
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Say how it is made."""
        return _make, (type(self), pickle.dumps(self._made_with))  # type: ignore[attr-defined]


@lru_cache(maxsize=4)
def _make(kind: type, made_with: bytes) -> Any:
    arguments, keywords = pickle.loads(made_with)
    return kind(*arguments, **keywords)


class _Place(NamedTuple):
    """How many parts are worked on at once, how many are under way, and what sends a function its parts.

    What is sent is waited for by calling what comes back.
    """

    workers: int
    ahead: int
    open: Callable[[Callable[[Any], Any]], Callable[[Any], Callable[[], Any]]]


_HERE = _Place(1, 1, lambda function: partial(partial, function))
_place: ContextVar[_Place] = ContextVar("place", default=_HERE)


def each(function: Callable[[Part], Made], parts: Iterable[Part]) -> Iterator[Made]:
    """Yield what a function makes of each part, in their order, in the place that the command named.

    Args:
        function: travels to the workers, as parts and what it makes do: of a module, or a method of an object that a
            worker can open again.
        parts: any number of them, each worth a journey; few are taken before they are asked for.

    Raises:
        Exception: what the function raises, at its part's turn.
    """
    place = _place.get()
    send, waiting = place.open(function), deque[Callable[[], Made]]()
    for part in parts:
        waiting.append(send(part))
        if len(waiting) >= place.ahead:
            yield waiting.popleft()()
    while waiting:
        yield waiting.popleft()()


def workers() -> int:
    """Return how many parts are worked on at once."""
    return _place.get().workers


@contextmanager
def use(on: str | None) -> Iterator[None]:
    """Do all work in a place while the block runs.

    Args:
        on: a number of processes, ``ray`` (the cluster of ``RAY_ADDRESS``, else one started here) or
            ``ray://HOST:PORT``; None is here.

    Raises:
        QuadragError: there is no such place, or it cannot be reached.
    """
    if on is None or on == "1":
        opened: AbstractContextManager[_Place] = nullcontext(_HERE)
    elif re.fullmatch(r"[1-9]\d{0,3}", on):
        opened = _processes(int(on))
    elif on == "ray" or on.startswith("ray://"):
        opened = _ray(on)
    else:
        expected = instead(f"--on {on}") or "expected processes, ray or ray://HOST"
        raise QuadragError(f"--on {on!r} is no place; {expected}")
    with opened as place:
        token = _place.set(place)
        try:
            yield
        finally:
            _place.reset(token)


@contextmanager
def _processes(workers: int) -> Iterator[_Place]:
    """Start processes, spawned, not forked: the caller may hold threads and open databases.

    Where one is killed, or the caller's script starts over when it is imported, what is left is done here.
    """
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(workers, get_context("spawn"), _follow_parent)
    numbers = count()

    def send(function: Callable[[Any], Any], part: Any) -> Callable[[], Any]:
        path = Path(folder, str(next(numbers)))

        def take() -> Any:
            try:
                future.result()
            except BrokenExecutor:
                return function(part)
            made = pickle.loads(path.read_bytes())  # a worker of ours wrote it
            path.unlink()
            return made

        try:
            future = pool.submit(_keep, function, path, part)
        except BrokenExecutor:
            return partial(function, part)
        return take

    # Where nobody wants the rest, a part at work may still leave its file while the folder goes.
    with TemporaryDirectory(prefix="quadrag-parallel-", ignore_cleanup_errors=True) as folder:
        try:
            yield _Place(workers, 2 * workers, lambda function: partial(send, function))
        finally:
            pool.shutdown(cancel_futures=True)


def _keep(function: Callable[[Any], Any], path: Path, part: Any) -> None:
    """Leave what was made in a file: a worker killed amid a large message would leave its reader waiting for good."""
    path.write_bytes(pickle.dumps(function(part)))


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
    task = ray.remote(lambda function, part: function(part))

    def take(made: Any) -> Any:
        try:
            return ray.get(made)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None

    def send(function: Any) -> Callable[[Any], Callable[[], Any]]:
        shared = ray.put(function)  # once, however large it is
        return lambda part: partial(take, task.remote(shared, part))

    try:
        workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        yield _Place(workers, 2 * workers, send)
    finally:
        ray.shutdown()
