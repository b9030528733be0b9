"""`quadrag kg build`: the upstream files of CRAG's mock knowledge graph turned into one SQLite file.

Values are JSON text. The same files give the same bytes. Memory is mostly that of the largest pickle's content.
"""

import bz2
import csv
import hashlib
import json
import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from quadrag import __version__
from quadrag.errors import QuadragError, one_line
from quadrag.records import scratch

from . import restricted_pickle
from .search import Ties, Variant, normalise, write

APPLICATION = 0x51524B47  # "QRKG"
VERSION = 1
_UPSTREAM = ("", "mock_api/cragkg", "cragkg")  # where below a checkout the files lie
_SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE source (file TEXT PRIMARY KEY, size INTEGER, sha256 TEXT) WITHOUT ROWID;
"""
_LEVELS = ("league", "season", "team", "game")
_NAMED = "name UNIQUE NOT NULL, id INTEGER, value TEXT"  # the columns of most tables
Load = Callable[[sqlite3.Connection, str, list[Path]], None]


class Part(NamedTuple):
    """A main table, the upstream files that it is made of (any of them will do), and what makes it of those."""

    table: str
    files: tuple[str, ...]
    load: Load


# --- tables in general ------------------------------------------------------------------------------------------------


def key(text: str) -> str:
    """Return a name as SQLite can keep it: half of a surrogate pair is ``?``."""
    return text.encode("utf-8", "replace").decode()


def dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def round_float(value: Any) -> Any:
    """Round as pandas' `to_json`, which knows no infinity."""
    if isinstance(value, float):
        return round(value, 10) if math.isfinite(value) else None
    return value


