"""The open domain: encyclopaedia entries by title, from bz2 JSON Lines ``[title, entity]``."""

import bz2
import json
import sqlite3
from pathlib import Path
from typing import Any

from .store import Part, Store, dump, fill, index_names


def _load(db: sqlite3.Connection, paths: list[Path]) -> None:
    for path in paths:
        with bz2.open(path, "rb") as lines:
            entries = (json.loads(line) for line in lines if not line.isspace())
            fill(db, "open", ((title, None, dump(entity)) for title, entity in entries))
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
