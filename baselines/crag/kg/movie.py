"""The movie domain: films, people and years, from JSON objects whose keys are normalised names (years for the last)."""

import json
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError

from .store import Part, Store, dump, fill, index_in_order

_YEARS = frozenset(map(str, range(1990, 2022)))


def _load(table: str, db: sqlite3.Connection, paths: list[Path]) -> None:
    for path in paths:
        fill(db, table, ((name, _id(entity), dump(entity)) for name, entity in json.loads(path.read_bytes()).items()))
    if table != "year":
        db.execute(f"CREATE INDEX {table}_id ON {table} (id)")
        # Upstream's search of this domain keeps the file's order among equal scores.
        index_in_order(db, table, ties="first")


def _id(entity: Any) -> int | None:
    number = entity.get("id") if isinstance(entity, dict) else None
    return number if type(number) is int and abs(number) < 2**63 else None


PARTS = (
    Part("movie", ("movie/movie_db.json",), partial(_load, "movie")),
    Part("person", ("movie/person_db.json",), partial(_load, "person")),
    Part("year", ("movie/year_db.json",), partial(_load, "year")),
)


class Movies(Store):
    """The five functions of the movie domain."""

    def movie_get_person_info(self, query: str) -> list[Any]:
        """Return the at most ten people whose names are nearest to a name, best first."""
        return self._entities("person", query)

    def movie_get_movie_info(self, query: str) -> list[Any]:
        """Return the at most ten films whose names are nearest to a name, best first."""
        return self._entities("movie", query)

    def movie_get_year_info(self, query: str) -> Any:
        """Return what is known of a year; QuadragError outside of 1990 to 2021, where upstream answers 500."""
        year = str(query).strip()
        known = self.get_named("year", year) if year in _YEARS else None
        if known is None:
            raise QuadragError(f"the graph knows no year {str(query)[:20]!r}; expected one from 1990 to 2021")
        return known

    def movie_get_movie_info_by_id(self, query: int) -> Any:
        """Return the film with an id, None if unknown."""
        return self.get_numbered("movie", int(query))

    def movie_get_person_info_by_id(self, query: int) -> Any:
        """Return the person with an id, None if unknown."""
        return self.get_numbered("person", int(query))

    def _entities(self, table: str, query: str) -> list[Any]:
        return [self._at(table, number) for number in self.search(table, query)]

    def _at(self, table: str, number: int) -> Any:
        ((value,),) = self.rows(table, "value FROM {} WHERE n = ?", number)
        return json.loads(value)
