"""The knowledge graph: one SQLite file, opened for reading, and upstream's 38 functions as methods of one object.

Each function returns what upstream's server puts under ``result`` (what that is, `functions.yaml` says); names are
looked up exactly, only searches are fuzzy. Upstream's errors are exceptions here (its server answers 500), except in
sports, where they are None. What a question could not yet know is hidden by `clock.py`.
"""

import json
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from quadrag.errors import QuadragError
from quadrag.records import digest

from .build import APPLICATION, PARTS, VERSION, dump, key, round_float
from .search import Search

_TOP = 10  # results of a fuzzy search, as upstream
_MOVIE_YEARS = frozenset(map(str, range(1990, 2022)))
_AWARD_YEARS = range(1957, 2020)
_NAMED = "instr(nominee, ?1) OR instr(artist, ?1) OR instr(workers, ?1)"  # what an index cannot find
# Places in a chart's row. Where place 6 holds a hyphen, the three figures stand in another order.
_RANK, _SHIFTED = 3, 6
_PLACES = {"rank_last_week": 4, "weeks_in_chart": 6, "top_position": 5}
_PLACES_SHIFTED = {"rank_last_week": 6, "weeks_in_chart": 5, "top_position": 4}
# A date of one, two or three parts is compared with as much of a row's date.
_PREFIX = re.compile(r"[0-9]{4}(-[0-9]{2}){0,2}")
_LAST = "\U0010ffff"  # ends what sorts behind all texts of a prefix

Table = dict[str, dict[str, Any]]  # as pandas' `to_json` gives one: ``{column: {row: value}}``
OfQuery = Callable[[Any, Any], Any]


# Most functions are one look-up each. What they call are methods, which `clock.GraphAt` has its own of.


def _titles(table: str) -> OfQuery:
    return lambda graph, query: graph.search_names(table, query)


def _records(table: str) -> OfQuery:
    return lambda graph, query: graph.search_records(table, query)


def _named(table: str) -> OfQuery:
    return lambda graph, query: graph.get_named(table, query)


def _numbered(table: str) -> OfQuery:
    return lambda graph, query: graph.get_numbered(table, int(query))


def _field(table: str, field: str) -> OfQuery:
    return lambda graph, query: graph.get_field(table, query, field)


def _trait(table: str, field: str) -> OfQuery:
    """Make a function to which an empty field is an unknown one."""
    return lambda graph, query: graph.get_field(table, query, field) or None


def _nominees(category: str) -> OfQuery:
    return lambda graph, query: graph.get_nominees(category, int(query))


