"""The ledger: every reply a chat model gave, so that none is asked for twice.

One SQLite file in WAL mode; a row is the sha256 of the call and the reply as JSON. A commit survives the death of the
process (``synchronous=NORMAL``: a power cut may lose the last commits, never the file). Failures are not stored. Two
runs at once may ask the same question while both are in flight: the first reply stays. A service is where a model
answers: its base URL, less what is secret, or the name that the user gives it; "" is this machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.paths import cache_dir

from .reply import CUT, EMPTY, Reply, read_row

_APPLICATION = 0x51524105  # "QRA" and the version of the table
_BUSY_SECONDS = 60.0
_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode


def canonical(value: Any) -> bytes:
    """Return the one JSON spelling of a value: sorted keys, no blanks, UTF-8 (lone surrogates kept apart)."""
    return _encode(value).encode("utf-8", "surrogatepass")


def call_key(
    model: str, messages: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any], sample: int = 0, service: str = ""
) -> bytes:
    """Return a call's key: the sha256 (32 bytes) of the canonical JSON of all that it is sent with."""
    return hashlib.sha256(canonical([service, model, messages, parameters, sample])).digest()


class Ledger:
    """Replies by call key; safe for several threads and several processes. What fails is one line, a QuadragError.

    Attributes:
        retry: kinds of replies, ``cut`` and ``empty``, that count for nothing where they were made before `began`.
        since: Unix time; what is older counts for nothing.
        began: Unix time of the command's beginning.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        retry: Iterable[str] = (),
        since: float = 0.0,
        began: float | None = None,
    ) -> None:
        self.path = cache_dir() / "ledger.sqlite" if path is None else Path(path)
        self.retry, self.since = frozenset(retry), since
        self.began = time.time() if began is None else began
        self._lock = threading.Lock()
        with self._guard():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = _open_file(self.path)

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            with self._lock:
                yield
        except (sqlite3.Error, OSError) as error:
            remedy = "make room there, make it and its folder writable, or name another one with --ledger"
            raise QuadragError(f"the ledger {self.path} cannot be used ({error}); {remedy}; replies are kept") from None

    def get_many(self, keys: Iterable[bytes]) -> dict[bytes, Reply]:
        select = "SELECT value FROM replies WHERE key = ?"
        with self._guard():
            rows = {key: self._db.execute(select, (key,)).fetchone() for key in keys}
        try:
            replies = {key: read_row(json.loads(row[0])) for key, row in rows.items() if row is not None}
        except (TypeError, ValueError, RecursionError):
            raise QuadragError(f"the ledger {self.path} holds a row that is no reply; move it away") from None
        return {key: reply for key, reply in replies.items() if self._counts(reply)}

    def put_many(self, replies: Iterable[tuple[bytes, Reply]]) -> dict[bytes, Reply]:
        """Store replies in one transaction; what is stored stays, unless such may not count.

        Returns what is stored where another process had stored any of them before, else nothing.
        """
        texts = [(key, json.dumps(reply.row())) for key, reply in replies]
        replace = bool(self.since or self.retry)
        with self._guard(), self._db:
            manner = "REPLACE" if replace else "IGNORE"
            written = self._db.executemany(f"INSERT OR {manner} INTO replies VALUES (?, ?)", texts).rowcount
        return {} if replace or written == len(texts) else self.get_many(key for key, _ in texts)

    @contextmanager
    def renewing(self) -> Iterator[None]:
        """Take no reply from before the command while the block runs."""
        since, self.since = self.since, self.began
        try:
            yield
        finally:
            self.since = since

    def _counts(self, reply: Reply) -> bool:
        kind = CUT if reply.finish_reason == "length" else "" if reply.text.strip() else EMPTY
        return reply.created >= self.began or (reply.created >= self.since and kind not in self.retry)

    def __len__(self) -> int:
        with self._guard():
            return int(self._db.execute("SELECT count(*) FROM replies").fetchone()[0])

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open_file(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level="IMMEDIATE", check_same_thread=False)
    try:
        # A foreign database must stay untouched. Another process may be making this one: it gives it its number first.
        used = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if used and db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise QuadragError(f"{path} is an SQLite file, but no ledger of this version; name another file")
        deadline = time.monotonic() + _BUSY_SECONDS
        while db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            try:
                db.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError:  # another process does the same, and SQLite does not wait for it
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        # Moving the log into the file waits for the disk; 32 MB of log make that rare.
        for setting in ("synchronous=NORMAL", "wal_autocheckpoint=8000"):
            db.execute(f"PRAGMA {setting}")
        if not used:
            db.execute(f"PRAGMA application_id={_APPLICATION}")
            db.execute("CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY NOT NULL, value TEXT NOT NULL)")
    except BaseException:
        db.close()
        raise
    return db
