"""The ledger: every reply a chat model gave, so that none is asked for twice.

One SQLite file in WAL mode; a row is the sha256 of the call, the reply as JSON, and a sum of both by which a damaged
row is known: it counts as not there, and the next reply takes its place. A commit survives the death of the process
(``synchronous=NORMAL``: a power cut may lose the last commits, never the file). Failures are not stored. Two runs at
once may ask the same question while both are in flight: the first reply stays. It knows nothing of networks and holds
no key.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from quadrag.chat.ledger.file import PUT, UNNAMED, Value, open_file, read_row, row_sum, transaction
from quadrag.errors import QuadragError
from quadrag.paths import cache_dir
from quadrag.progress import remark

T = TypeVar("T")

# SQLite builds before 3.32 take at most 999 parameters in one statement.
_CHUNK = 900


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
        self.damaged: set[bytes] = set()  # keys of damaged rows that were asked for
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise QuadragError(f"the ledger's folder {self.path.parent} cannot be made: {error.strerror}") from None
        self._db = self._guard(lambda: open_file(self.path))

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

    def get_many(self, keys: Iterable[bytes], service: str = UNNAMED) -> dict[bytes, Value]:
        """Look calls up.

        Returns:
            The stored values by key; a key that is not stored is absent. So is one of a damaged row, which `damaged`
            then holds and a line on stderr tells of.

        Raises:
            QuadragError: the file is damaged as a whole.
        """
        wanted = list(keys)
        found: dict[bytes, Value] = {}
        damaged: set[bytes] = set()

        def read() -> None:
            for start in range(0, len(wanted), _CHUNK):
                part = wanted[start : start + _CHUNK]
                marks = ",".join("?" * len(part))
                query = f"SELECT key, value, sum FROM replies WHERE key IN ({marks}) AND service = ?"
                for key, text, total in self._db.execute(query, (*part, service)):
                    value = read_row(key, service, text, total)
                    if value is None:
                        damaged.add(key)
                    else:
                        found[key] = value

        with self._lock:
            self._guard(read)
        if new := damaged - self.damaged:
            remark(
                f"damaged rows in the ledger {self.path}: {len(new)}, which are not used; what stood there is "
                "asked again, and fails under --replay"
            )
            self.damaged |= new
        return found

    def put_many(
        self,
        rows: Iterable[tuple[bytes, Value]],
        model: str | None = None,
        service: str = UNNAMED,
        renewed: Collection[bytes] = (),
    ) -> dict[bytes, Value]:
        """Store replies in one transaction; what is stored already stays, unless it is damaged.

        Args:
            rows: pairs of key and value; values are JSON objects.
            model: the model as requested, kept so that a replay can tell it.
            service: the one that replied.
            renewed: keys whose stored value makes room for the new one.

        Returns:
            The values, by key, of rows that another process had stored before: mostly none.

        Raises:
            QuadragError: the file cannot be written; then no row of these is stored.
        """
        texts = [(key, json.dumps(value, ensure_ascii=True)) for key, value in rows]
        entries = [(key, service, text, row_sum(key, service, text.encode())) for key, text in texts]

        def write() -> int:
            with transaction(self._db):
                if model is not None and model not in self._models:
                    self._db.execute("INSERT OR IGNORE INTO models VALUES (?)", (model,))
                for key in renewed:
                    self._db.execute("DELETE FROM replies WHERE key = ? AND service = ?", (key, service))
                return self._db.executemany(PUT, entries).rowcount

        with self._lock:
            written = self._guard(write)
        if model is not None:
            self._models.add(model)
        if self.damaged:
            self.damaged.difference_update(key for key, _ in texts)
        if written == len(texts):
            return {}
        stored = self.get_many((key for key, _ in texts), service)
        return {key: stored[key] for key, text in texts if key in stored and stored[key] != json.loads(text)}

    def models(self) -> list[str]:
        """Return the requested models that the ledger holds replies of, sorted."""
        with self._lock:
            rows = self._guard(lambda: self._db.execute("SELECT name FROM models ORDER BY name").fetchall())
        return [row[0].decode("utf-8", "replace") for row in rows]

    def services(self, keys: Collection[bytes]) -> dict[str, int]:
        """Return which services the ledger holds replies of to some of these calls, and of how many each.

        Raises:
            QuadragError: the file is damaged as a whole.
        """
        wanted, found = list(keys), Counter[str]()

        def read() -> None:
            for start in range(0, len(wanted), _CHUNK):
                part = wanted[start : start + _CHUNK]
                marks = ",".join("?" * len(part))
                query = f"SELECT service, count(*) FROM replies WHERE key IN ({marks}) GROUP BY service"
                for service, count in self._db.execute(query, part):
                    found[service.decode("utf-8", "replace")] += count

        with self._lock:
            self._guard(read)
        return dict(found)

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
