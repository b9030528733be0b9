"""`quadrag kg build`: the upstream files of CRAG's mock knowledge graph turned into one SQLite file.

Memory is mostly that of the largest pickle's content. The same files give the same bytes.
"""

import hashlib
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from quadrag import __version__
from quadrag.errors import QuadragError, one_line
from quadrag.records import scratch

from .graph import PARTS
from .store import APPLICATION, VERSION, Part, dump

DOMAINS = ("finance", "movie", "music", "open", "sports")
_UPSTREAM = ("", "mock_api/cragkg", "cragkg")  # where below a checkout they lie
_SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE source (file TEXT PRIMARY KEY, size INTEGER, sha256 TEXT) WITHOUT ROWID;
"""
# Whatever a file raises that is damaged, laid out otherwise, or no data.
_DAMAGE = (
    *(sqlite3.Error, ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, OSError),
    *(RecursionError, TypeError, ValueError),
)


class Built(NamedTuple):
    """What a build made: the file, rows by table, and the upstream files that were not there."""

    path: Path
    rows: dict[str, int]
    lacking: list[str]


def build(
    src: str | Path, target: str | Path, progress: Callable[[int, int], None] = lambda done, total: None
) -> Built:
    """Build the graph of a folder with upstream's five, or of an upstream checkout; a graph at `target` is replaced.

    `progress` is told the bytes of the files done, and of all. Raises QuadragError where none of the files is there,
    one is damaged or refused, or the target cannot be written or is another file; nothing is left behind then.
    """
    target = Path(target).expanduser()
    below = [Path(src).expanduser() / part for part in _UPSTREAM]
    root = next((folder for folder in below if any((folder / domain).is_dir() for domain in DOMAINS)), below[0])
    names = dict.fromkeys(name for part in PARTS for name in part.files)
    sizes = {name: (root / name).stat().st_size for name in names if (root / name).is_file()}
    if not sizes:
        raise QuadragError(
            f"{str(src)!r} holds no file of the knowledge graph; expected mock_api/cragkg of an upstream checkout, "
            f"with {next(iter(names))} for one"
        )
    _check_target(target)
    try:
        with scratch(target) as aside:
            rows = _write(root, sizes, aside, progress)
            with aside.open("rb+") as stream:
                os.fsync(stream.fileno())
            aside.replace(target)
    except (OSError, sqlite3.Error) as error:
        problem = getattr(error, "strerror", None) or error
        raise QuadragError(
            f"cannot write {target} ({problem}); make room there, or name another file, or for the sample's another"
            " folder in QUADRAG_CACHE"
        ) from None
    return Built(target, rows, [name for name in names if name not in sizes])


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


def _write(root: Path, sizes: dict[str, int], aside: Path, progress: Callable[[int, int], None]) -> dict[str, int]:
    rows: dict[str, int] = {}
    recorded: set[str] = set()
    with closing(sqlite3.connect(aside.resolve().as_uri(), uri=True)) as db:
        # Nothing of the file is of use before it is whole, so it needs neither journal nor locks.
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE", "cache_size = -65536"):
            db.execute(f"PRAGMA {pragma}")
        db.execute("PRAGMA trusted_schema = OFF")
        db.executescript(_SCHEMA)
        db.execute("INSERT INTO meta VALUES ('quadrag', ?)", (dump(__version__),))
        for part in PARTS:
            there = [name for name in part.files if name in sizes]
            progress(sum(sizes[name] for name in recorded), sum(sizes.values()))
            if not there:
                continue
            for name in (name for name in there if name not in recorded):
                db.execute("INSERT INTO source VALUES (?, ?, ?)", (name, sizes[name], _digest(root / name)))
            _load(db, part, [root / name for name in there])
            rows[part.table] = db.execute(f"SELECT count(*) FROM {part.table}").fetchone()[0]
            recorded.update(there)
    return rows


def _digest(path: Path) -> str:
    """Return the sha256 of a file; QuadragError where Git LFS left a pointer for it."""
    with path.open("rb") as stream:
        if stream.read(40).startswith(b"version https://git-lfs.github.com/spec"):
            raise QuadragError(f"{path} is a Git LFS pointer; run `git lfs pull` in the upstream checkout")
        stream.seek(0)
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _load(db: sqlite3.Connection, part: Part, paths: list[Path]) -> None:
    try:
        part.load(db, paths)
    except _DAMAGE as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise  # of the file that is written
        names = " and ".join(map(str, paths))
        problem = one_line(f"{type(error).__name__}: {error}", 300)
        raise QuadragError(
            f"{names} cannot be read ({problem}); get it again from upstream, and from nowhere else"
        ) from None
    db.commit()
