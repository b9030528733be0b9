"""What a place is where work is done, and the one that is always there."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Part = TypeVar("Part")
Made = TypeVar("Made")

AHEAD = 2  # parts that are under way at once for each worker


class Place(Protocol):
    """A place where work is done; `workers` do it at once."""

    workers: int

    def each(self, function: Callable[[Part], Made], parts: Iterable[Part]) -> Iterator[Made]:
        """Yield what a function makes of each part, in their order; few parts are taken before they are asked for.

        Args:
            function: travels to the workers, as parts and what it makes do: of a module, or a method of an object that
                a worker can open again.
            parts: any number of them; each is worth a journey.

        Raises:
            Exception: what the function raises, at its part's turn.
        """

    def close(self) -> None:
        """Let the workers go."""


class Here:
    """This process."""

    workers = 1

    def each(self, function: Callable[[Part], Made], parts: Iterable[Part]) -> Iterator[Made]:
        """Yield what the function makes of each part when it is asked for; see `Place.each`."""
        return map(function, parts)

    def close(self) -> None:
        """Nobody is to go."""
