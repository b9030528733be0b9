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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.paths import cache_dir

Value = dict[str, Any]

HERE = ""  # the service of what runs in this process
_CHUNK = 900  # SQLite builds before 3.32 take at most 999 parameters in one statement
_APPLICATION, _VERSION = 0x51524147, 3  # "QRAG"
_BUSY_SECONDS = 60.0


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
    """Replies by call key; safe for several threads and several processes. What fails is one line, a QuadragError."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """Open a ledger, the user's shared one when None, and make it where there is none."""
        self.path = default_path() if path is None else Path(path)
        self._lock = threading.Lock()
        self._models: set[str] = set()
        with self._guard():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = _open_file(self.path)

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Work alone; what SQLite or the system refuses becomes one line."""
        try:
            with self._lock:
                yield
        except (sqlite3.Error, OSError) as error:
            remedy = "make room there, make it and its folder writable, or name another one with --ledger"
            raise QuadragError(f"the ledger {self.path} cannot be used ({error}); {remedy}; replies are kept") from None

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, Value]:
        """Return the stored values by key; a key that is not stored is absent."""
        wanted = list(keys)
        rows: list[tuple[bytes, str]] = []
        with self._guard():
            for start in range(0, len(wanted), _CHUNK):
                part = wanted[start : start + _CHUNK]
                marks = ",".join("?" * len(part))
                rows.extend(self._db.execute(f"SELECT key, value FROM replies WHERE key IN ({marks})", part))
        try:
            return {key: _read_value(text) for key, text in rows}
        except (KeyError, TypeError, ValueError, RecursionError):
            raise QuadragError(f"the ledger {self.path} holds a row that is no reply; move it away") from None

    def put_many(
        self, rows: Iterable[tuple[bytes, Value]], model: str | None = None, replace: bool = False
    ) -> dict[bytes, Value]:
        """Store replies in one transaction, in the place of stored ones with `replace`; else what is stored stays.

        Returns the values, by key, of rows that another process had stored before: mostly none.
        """
        texts = [(key, json.dumps(value, ensure_ascii=True)) for key, value in rows]
        manner = "REPLACE" if replace else "IGNORE"
        with self._guard(), _transaction(self._db):
            if model is not None and model not in self._models:
                self._db.execute("INSERT OR IGNORE INTO models VALUES (?)", (model,))
            written = self._db.executemany(f"INSERT OR {manner} INTO replies VALUES (?, ?)", texts).rowcount
        if model is not None:
            self._models.add(model)
        if replace or written == len(texts):
            return {}
        stored = self.get_many(key for key, _ in texts)
        return {key: stored[key] for key, text in texts if stored[key] != json.loads(text)}

    def models(self) -> list[str]:
        """Return the requested models that the ledger holds replies of, sorted."""
        with self._guard():
            return [name for (name,) in self._db.execute("SELECT name FROM models ORDER BY name")]

    def __len__(self) -> int:
        with self._guard():
            return int(self._db.execute("SELECT count(*) FROM replies").fetchone()[0])

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

    def takes(self, value: Value, kind_of: Callable[[Value], str | None]) -> bool:
        """Tell whether a kept reply counts, by its time and, where it is from before, by its kind."""
        created = value.get("created", 0.0)
        if created >= self.began:
            return True
        return bool(created >= self.since and not (self.retry and kind_of(value) in self.retry))


class Shelf:
    """The replies in a ledger that count."""

    def __init__(
        self, ledger: Ledger, reuse: Reuse | None = None, kind_of: Callable[[Value], str | None] = lambda _: None
    ) -> None:
        """Take what counts, and what tells the kind of a reply, of `reply.RETRIED`."""
        self.reuse = reuse or Reuse()
        self._ledger, self._kind_of = ledger, kind_of

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, Value]:
        """Look calls up."""
        stored = self._ledger.get_many(keys)
        return {key: value for key, value in stored.items() if self.reuse.takes(value, self._kind_of)}

    def put_many(self, rows: Iterable[tuple[bytes, Value]], model: str | None = None) -> dict[bytes, Value]:
        """Store replies, in the place of old ones where such do not count."""
        return self._ledger.put_many(rows, model, replace=bool(self.reuse.since or self.reuse.retry))


class Batch:
    """Chats, and what is known of each by the keys of their calls; equal chats are one call.

    `times` is how often each call stands in the batch, `stored` the keys whose reply was kept, `missing` the first
    place of each call that is to be made; what comes of them all is entered in `outcomes`.
    """

    def __init__(
        self,
        model: str,
        chats: Sequence[list[dict[str, Any]]],
        parameters: Mapping[str, Any],
        numbers: Sequence[int],
        shelf: Shelf | None,
        service: str = HERE,
    ) -> None:
        """Look every call up; for the arguments see `ChatClient.complete` and `call_key`."""
        self.chats, self.parameters, self.numbers = chats, parameters, numbers
        asked = zip(chats, numbers, strict=True)
        try:
            self.keys = [call_key(model, chat, parameters, number, service) for chat, number in asked]
        except (TypeError, ValueError) as error:
            raise QuadragError(f"the chat messages are no JSON: {error}") from None
        self.times = Counter(self.keys)
        self.outcomes: dict[bytes, Any] = {} if shelf is None else dict(shelf.get_many(self.times))
        self.stored = set(self.outcomes)
        self.missing: dict[bytes, int] = {}
        for place, key in enumerate(self.keys):
            if key not in self.stored:
                self.missing.setdefault(key, place)

    def count(self, keys: Iterable[bytes]) -> int:
        """Return how many chats some calls are."""
        return sum(self.times[key] for key in keys)


def _open_file(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        if db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            _create(path, db)
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version != _VERSION:
            raise QuadragError(f"{path} is a ledger of version {version}, expected {_VERSION}; remove it")
        deadline = time.monotonic() + _BUSY_SECONDS
        while db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            try:
                db.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError:  # another process does the same, and SQLite does not wait for it
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
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
            db.execute("CREATE TABLE replies (key BLOB PRIMARY KEY NOT NULL, value TEXT NOT NULL)")
            db.execute("CREATE TABLE models (name TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID")
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
        if db.in_transaction:  # a full disk makes SQLite roll back by itself
            db.execute("ROLLBACK")
        raise
