"""The ledger: every reply a chat model gave, so that none is asked for twice.

One SQLite file in WAL mode; a row is the sha256 of the call and the reply as JSON. A commit survives the death of the
process (``synchronous=NORMAL``: a power cut may lose the last commits, never the file). Failures are not stored. Two
runs at once may ask the same question while both are in flight: the first reply stays.

A service is where a model answers: its base URL, less what is secret, or the name that the user gives it; "" is this
machine. One model's name at two services is two models as far as anybody knows, so the service is a part of the key.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from quadrag.errors import QuadragError
from quadrag.paths import cache_dir

T = TypeVar("T")
Value = dict[str, Any]

HERE = ""  # the service of what runs in this process
_CHUNK = 900  # SQLite builds before 3.32 take at most 999 parameters in one statement
_APPLICATION = 0x51524147  # "QRAG"
_VERSION = 3
_BUSY_SECONDS = 60.0
_TABLES = (
    "CREATE TABLE replies (key BLOB PRIMARY KEY NOT NULL, value TEXT NOT NULL)",
    "CREATE TABLE models (name TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID",
)


def canonical(value: Any) -> bytes:
    """Return the one JSON spelling of a value: sorted keys, no blanks, UTF-8 (lone surrogates kept apart)."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def call_key(
    model: str,
    messages: Sequence[Mapping[str, Any]],
    parameters: Mapping[str, Any],
    sample: int = 0,
    service: str = HERE,
) -> bytes:
    """Return a call's key: the sha256 (32 bytes) of the canonical JSON of all that it is sent with."""
    return hashlib.sha256(canonical([service, model, messages, parameters, sample])).digest()


def default_path() -> Path:
    """Return the path of the user's shared ledger, in quadrag's cache folder."""
    return cache_dir() / "ledger.sqlite"


class Ledger:
    """Replies by call key; safe for several threads and several processes."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """Open a ledger, the user's shared one when None, and make it where there is none."""
        self.path = default_path() if path is None else Path(path)
        self._lock = threading.Lock()
        self._models: set[str] = set()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise QuadragError(f"the ledger's folder {self.path.parent} cannot be made: {error.strerror}") from None
        self._db = self._guard(lambda: _open_file(self.path))

    def _guard(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except sqlite3.Error as error:
            raise QuadragError(f"the ledger {self.path} cannot be used ({error}); {self._remedy(str(error))}") from None

    def _remedy(self, problem: str) -> str:
        """Say what to do, first of all where the replies in the file are as good as ever."""
        if "full" in problem or "disk I/O" in problem:
            return f"free room in {self.path.absolute().parent} and run again, its replies are kept"
        if "locked" in problem:
            return "another process keeps it busy: wait for that and run again"
        if "readonly" in problem or "unable to open" in problem:
            return "make it and its folder writable, or name another one with --ledger"
        return "expected a file that quadrag wrote: name another one, or move this one away"

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, Value]:
        """Return the stored values by key; a key that is not stored is absent."""
        wanted = list(keys)
        rows: list[tuple[bytes, str]] = []

        def read() -> None:
            for start in range(0, len(wanted), _CHUNK):
                part = wanted[start : start + _CHUNK]
                marks = ",".join("?" * len(part))
                rows.extend(self._db.execute(f"SELECT key, value FROM replies WHERE key IN ({marks})", part))

        with self._lock:
            self._guard(read)
        try:
            return {key: _read_value(text) for key, text in rows}
        except (KeyError, TypeError, ValueError, RecursionError):
            raise QuadragError(f"the ledger {self.path} holds a row that is no reply; move it away") from None

    def put_many(
        self, rows: Iterable[tuple[bytes, Value]], model: str | None = None, renewed: Collection[bytes] = ()
    ) -> dict[bytes, Value]:
        """Store replies in one transaction; what is stored already stays, but for the keys `renewed`.

        Returns:
            The values, by key, of rows that another process had stored before: mostly none.

        Raises:
            QuadragError: the file cannot be written; then no row of these is stored.
        """
        texts = [(key, json.dumps(value, ensure_ascii=True)) for key, value in rows]

        def write() -> int:
            with _transaction(self._db):
                if model is not None and model not in self._models:
                    self._db.execute("INSERT OR IGNORE INTO models VALUES (?)", (model,))
                for key in renewed:
                    self._db.execute("DELETE FROM replies WHERE key = ?", (key,))
                return self._db.executemany("INSERT OR IGNORE INTO replies VALUES (?, ?)", texts).rowcount

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
        with self._lock:
            return int(self._guard(lambda: self._db.execute("SELECT count(*) FROM replies").fetchone()[0]))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(slots=True)
