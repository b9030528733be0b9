"""Things in their order, cut into groups that are neither too many nor too large together."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def cut_groups(things: Iterable[T], most: int, largest: int, size_of: Callable[[T], int]) -> Iterator[list[T]]:
    """Cut things into groups; what would make one too large begins the next, and what is too large stands alone.

    Args:
        things: taken one by one, as groups are asked for.
        most: so many things in a group, 1 or more.
        largest: what the sizes of a group come to.
        size_of: the size of one.
    """
    group: list[T] = []
    held = 0
    for thing in things:
        size = size_of(thing)
        if group and (len(group) == most or held + size > largest):
            yield group
            group, held = [], 0
        group.append(thing)
        held += size
    if group:
        yield group