def _fill(db: sqlite3.Connection, table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
    """Make a table of rows, numbered from 0; of a repeated name the last value has the first's place."""
    db.execute(f"CREATE TABLE {table} (n INTEGER PRIMARY KEY, {columns})")
    marks = ", ".join("?" for _ in columns.split(","))
    repeated = "ON CONFLICT (name) DO UPDATE SET id = excluded.id, value = excluded.value" if columns == _NAMED else ""
    statement = f"INSERT INTO {table} VALUES ((SELECT ifnull(max(n) + 1, 0) FROM {table}), {marks}) {repeated}"
    db.executemany(statement, ([key(cell) if isinstance(cell, str) else cell for cell in row] for row in rows))


def _table(
    read: Callable[[list[Path]], Iterable[Sequence[Any]]],
    columns: str = _NAMED,
    indexes: Sequence[str] = (),
    search: Callable[[sqlite3.Connection, str], None] | None = None,
) -> Load:
    """Return what makes a table of the rows read, with indexes over columns of it and one to search its names by."""

    def load(db: sqlite3.Connection, table: str, paths: list[Path]) -> None:
        _fill(db, table, columns, read(paths))
        _index(db, table, indexes)
        if search is not None:
            search(db, table)

    return load


def _index(db: sqlite3.Connection, table: str, indexes: Sequence[str]) -> None:
    for number, columns in enumerate(indexes):
        db.execute(f"CREATE INDEX {table}_{number} ON {table} ({columns})")


def _index_in_order(db: sqlite3.Connection, table: str, ties: Ties = "last") -> None:
    names = db.execute(f"SELECT name FROM {table} ORDER BY n")
    write(db, table, (name for (name,) in names), ties=ties)


def _index_names(db: sqlite3.Connection, table: str, variant: Variant = "okapi") -> None:
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


# --- rows of the upstream files ---------------------------------------------------------------------------------------


def _read_entries(paths: list[Path]) -> Iterator[tuple[str, None, str]]:
    for path in paths:
        with bz2.open(path, "rb") as lines:
            for title, entity in (json.loads(line) for line in lines if not line.isspace()):
                yield title, None, dump(entity)


def _read_movies(paths: list[Path]) -> Iterator[tuple[str, int | None, str]]:
    """Read films, people or years: JSON objects whose keys are normalised names, years for the last."""
    entities = (item for path in paths for item in json.loads(path.read_bytes()).items())
    return ((name, _id(entity), dump(entity)) for name, entity in entities)


def _id(entity: Any) -> int | None:
    number = entity.get("id") if isinstance(entity, dict) else None
    return number if type(number) is int and abs(number) < 2**63 else None


def _read_companies(paths: list[Path]) -> Iterator[tuple[str, str | None]]:
    for path in paths:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            # Text as it stands: `NA` is a ticker, and an empty one is none.
            yield from ((row["Name"], row["Symbol"] or None) for row in csv.DictReader(lines))


def _read_figures(paths: list[Path]) -> Iterator[tuple[str, None, str]]:
    return ((ticker, None, value) for path in paths for ticker, value in restricted_pickle.read_stored(path))


def _read_music(paths: list[Path]) -> Iterator[tuple[str, None, str]]:
    items = (item for path in paths for item in restricted_pickle.read_items(path))
    return ((name, None, value) for name, value in items if type(name) is str)


def _read_ranks(paths: list[Path]) -> Iterator[tuple[Any, ...]]:
    charted = ((rank, row) for rank, _, rows in _read_music(paths) for row in json.loads(rows))
    return ((rank, row["Date"], row["Song"], row["Artist"]) for rank, row in charted)


def _read_charts(paths: list[Path]) -> Iterator[tuple[str, str, str]]:
    charted = ((song, *item) for song, _, dates in _read_music(paths) for item in json.loads(dates).items())
    return ((song, date, dump(row)) for song, date, row in charted)


def _read_grammys(paths: list[Path]) -> Iterator[list[Any]]:
    frames = map(restricted_pickle.read_table, paths)
    awards = (dict(zip(frame.columns, row, strict=True)) for frame in frames for row in frame.rows)
    return ([award[name] for name in ("year", "category", "nominee", "artist", "workers")] for award in awards)


def _read_soccer(frame: restricted_pickle.Frame) -> Iterator[tuple[str, str, Any, str]]:
    # Files whose levels have no names have them in this order.
    levels = frame.index_names if set(_LEVELS) == set(frame.index_names) else list(_LEVELS)
    league, team, date = levels.index("league"), levels.index("team"), frame.columns.index("date")
    for label, row in zip(frame.labels, frame.rows, strict=True):
        if label[league] is not None:
            printed = str(tuple(math.nan if part is None else part for part in label))
            yield printed, str(label[team]), row[date] and str(row[date])[:10], dump([*map(round_float, row)])


# --- tables unlike the others -----------------------------------------------------------------------------------------


def _load_soccer(db: sqlite3.Connection, table: str, paths: list[Path]) -> None:
    frame = restricted_pickle.read_table(paths[0])
    _fill(db, table, "label, team, date, value TEXT", _read_soccer(frame))
    _index(db, table, ["date"])
    db.execute("INSERT INTO meta VALUES ('soccer_columns', ?)", (dump([str(name) for name in frame.columns]),))


def _load_nba(
    source: str, columns: str, indexes: Sequence[str], db: sqlite3.Connection, table: str, paths: list[Path]
) -> None:
    db.execute("ATTACH ? AS upstream", (f"{paths[0].resolve().as_uri()}?mode=ro&immutable=1",))
    try:
        db.execute(f"SELECT {columns} FROM upstream.{source} LIMIT 0")  # which fails where one lacks
        db.execute(f"CREATE TABLE {table} AS SELECT * FROM upstream.{source} ORDER BY rowid")
    finally:
        db.commit()  # nothing can be detached within a transaction
        db.execute("DETACH upstream")
    _index(db, table, indexes)


# Upstream's search of movies keeps the file's order among equal scores.
_MOVIES = _table(_read_movies, indexes=["id"], search=partial(_index_in_order, ties="first"))
_FIGURES = _table(_read_figures)
_MUSIC = _table(_read_music, search=partial(_index_names, variant="music"))
_AWARDS = "year INTEGER, category, nominee, artist, workers"
_GAMES = "game_id, game_date, team_name_home, team_name_away"
PARTS = (
    Part("open", ("open/kg.0.jsonl.bz2", "open/kg.1.jsonl.bz2"), _table(_read_entries, search=_index_names)),
    Part("movie", ("movie/movie_db.json",), _MOVIES),
    Part("person", ("movie/person_db.json",), _MOVIES),
    Part("year", ("movie/year_db.json",), _table(_read_movies)),
    # Homonyms stay, and are found as often as they stand there.
    Part(
        "company",
        ("finance/company_name.dict",),
        _table(_read_companies, "name NOT NULL, symbol", ["name"], _index_in_order),
    ),
    Part("price", ("finance/finance_price.sqlite",), _FIGURES),
    Part("detailed", ("finance/finance_detailed_price.sqlite",), _FIGURES),
    Part("dividend", ("finance/finance_dividend.sqlite",), _FIGURES),
    Part("marketcap", ("finance/finance_marketcap.sqlite",), _FIGURES),
    Part("info", ("finance/finance_info.sqlite",), _FIGURES),
    Part("artist", ("music/artist_dict_simplified.pickle",), _MUSIC),
    Part("song", ("music/song_dict_simplified.pickle",), _MUSIC),
    Part("works", ("music/artist_work_dict.pickle",), _table(_read_music)),
    Part(
        "ranks",
        ("music/rank_dict_hot100.pickle",),
        _table(_read_ranks, "rank TEXT, date, song, artist", ["rank, date"]),
    ),
    Part(
        "charts",
        ("music/song_dict_hot100.pickle",),
        _table(_read_charts, "song, date, value TEXT", ["song, date"]),
    ),
    Part("grammy", ("music/grammy_df.pickle",), _table(_read_grammys, _AWARDS, ["category, year", "nominee"])),
    Part("soccer", ("sports/soccer_team_match_stats.pkl",), _load_soccer),
    Part("nba_game", ("sports/nba.sqlite",), partial(_load_nba, "game", _GAMES, ["game_id", "game_date"])),
    Part("nba_play", ("sports/nba.sqlite",), partial(_load_nba, "play_by_play", "game_id", ["game_id"])),
)


# --- the whole --------------------------------------------------------------------------------------------------------


def build(
    src: str | Path, target: str | Path, progress: Callable[[int, int], None] = lambda done, total: None
) -> tuple[dict[str, int], list[str]]:
    """Build the graph of a folder with upstream's five, or of an upstream checkout; a graph at `target` is replaced.

    `progress` is told the bytes of the files done, and of all. Returned are the rows by table, and the upstream files
    that were not there. Raises QuadragError where none of them is there, one is damaged or refused, or the target
    cannot be written or is another file; nothing is left behind then.
    """
    target = Path(target).expanduser()
    names = dict.fromkeys(name for part in PARTS for name in part.files)
    roots = [Path(src).expanduser() / folder for folder in _UPSTREAM]
    root = next((root for root in roots if any((root / name).is_file() for name in names)), None)
    if root is None:
        raise QuadragError(
            f"{str(src)!r} holds no file of the knowledge graph; expected mock_api/cragkg of an upstream checkout, "
            f"with {next(iter(names))} for one"
        )
    sizes = {name: (root / name).stat().st_size for name in names if (root / name).is_file()}
    if target.exists() and not _is_graph(target):
        raise QuadragError(f"{target} is there and no knowledge graph; name another file, or move it away")
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
    return rows, [name for name in names if name not in sizes]


def _is_graph(path: Path) -> bool:
    """Whether SQLite's header names our application, in bytes 68 to 71, whatever the version."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(72)[68:] == APPLICATION.to_bytes(4, "big")


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
            present = [name for name in part.files if name in sizes]
            progress(sum(sizes[name] for name in recorded), sum(sizes.values()))
            if not present:
                continue
            for name in (name for name in present if name not in recorded):
                db.execute("INSERT INTO source VALUES (?, ?, ?)", (name, sizes[name], _digest(root / name)))
            _load(db, part, [root / name for name in present])
            rows[part.table] = db.execute(f"SELECT count(*) FROM {part.table}").fetchone()[0]
            recorded.update(present)
    return rows


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        if stream.read(40).startswith(b"version https://git-lfs.github.com/spec"):
            raise QuadragError(f"{path} is a Git LFS pointer; run `git lfs pull` in the upstream checkout")
        stream.seek(0)
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _load(db: sqlite3.Connection, part: Part, paths: list[Path]) -> None:
    try:
        part.load(db, part.table, paths)
    except Exception as error:  # there is no list of what a file raises that is damaged or laid out otherwise
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise  # of the file that is written
        names = " and ".join(map(str, paths))
        problem = one_line(f"{type(error).__name__}: {error}", 300)
        raise QuadragError(
            f"{names} cannot be read ({problem}); get it again from upstream, and from nowhere else"
        ) from None
    db.commit()
