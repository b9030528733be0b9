"""The form of a ledger's file: its tables, the sums of its rows, how it is opened and older ones are taken over."""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from quadrag.errors import QuadragError
from quadrag.progress import announce

Value = dict[str, Any]
T = TypeVar("T")

_APPLICATION = 0x51524147  # "QRAG"
_VERSION = 2  # 1 had replies without service and sum
_BUSY_SECONDS = 60.0
# A reply is one of a service; those that no service is known of have an empty one.
UNNAMED = ""
_REPLIES = (
    "CREATE TABLE {} (key BLOB NOT NULL, service TEXT NOT NULL DEFAULT '', value TEXT NOT NULL, sum INTEGER NOT NULL, "
    "PRIMARY KEY (key, service))"
)
_MODELS = "CREATE TABLE models (name TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID"
# What stands in a damaged row need not be of its column's kind.
PUT = (
    "INSERT INTO replies VALUES (?, ?, ?, ?) ON CONFLICT (key, service) DO UPDATE "
    "SET value = excluded.value, sum = excluded.sum "
    "WHERE NOT is_whole(replies.key, replies.service, CAST(replies.value AS BLOB), replies.sum)"
)
_FIELDS = {"text", "reasoning", "finish_reason"}
_decode = json.JSONDecoder().raw_decode


def open_file(path: Path) -> sqlite3.Connection:
    """Open a ledger's file: one that is not there is made, one of an older version taken over in one transaction.

    Raises:
        QuadragError: it is something else, or of a later version.
        sqlite3.Error: it cannot be opened.
    """
    db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    db.text_factory = bytes  # what is damaged may be no UTF-8
    try:
        db.create_function("row_sum", 3, row_sum, deterministic=True)
        db.create_function("is_whole", 4, lambda *row: read_row(*row) is not None, deterministic=True)
        if db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            _create(path, db)
        if db.execute("PRAGMA user_version").fetchone()[0] == 1:
            _upgrade(path, db)
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version != _VERSION:
            raise QuadragError(
                f"{path} is a ledger of version {version}, expected {_VERSION}; "
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


def _create(path: Path, db: sqlite3.Connection) -> None:
    # A foreign database must stay untouched, so the tables are looked at before anything is written; under the
    # write lock, since another process may be making the same ledger.
    with transaction(db):
        if db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise QuadragError(f"{path} is an SQLite file, but not a quadrag ledger; name another file")
            for statement in (_REPLIES.format("replies"), _MODELS):
                db.execute(statement)
            db.execute(f"PRAGMA user_version={_VERSION}")
            db.execute(f"PRAGMA application_id={_APPLICATION}")


def _upgrade(path: Path, db: sqlite3.Connection) -> None:
    """Take a ledger of version 1 over as a whole; its rows get their sums."""
    with announce(f"bringing the ledger {path} into its new form"), transaction(db):
        if db.execute("PRAGMA user_version").fetchone()[0] == 1:  # else another process has done it meanwhile
            db.execute(_REPLIES.format("taken"))
            total = "row_sum(key, '', CAST(value AS BLOB))"  # damage shows by the value's form alone
            whole = "typeof(key) = 'blob' AND value IS NOT NULL"  # no other row could be found
            db.execute(f"INSERT INTO taken SELECT key, '', value, {total} FROM replies WHERE {whole}")
            db.execute("DROP TABLE replies")
            db.execute("ALTER TABLE taken RENAME TO replies")
            db.execute(f"PRAGMA user_version={_VERSION}")


def row_sum(key: bytes, service: str, text: bytes) -> int:
    """Return the sum of a row, a CRC-32: it finds damage, and costs a tenth of reading the row."""
    return zlib.crc32(text, zlib.crc32(key + service.encode()))


def read_row(key: Any, service: Any, text: Any, total: Any) -> Value | None:
    """Read a row's value; None where the row is damaged."""
    try:
        if total != row_sum(key, service, text):
            return None
        # Not json.loads, which takes as long again to look for blanks around the value.
        value, end = _decode(text.decode())
        return value if end == len(text) and _is_value(value) else None
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def _is_value(value: Any) -> bool:
    """Whether a value is a reply with what is asked of one wherever it is read; a service's is kept as it came."""
    usage = value["usage"]
    return (
        type(value["latency"]) in (float, int)
        and (usage is None or type(usage) is dict)
        and ("reply" in value or (type(value["text"]) is str and value.keys() >= _FIELDS))
    )


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
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
