"""The open domain: encyclopaedia entries by title, from bz2 JSON Lines ``[title, entity]``."""

import sqlite3
from pathlib import Path
from typing import Any

from . import sources
from .store import Part, Store, Tick, dump, fill, index_names


def _load(db: sqlite3.Connection, paths: list[Path], tick: Tick) -> None:
    rows = ((title, None, dump(entity)) for path in paths for title, entity in sources.entries(path))
    fill(db, "open", rows, tick)
    index_names(db, "open", "okapi")


PARTS = (Part("open", ("open/kg.0.jsonl.bz2", "open/kg.1.jsonl.bz2"), _load),)


class Encyclopedia(Store):
    """The two functions of the open domain."""

    def open_search_entity_by_name(self, query: str) -> list[str]:
        """Return the at most ten titles nearest to a name, best first."""
        return self.search_names("open", query)

    def open_get_entity(self, query: str) -> Any:
        """Return the entry of an exact title (summary_text, summary_structured, raw_mediawiki), None if unknown."""
        return self.get_named("open", query)
