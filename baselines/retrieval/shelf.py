"""What a search has in hand: its passages, and the folders of the indexes over them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .passages import PassageStore, Rows
from .store import IndexStore


@dataclass(slots=True)
class Shelf:
    """The passages that are searched, and where indexes over them are kept.

    `within` are the rows that are searched, ascending; None is all. `folders` are those in use; `told` is what is to be
    told of them in the record of a run.
    """

    passages: PassageStore
    key: Mapping[str, Any]
    store: IndexStore
    within: Rows | None = None
    folders: list[Path] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)

    def get(self, key: Mapping[str, Any], build: Callable[[Path], None], *, resumes: bool = False) -> Path:
        """Return the folder of an index over the passages, built where there is none; see `IndexStore.get`."""
        folder = self.store.get(key, build, resumes=resumes)
        self.folders.append(folder)
        return folder
