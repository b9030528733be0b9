"""The ledger: every reply a chat model gave, so that none is asked for twice.

One SQLite file in WAL mode; a row is the sha256 of the call and the reply as JSON. A commit survives the death of
the process (``synchronous=NORMAL``: a power cut may lose the last commits, never the file). Failures are not
stored. It knows nothing of networks and holds no key.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from quadrag.errors import QuadragError
from quadrag.paths import cache_dir

Value = dict[str, Any]
T = TypeVar("T")

_APPLICATION = 0x51524147  # "QRAG"
_VERSION = 1
_BUSY_SECONDS = 60.0
# SQLite builds before 3.32 take at most 999 parameters in one statement.
_CHUNK = 900
_SCHEMA = """
CREATE TABLE replies (key BLOB PRIMARY KEY NOT NULL, value TEXT NOT NULL);
CREATE TABLE models (name TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID;
"""


def canonical(value: Any) -> bytes:
    """Return the one JSON spelling of a value: sorted keys, no blanks, UTF-8 (lone surrogates kept apart)."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def call_key(
    model: str, messages: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any], sample: int = 0
) -> bytes:
    """Return a call's key.

    Args:
        model: the model as requested.
        messages: the chat messages.
        parameters: temperature, max_tokens and so on, as sent.
        sample: number of the sample, from 0.

    Returns:
        The sha256 (32 bytes) of the canonical JSON of the four.
    """
    return hashlib.sha256(canonical([model, messages, parameters, sample])).digest()


def default_path() -> Path:
    """Return the path of the user's shared ledger, in quadrag's cache folder."""
    return cache_dir() / "ledger.sqlite"


class Ledger:
    """Replies by call key; safe for several threads and several processes."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """Open a ledger, and make it where there is none.

        Args:
            path: the file; the user's shared ledger when None.

        Raises:
            QuadragError: the file is damaged, is something else, or cannot be opened.
        """
        self.path = default_path() if path is None else Path(path)
        self._lock = threading.Lock()
        self._models: set[str] = set()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise QuadragError(f"the ledger's folder {self.path.parent} cannot be made: {error.strerror}") from None
        self._db = self._guard(self._open)

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            if db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
                self._create(db)
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version != _VERSION:
                raise QuadragError(
                    f"{self.path} is a ledger of version {version}, expected {_VERSION}; "
                    "name another file or use the quadrag that wrote it"
                )
            _wait_for_lock(lambda: db.execute("PRAGMA journal_mode=WAL").fetchone())
            db.execute("PRAGMA synchronous=NORMAL")
            # Moving the log into the file waits for the disk; 32 MB of log make that rare.
            db.execute("PRAGMA wal_autocheckpoint=8000")
            db.execute("SELECT key, value FROM replies LIMIT 1").fetchone()
        except BaseException:
            db.close()
            raise
        return db

    def _create(self, db: sqlite3.Connection) -> None:
        # A foreign database must stay untouched, so the tables are looked at before anything is written; under the
        # write lock, since another process may be making the same ledger.
        db.execute("BEGIN IMMEDIATE")
        try:
            if db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
                if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise QuadragError(f"{self.path} is an SQLite file, but not a quadrag ledger; name another file")
                for statement in _SCHEMA.strip().splitlines():
                    db.execute(statement)
                db.execute(f"PRAGMA user_version={_VERSION}")
                db.execute(f"PRAGMA application_id={_APPLICATION}")
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise

    def _guard(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except sqlite3.Error as error:
            raise QuadragError(
                f"the ledger {self.path} cannot be used ({error}); expected a file that quadrag wrote: "
                "name another one, or move this one away"
            ) from None

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, Value]:
        """Look calls up.

        Args:
            keys: call keys, as `call_key` makes them.

        Returns:
            The stored values by key; a key that is not stored is absent.

        Raises:
            QuadragError: the file is damaged.
        """
        wanted = list(keys)
        found: dict[bytes, Value] = {}

        def read() -> None:
            for start in range(0, len(wanted), _CHUNK):
                part = wanted[start : start + _CHUNK]
                marks = ",".join("?" * len(part))
                query = f"SELECT key, value FROM replies WHERE key IN ({marks})"
                for key, value in self._db.execute(query, part):
                    try:
                        found[key] = json.loads(value)
                    except ValueError:
                        raise QuadragError(f"the ledger {self.path} holds a damaged row; move the file away") from None

        with self._lock:
            self._guard(read)
        return found

    def put_many(self, rows: Iterable[tuple[bytes, Value]], model: str | None = None) -> dict[bytes, Value]:
        """Store replies in one transaction; what is stored already stays.

        Args:
            rows: pairs of key and value; values are JSON objects.
            model: the model as requested, kept so that a replay can tell it.

        Returns:
            The values, by key, of rows that another process had stored before: mostly none.

        Raises:
            QuadragError: the file cannot be written; then no row of these is stored.
        """
        texts = [(key, json.dumps(value, ensure_ascii=True)) for key, value in rows]

        def write() -> int:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                if model is not None and model not in self._models:
                    self._db.execute("INSERT OR IGNORE INTO models VALUES (?)", (model,))
                cursor = self._db.executemany("INSERT OR IGNORE INTO replies VALUES (?, ?)", texts)
                self._db.execute("COMMIT")
            except BaseException:
                # A full disk makes SQLite roll back by itself.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            return cursor.rowcount

        with self._lock:
            written = self._guard(write)
        if model is not None:
            self._models.add(model)
        if written == len(texts):
            return {}
        stored = self.get_many(key for key, _ in texts)
        return {key: stored[key] for key, text in texts if stored[key] != json.loads(text)}

    def models(self) -> list[str]:
        """Return the requested models that the ledger holds replies of, sorted."""
        with self._lock:
            rows = self._guard(lambda: self._db.execute("SELECT name FROM models ORDER BY name").fetchall())
        return [row[0] for row in rows]

    def __len__(self) -> int:
        """Return the number of replies."""
        with self._lock:
            return int(self._guard(lambda: self._db.execute("SELECT count(*) FROM replies").fetchone()[0]))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> Ledger:
        """Return the ledger itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()


def _wait_for_lock(work: Callable[[], T]) -> T:
    # SQLite does not call its busy handler when the journal mode changes under another process.
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
