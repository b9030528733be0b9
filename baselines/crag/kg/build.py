"""`quadrag kg build`: the upstream files of CRAG's mock knowledge graph turned into one SQLite file.

Memory is mostly that of the largest pickle's content. The same files give the same bytes.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from quadrag import __version__
from quadrag.errors import QuadragError
from quadrag.scratch import scratch

from . import sources
from .graph import PARTS
from .store import APPLICATION, VERSION, dump

DOMAINS = ("finance", "movie", "music", "open", "sports")
_UPSTREAM = ("", "mock_api/cragkg", "cragkg")  # where below a checkout they lie
_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE source (file TEXT PRIMARY KEY, size INTEGER, sha256 TEXT) WITHOUT ROWID;
"""


class Step(NamedTuple):
    """Where a build stands: the file being read, rows of it so far, bytes of the files done, bytes of all files."""

    file: str
    rows: int
    done: int
    total: int


class Built(NamedTuple):
    """What a build made: the file, rows by table, and the upstream files that were not there."""

    path: Path
    rows: dict[str, int]
    lacking: list[str]


def build(src: str | Path, target: str | Path, progress: Callable[[Step], None] | None = None) -> Built:
    """Build the graph of a folder with upstream's five, or of an upstream checkout; a graph at `target` is replaced.

    Raises QuadragError where none of the files is there, one is damaged or refused, or the target cannot be written or
    is another file; nothing is left behind then.
    """
    root, target = _root(Path(src).expanduser()), Path(target).expanduser()
    names = dict.fromkeys(name for part in PARTS for name in part.files)
    sizes = {name: (root / name).stat().st_size for name in names if (root / name).is_file()}
    if not sizes:
        raise QuadragError(f"{str(src)!r} holds no file of the knowledge graph; expected, for one, {next(iter(names))}")
    _check_target(target)
    for name in sizes:
        sources.check(root / name)
    try:
        with scratch(target) as aside:
            rows = _write(root, sizes, aside, progress or (lambda step: None))
            with aside.open("rb+") as stream:
                os.fsync(stream.fileno())
            aside.replace(target)
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise QuadragError(
            f"cannot write {target} ({why}); make room there, or name another file, or cache by QUADRAG_CACHE"
        ) from None
    return Built(target, rows, [name for name in names if name not in sizes])


def _root(src: Path) -> Path:
    for below in _UPSTREAM:
        if any((src / below / domain).is_dir() for domain in DOMAINS):
            return src / below
    raise QuadragError(
        f"{str(src)!r} holds none of the folders {', '.join(DOMAINS)}; expected mock_api/cragkg of an upstream checkout"
    )


def _check_target(target: Path) -> None:
    if not target.exists():
        return
    try:
        with closing(sqlite3.connect(f"{target.resolve().as_uri()}?mode=ro", uri=True)) as db:
            ours = db.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
    except sqlite3.Error:
        ours = False
    if not ours:
        raise QuadragError(f"{target} is there and no knowledge graph; name another file, or move it away")


def _write(root: Path, sizes: dict[str, int], aside: Path, progress: Callable[[Step], None]) -> dict[str, int]:
    done, total, rows, met = 0, sum(sizes.values()), {}, set()
    with closing(sqlite3.connect(aside.resolve().as_uri(), uri=True)) as db:
        # Nothing of the file is of use before it is whole, so it needs neither journal nor locks.
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE", "cache_size = -65536"):
            db.execute(f"PRAGMA {pragma}")
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.executescript(_SCHEMA)
        db.execute("INSERT INTO meta VALUES ('quadrag', ?)", (dump(__version__),))
        for part in PARTS:
            there = [name for name in part.files if name in sizes]
            if not there:
                continue
            for name in there:
                progress(Step(name, 0, done, total))
                if name not in met:
                    db.execute("INSERT INTO source VALUES (?, ?, ?)", (name, sizes[name], sources.digest(root / name)))
            try:
                part.load(db, [root / name for name in there], partial(_tell, progress, there[-1], done, total))
            except (
                sqlite3.DatabaseError,
                ArithmeticError,
                AttributeError,
                LookupError,
                TypeError,
                ValueError,
            ) as error:
                problem = " ".join(f"{type(error).__name__}: {error}".split())
                if isinstance(error, sqlite3.OperationalError) and ("full" in problem or "disk I/O" in problem):
                    raise
                raise QuadragError(
                    f"{' and '.join(there)} cannot be read ({problem}); expected upstream's layout: get it again"
                ) from error
            db.commit()
            rows[part.table] = db.execute(f"SELECT count(*) FROM {part.table}").fetchone()[0]
            done += sum(sizes[name] for name in there if name not in met)
            met.update(there)
        progress(Step("", 0, total, total))
    return rows


def _tell(progress: Callable[[Step], None], file: str, done: int, total: int, rows: int) -> None:
    progress(Step(file, rows, done, total))