class Reuse:
    """Which kept replies the models of a session take."""

    # Kinds of replies, of `reply.RETRIED`, that are asked for again where they were made before `began`.
    retry: frozenset[str] = frozenset()
    since: float = 0.0  # Unix time; older ones count for nothing
    began: float = field(default_factory=time.time)  # Unix time of the command's beginning

    @contextmanager
    def renewing(self) -> Iterator[None]:
        """Take no reply from before the session while the block runs."""
        since, self.since = self.since, self.began
        try:
            yield
        finally:
            self.since = since


class Shelf:
    """The replies in a ledger that count, and which of them were taken; errors are those of `Ledger`."""

    def __init__(
        self, ledger: Ledger, reuse: Reuse | None = None, kind_of: Callable[[Value], str | None] | None = None
    ) -> None:
        """Take what counts, and what tells the kind of a reply, of `reply.RETRIED`."""
        self.ledger = ledger
        self.taken: dict[bytes, float | None] = {}  # keys of the replies that were taken, and their Unix times
        self._reuse = reuse or Reuse()
        self._kind_of = kind_of
        self._renewed: set[bytes] = set()  # found, and to be replaced

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, Value]:
        """Look calls up."""
        found = self.ledger.get_many(keys)
        if self._reuse.since or self._reuse.retry:
            old = {key for key, value in found.items() if not self._takes(value)}
            self._renewed |= old
            found = {key: value for key, value in found.items() if key not in old}
            for key in old:
                self.taken.pop(key, None)
        self.taken.update((key, value.get("created")) for key, value in found.items())
        return found

    @property
    def oldest(self) -> float | None:
        """Unix time of the oldest reply that was taken."""
        return min((created for created in self.taken.values() if created is not None), default=None)

    def find_earlier(self) -> set[bytes]:
        """Return the keys of the taken replies that are from before the command."""
        return {key for key, created in self.taken.items() if (created or 0.0) < self._reuse.began}

    def put_many(self, rows: Iterable[tuple[bytes, Value]], model: str | None = None) -> dict[bytes, Value]:
        """Store replies; one that was asked for again takes the old one's place."""
        given = list(rows)
        renewed = {key for key, _ in given} & self._renewed
        stored = self.ledger.put_many(given, model, renewed)
        self._renewed -= renewed
        return stored

    def _takes(self, value: Value) -> bool:
        created = value.get("created", 0.0)
        if created >= self._reuse.began:
            return True
        kinds = self._reuse.retry
        return created >= self._reuse.since and not (kinds and self._kind_of and self._kind_of(value) in kinds)


def _open_file(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        if db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            _create(path, db)
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version != _VERSION:
            raise QuadragError(f"{path} is a ledger of version {version}, expected {_VERSION}; remove it")
        _wait_for_lock(lambda: db.execute("PRAGMA journal_mode=WAL").fetchone())
        db.execute("PRAGMA synchronous=NORMAL")
        # Moving the log into the file waits for the disk; 32 MB of log make that rare.
        db.execute("PRAGMA wal_autocheckpoint=8000")
        db.execute("SELECT key, value FROM replies LIMIT 1").fetchone()
    except BaseException:
        db.close()
        raise
    return db


def _create(path: Path, db: sqlite3.Connection) -> None:
    # A foreign database must stay untouched, so the tables are looked at before anything is written; under the
    # write lock, since another process may be making the same ledger.
    with _transaction(db):
        if db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise QuadragError(f"{path} is an SQLite file, but not a quadrag ledger; name another file")
            for statement in _TABLES:
                db.execute(statement)
            db.execute(f"PRAGMA user_version={_VERSION}")
            db.execute(f"PRAGMA application_id={_APPLICATION}")


def _read_value(text: str) -> Value:
    """Read a row's value: a reply with what is asked of one wherever it is read, of a service as it came."""
    value: Value = json.loads(text)
    usage, known = value["usage"], "reply" in value or (type(value["text"]) is str and "finish_reason" in value)
    if not known or type(value["latency"]) not in (float, int) or not (usage is None or type(usage) is dict):
        raise TypeError
    return value


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Do what follows as a whole or not at all, with the right to write from its beginning."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        # A full disk makes SQLite roll back by itself.
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


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
