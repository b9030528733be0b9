"""The knowledge graph's file: what marks it, how it is opened and read, and the tables that several domains share.

One SQLite file, never changed in place: opened read-only, a connection for each thread. Values are JSON text.
"""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.errors import QuadragError

from .search import Search, Ties, Variant, normalise, write

APPLICATION = 0x51524B47  # "QRKG"
VERSION = 1
_TOP = 10  # results of a fuzzy search, as upstream

Load = Callable[[sqlite3.Connection, list[Path]], None]


class Part(NamedTuple):
    """What becomes of some upstream files: the main table, the files (any of them will do), and what fills it."""

    table: str
    files: tuple[str, ...]
    load: Load


def key(text: str) -> str:
    """Return a name as SQLite can keep it: half of a surrogate pair is ``?``."""
    return text.encode("utf-8", "replace").decode()


def dump(value: Any) -> str:
    """Return a value as JSON text (ASCII; NaN and infinities as Python spells them)."""
    return json.dumps(value, separators=(",", ":"))


def fill(db: sqlite3.Connection, table: str, rows: Iterable[tuple[str, Any, str]]) -> None:
    """Fill `table` with names, ids and JSON, numbered; of a repeated name the last value has the first's place."""
    db.execute(
        f"CREATE TABLE IF NOT EXISTS {table} (n INTEGER PRIMARY KEY, name UNIQUE NOT NULL, id INTEGER, value TEXT)"
    )
    statement = (
        f"INSERT INTO {table} VALUES ((SELECT ifnull(max(n) + 1, 0) FROM {table}), ?, ?, ?) "
        "ON CONFLICT (name) DO UPDATE SET id = excluded.id, value = excluded.value"
    )
    db.executemany(statement, ((key(name), number, value) for name, number, value in rows))


def index_in_order(db: sqlite3.Connection, table: str, ties: Ties | None = None) -> None:
    """Write the search index over the names of `table` as they stand there, in the table's order."""
    names = db.execute(f"SELECT name FROM {table} ORDER BY n")
    write(db, table, (name for (name,) in names), ties=ties)


def index_names(db: sqlite3.Connection, table: str, variant: Variant) -> None:
    """Write the search index over the names of `table`: normal forms once each, sorted, with the names behind them."""
    db.create_function("normal", 1, normalise, deterministic=True)
    # SQLite's order of text is that of code points, as Python's.
    db.execute("CREATE TEMP TABLE names AS SELECT normal(name) AS name, n FROM " + table)
    db.execute(f"CREATE TABLE {table}_name (number INTEGER, n INTEGER, PRIMARY KEY (number, n)) WITHOUT ROWID")
    db.execute(f"INSERT INTO {table}_name SELECT dense_rank() OVER (ORDER BY name) - 1, n FROM names")
    sorted_names = db.execute("SELECT DISTINCT name FROM names ORDER BY name")
    write(db, table, (name for (name,) in sorted_names), variant)
    sorted_names.close()
    db.execute("DROP TABLE names")


class Store:
    """A knowledge graph opened for reading; safe for several threads."""

    parts: tuple[Part, ...] = ()

    def __init__(self, path: str | Path) -> None:
        """Open a file that `build` wrote; QuadragError where it is absent or something else."""
        self.path = Path(path).expanduser()
        self._lock = threading.Lock()
        self._searches: dict[str, Search] = {}
        if not self.path.is_file():
            raise QuadragError(f"no knowledge graph {str(path)!r}; build one: quadrag kg build SRC {path}")
        # The file is never changed in place, so SQLite need not look for locks and journals.
        uri = f"{self.path.resolve().as_uri()}?mode=ro&immutable=1"
        self._db = sqlite3.connect(uri, uri=True, check_same_thread=False)
        try:
            marks = [self._fetch(f"PRAGMA {name}")[0][0] for name in ("application_id", "user_version")]
            self.tables = frozenset(name for (name,) in self._fetch("SELECT name FROM sqlite_master"))
        except sqlite3.Error:
            marks = []
        if marks != [APPLICATION, VERSION]:
            self.close()
            raise QuadragError(f"{self.path} is no knowledge graph of version {VERSION}; build one: quadrag kg build")

    def _fetch(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._lock:  # a connection serves one thread at a time
            return self._db.execute(statement, values).fetchall()

    def close(self) -> None:
        """Close the file; the object is of no use afterwards."""
        self._db.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def sources(self) -> list[dict[str, Any]]:
        """The upstream files that went in: ``file``, ``size`` in bytes, ``sha256``."""
        rows = self._fetch("SELECT file, size, sha256 FROM source ORDER BY file")
        return [dict(zip(("file", "size", "sha256"), row, strict=True)) for row in rows]

    def meta(self, name: str) -> Any:
        """Return a value of the metadata table, None where there is none."""
        rows = self._fetch("SELECT value FROM meta WHERE name = ?", (name,))
        return json.loads(rows[0][0]) if rows else None

    def rows(self, table: str, rest: str, *values: Any) -> list[tuple[Any, ...]]:
        """Select from a table: `rest` begins with the columns, and ``{}`` stands for the table."""
        self._require(table)
        try:
            return self._fetch(
                "SELECT " + rest.format(table), [key(value) if isinstance(value, str) else value for value in values]
            )
        except sqlite3.DatabaseError as error:
            raise QuadragError(f"{self.path} is damaged ({error}); build it again: quadrag kg build") from None

    def _require(self, table: str) -> None:
        if table not in self.tables:
            files = next((part.files for part in self.parts if part.table == table), (table,))
            raise QuadragError(
                f"{self.path} was built without {' and '.join(files)}; build it again from a folder that holds them"
            )

    def get_named(self, table: str, name: str) -> Any:
        """Return the value of a name in a table that `fill` wrote, None where it is unknown."""
        rows = self.rows(table, "value FROM {} WHERE name = ?", name)
        return json.loads(rows[0][0]) if rows else None

    def get_numbered(self, table: str, number: int) -> Any:
        """Return the value of an id in a table that `fill` wrote, the last of several; None where it is unknown."""
        if not -(2**63) <= number < 2**63:
            return None
        rows = self.rows(table, "value FROM {} WHERE id = ? ORDER BY n DESC LIMIT 1", number)
        return json.loads(rows[0][0]) if rows else None

    def search(self, table: str, query: str) -> list[int]:
        """Return the numbers in the index of `table` of the at most ten names nearest to a query, best first."""
        self._require(table)
        with self._lock:
            if table not in self._searches:
                self._searches[table] = Search(self._db, table)
            return [number for number, _ in self._searches[table].find(query, _TOP)]

    def search_names(self, table: str, query: str) -> list[str]:
        """Return the at most ten names nearest to a query; those with one normal form in the order of the file."""
        names: list[str] = []
        for number in self.search(table, query):
            statement = f"name FROM {table}_name JOIN {{}} USING (n) WHERE number = ? ORDER BY n LIMIT {_TOP}"
            names += (name for (name,) in self.rows(table, statement, number))
            if len(names) >= _TOP:
                break
        return names[:_TOP]
