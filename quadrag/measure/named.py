"""What is found by the names of scores, one entry a name, as a mapping that prints its names and entries as lists."""

from abc import abstractmethod
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import TypeVar

Entry = TypeVar("Entry")


class Named(Mapping[str, Entry]):
    """Entries by the names of scores; how one is found by a shorter name, its class says."""

    @property
    @abstractmethod
    def _named(self) -> dict[str, Entry]:
        """The entries by their full names."""

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._named)

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(self._named)

    def keys(self) -> KeysView[str]:
        """Return the names; printed they are a list, as are the entries and both, not the whole table."""
        return self._named.keys()

    def values(self) -> ValuesView[Entry]:
        """Return the entries."""
        return self._named.values()

    def items(self) -> ItemsView[str, Entry]:
        """Return the entries with their names."""
        return self._named.items()
