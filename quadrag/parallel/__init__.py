"""Where work is done: one function over many parts, here, in processes, or on Ray.

Who has work to do says nothing of the place: `each` takes the one that the command named by ``--on``. Results come in
the order of the parts wherever they were made, so that what is written of them is the same to the byte.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, ClassVar

from quadrag.errors import QuadragError
from quadrag.gone import instead
from quadrag.parallel.place import Here, Made, Part, Place

__all__ = ["Place", "Travels", "each", "use", "workers"]


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


_HERE = Here()
_place: ContextVar[Place] = ContextVar("place", default=_HERE)  # it holds nothing


def each(function: Callable[[Part], Made], parts: Iterable[Part]) -> Iterator[Made]:
    """Yield what a function makes of each part, in their order, where the command said; see `Place.each`."""
    return _place.get().each(function, parts)


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
    place = _open(on)
    token = _place.set(place)
    try:
        yield
    finally:
        _place.reset(token)
        place.close()


def _open(on: str | None) -> Place:
    if on is None or on == "1":
        return _HERE
    if re.fullmatch(r"[1-9]\d{0,3}", on):
        from quadrag.parallel.processes import Processes

        return Processes(int(on))
    if on == "ray" or on.startswith("ray://"):
        from quadrag.parallel.cluster import Cluster

        return Cluster(None if on == "ray" else on)
    raise QuadragError(f"--on {on!r} is no place; {instead(f'--on {on}') or 'expected processes, ray or ray://HOST'}")