class Graph:
    """A built graph, opened for reading: ``Graph("kg.sqlite").open_get_entity("Florida")``; for several threads.

    A look-up returns None where what it is asked for is unknown; a search returns at most ten, best first.

    Raises:
        QuadragError: the file is absent or no graph; or, by a function, it was built without what that needs, or
            `movie_get_year_info` is asked for an unknown year.
    """

    def __init__(self, path: str | Path) -> None:
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

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fetch(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._lock:  # a connection serves one thread at a time
            return self._db.execute(statement, values).fetchall()

    @property
    def sources(self) -> list[dict[str, Any]]:
        """The upstream files that went in: ``file``, ``size`` in bytes, ``sha256``."""
        rows = self._fetch("SELECT file, size, sha256 FROM source ORDER BY file")
        return [dict(zip(("file", "size", "sha256"), row, strict=True)) for row in rows]

    @property
    def identity(self) -> str:
        """The upstream files that went in and the version that built of them."""
        return f"graph {digest([self._meta('quadrag'), self.sources])}"

    def _meta(self, name: str) -> Any:
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
            files = next(part.files for part in PARTS if part.table == table)
            raise QuadragError(
                f"{self.path} was built without {' and '.join(files)}; build it again from a folder that holds them"
            )

    def get_named(self, table: str, name: str) -> Any:
        """Return the value of a name, None where it is unknown."""
        rows = self.rows(table, "value FROM {} WHERE name = ?", name)
        return json.loads(rows[0][0]) if rows else None

    def get_numbered(self, table: str, number: int) -> Any:
        """Return the value of an id, the last of several; None where it is unknown."""
        if not -(2**63) <= number < 2**63:
            return None
        rows = self.rows(table, "value FROM {} WHERE id = ? ORDER BY n DESC LIMIT 1", number)
        return json.loads(rows[0][0]) if rows else None

    def get_field(self, table: str, name: str, field: str) -> Any:
        value = self.get_named(table, name)
        return value.get(field) if isinstance(value, dict) else None

    def get_nominees(self, category: str, year: int) -> list[str] | None:
        if year not in _AWARD_YEARS:
            return None
        rest = "nominee FROM {} WHERE category = ? AND year = ? ORDER BY n"
        return [nominee for (nominee,) in self.rows("grammy", rest, category, year)]

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

    def search_records(self, table: str, query: str) -> list[Any]:
        return list(map(json.loads, self._search_column(table, "value", query)))

    def _search_column(self, table: str, column: str, query: str) -> list[Any]:
        statement = f"{column} FROM {{}} WHERE n = ?"
        return [self.rows(table, statement, number)[0][0] for number in self.search(table, query)]

    # --- the open domain: encyclopaedia entries by title ---

    open_search_entity_by_name = _titles("open")
    open_get_entity = _named("open")

    # --- movies ---

    movie_get_person_info = _records("person")
    movie_get_movie_info = _records("movie")
    movie_get_movie_info_by_id = _numbered("movie")
    movie_get_person_info_by_id = _numbered("person")

    def movie_get_year_info(self, query: str) -> Any:
        year = str(query).strip()
        known = self.get_named("year", year) if year in _MOVIE_YEARS else None
        if known is None:
            raise QuadragError(f"the graph knows no year {str(query)[:20]!r}; expected one from 1990 to 2021")
        return known

    # --- finance: snapshots that end about 2024-02-28; keys of histories are ``YYYY-MM-DD HH:MM:SS EST`` ---

    finance_get_price_history = _named("price")
    finance_get_detailed_price_history = _named("detailed")
    finance_get_dividends_history = _named("dividend")
    finance_get_market_capitalization = _named("marketcap")
    finance_get_info = _named("info")
    finance_get_eps = _field("info", "forwardEps")
    finance_get_pe_ratio = _field("info", "forwardPE")

    def finance_get_company_name(self, query: str) -> list[str]:
        return self._search_column("company", "name", query)  # homonyms repeated

    def finance_get_ticker_by_name(self, query: str) -> str | None:
        # The last row of a repeated name wins.
        rows = self.rows("company", "symbol FROM {} WHERE name = ? ORDER BY n DESC LIMIT 1", query)
        return rows[0][0] if rows else None

    # --- music ---

    music_search_artist_entity_by_name = _titles("artist")
    music_search_song_entity_by_name = _titles("song")
    music_get_artist_birth_place = _trait("artist", "country")
    music_get_artist_birth_date = _trait("artist", "birth_date")
    music_get_song_author = _trait("song", "author")
    music_get_song_release_country = _trait("song", "country")
    music_get_song_release_date = _trait("song", "date")
    music_grammy_get_best_artist_by_year = _nominees("Best New Artist")
    music_grammy_get_best_song_by_year = _nominees("Song Of The Year")
    music_grammy_get_best_album_by_year = _nominees("Album Of The Year")

    def music_get_artist_all_works(self, query: str) -> Any:
        return self.get_named("works", query) or None

    def music_get_members(self, query: str) -> Any:
        members = self.get_field("artist", query, "members") or None
        return list(dict.fromkeys(members)) if isinstance(members, list) else members

    def music_get_lifespan(self, query: str) -> list[Any]:
        return [self.get_field("artist", query, field) or None for field in ("birth_date", "end_date")]

    def music_get_billboard_rank_date(self, rank: int, date: str | None = None) -> list[list[str] | None]:
        """Return the songs and the artists, as many, that held a rank from 1 to 100; ``[None, None]`` for another.

        `date`: of the chart, ``YYYY-MM-DD``; None or empty is all dates, in the file's order.
        """
        if not self.rows("ranks", "1 FROM {} WHERE rank = ? LIMIT 1", str(rank)):
            return [None, None]
        rest = f"song, artist FROM {{}} WHERE rank = ?{' AND date = ?' if date else ''} ORDER BY n"
        rows = self.rows("ranks", f"{rest} LIMIT 1", str(rank), date) if date else self.rows("ranks", rest, str(rank))
        return [[song for song, _ in rows], [artist for _, artist in rows]]

    def music_get_billboard_attributes(self, date: str, attribute: str, song_name: str) -> Any:
        """Return an attribute of a song in the chart of a date, mostly text; None where song or date is unknown.

        Any other than those of `functions.yaml` is taken as rank, as upstream. A row that is too short raises
        IndexError, where upstream answers 500.
        """
        rows = self.rows("charts", "value FROM {} WHERE song = ? AND date = ?", song_name, date)
        if not rows:
            return None
        row = json.loads(rows[0][0])
        places = _PLACES_SHIFTED if row[_SHIFTED] == "-" else _PLACES
        return row[places.get(attribute, _RANK)]

    def music_grammy_get_award_count_by_artist(self, query: str) -> int:
        # In how many fields the name occurs: one award may count up to three times.
        parts = " + ".join(f"(instr(ifnull({name}, ''), ?1) > 0)" for name in ("nominee", "artist", "workers"))
        rest = f"ifnull(sum({parts}), 0) FROM {{}} WHERE {_NAMED} OR ?1 = ''"
        return int(self.rows("grammy", rest, query)[0][0])

    def music_grammy_get_award_count_by_song(self, query: str) -> int:
        return int(self.rows("grammy", "count(*) FROM {} WHERE nominee = ?", query)[0][0])

    def music_grammy_get_award_date_by_artist(self, query: str) -> list[int]:
        rows = self.rows("grammy", f"DISTINCT year FROM {{}} WHERE year NOTNULL AND ({_NAMED}) ORDER BY year", query)
        return [int(year) for (year,) in rows]

    def music_grammy_get_all_awarded_artists(self) -> list[str]:
        rest = "nominee FROM {} WHERE category = 'Best New Artist' AND nominee NOTNULL GROUP BY nominee ORDER BY min(n)"
        return [nominee for (nominee,) in self.rows("grammy", rest)]

    # --- sports: whatever is wrong with a question, and no hit, gives None ---

    def sports_soccer_get_games_on_date(self, date: str, team_name: str | None = None) -> Table | None:
        """Return the soccer games of a day, a month or a year (``YYYY-MM-DD`` or its beginning), a row a team.

        `team_name` is exact; None or empty is all teams. Rows are labelled by printed tuples of league, season, team
        and game.
        """
        self._require("soccer")
        if not isinstance(date, str) or not _PREFIX.fullmatch(date):
            return None
        team, values = ("team = ? AND ", [team_name]) if team_name else ("", [])
        rest = f"label, value FROM {{}} WHERE {team}date >= ? AND date < ? ORDER BY n"
        rows = self.rows("soccer", rest, *values, date, date + _LAST)
        labels = [label for label, _ in rows]
        if len(set(labels)) < len(labels):  # pandas' to_json raises, which upstream turns into null
            return None
        return _table(self._meta("soccer_columns"), labels, [json.loads(value) for _, value in rows])

    def sports_nba_get_games_on_date(self, date: str, team_name: str | None = None) -> Table | None:
        """Return the NBA games of a day, a month or a year; a date of four or more parts is every game, as upstream.

        `team_name` is home or away, exact; None or empty is all teams. Rows are numbered from 0.
        """
        self._require("nba_game")
        conditions, values = ["1"], []
        if not isinstance(date, str) or (date.count("-") < 3 and not _PREFIX.fullmatch(date)):
            return None
        if date.count("-") < 3:
            conditions, values = ["game_date >= ? AND game_date < ?"], [date, date + _LAST]
        if team_name:
            conditions.append("(team_name_home = ? OR team_name_away = ?)")
            values += [team_name, team_name]
        return self._selected("nba_game", " AND ".join(conditions), *values)

    def sports_nba_get_play_by_play_data_by_game_ids(self, game_ids: list[str]) -> Table | None:
        """Return all plays of NBA games (ten digits as text), in the file's order, rows numbered from 0."""
        self._require("nba_play")
        if not isinstance(game_ids, (list, tuple)):
            return None
        wanted = dump([number for number in game_ids if isinstance(number, str)])
        return self._selected("nba_play", "game_id IN (SELECT value FROM json_each(?))", wanted)

    def _selected(self, table: str, condition: str, *values: Any) -> Table | None:
        columns = [row[1] for row in self.rows(table, "* FROM pragma_table_info('{}')")]
        rows = self.rows(table, f"* FROM {{}} WHERE {condition} ORDER BY rowid", *values)
        games = _table(columns, [str(number) for number in range(len(rows))], rows)
        return games and {column: _as_read(cells) for column, cells in games.items()}


# What `help(Graph)` tells of the functions: their own words, else those of the table.
for _route, _entry in yaml.safe_load(Path(__file__).with_name("functions.yaml").read_text(encoding="utf-8")).items():
    _name = _route.strip("/").replace("/", "_")
    _function = vars(Graph)[_name]
    _function.__name__, _function.__doc__ = _name, _function.__doc__ or _entry["description"]


def _table(columns: list[str], labels: list[str], rows: Iterable[Iterable[Any]]) -> Table | None:
    if not labels:
        return None
    return {
        name: dict(zip(labels, cells, strict=True))
        for name, cells in zip(columns, zip(*rows, strict=True), strict=True)
    }


def _as_read(cells: dict[str, Any]) -> dict[str, Any]:
    """Give a column the types of pandas' read_sql and to_json: whole numbers beside floats or nulls are floats."""
    kinds = set(map(type, cells.values()))
    if int in kinds and kinds <= {int, float, type(None)} and len(kinds) > 1:
        return {label: None if value is None else round_float(float(value)) for label, value in cells.items()}
    return {label: round_float(value) for label, value in cells.items()}
