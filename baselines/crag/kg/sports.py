"""The sports domain: soccer games from a pickled frame, NBA games and their plays from an SQLite file.

Results are column-oriented, as pandas' `to_json` gives them: ``{column: {row: value}}``, floats of ten decimals, times
as ``2024-01-01T00:00:00.000``. Whatever is wrong with a question, and no hit, gives None, as upstream.
"""

import json
import math
import re
import sqlite3
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from . import restricted_pickle
from .store import Part, Store, dump, key

_DECIMALS = 10  # pandas' to_json
# A date of one, two or three parts is compared with as much of a row's date.
_PREFIX = re.compile(r"[0-9]{4}(-[0-9]{2}){0,2}")
_LEVELS = ("league", "season", "team", "game")
_GAME = "game_id, game_date, team_name_home, team_name_away"

Table = dict[str, dict[str, Any]]


def _soccer(db: sqlite3.Connection, paths: list[Path]) -> None:
    db.execute("CREATE TABLE soccer (n INTEGER PRIMARY KEY, label, team, date, value TEXT)")
    for path in paths:
        table = restricted_pickle.read_table(path)
        # Files whose levels have no names have them in this order.
        levels = table.index_names if set(_LEVELS) == set(table.index_names) else list(_LEVELS)
        league, team, date = levels.index("league"), levels.index("team"), table.columns.index("date")
        for label, row in zip(table.labels, table.rows, strict=True):
            if label[league] is not None:
                text = str(tuple(math.nan if part is None else part for part in label))
                day, values = row[date] and str(row[date])[:10], dump([*map(_round, row)])
                statement = "INSERT INTO soccer (label, team, date, value) VALUES (?, ?, ?, ?)"
                db.execute(statement, (key(text), key(str(label[team])), day, values))
        db.execute("INSERT INTO meta VALUES ('soccer_columns', ?)", (dump([str(name) for name in table.columns]),))
    db.execute("CREATE INDEX soccer_date ON soccer (date)")


def _nba(table: str, source: str, columns: str, db: sqlite3.Connection, paths: list[Path]) -> None:
    for path in paths:
        db.execute("ATTACH ? AS upstream", (f"{path.resolve().as_uri()}?mode=ro&immutable=1",))
        try:
            db.execute(f"SELECT {columns} FROM upstream.{source} LIMIT 0")  # which fails where one lacks
            db.execute(f"CREATE TABLE {table} AS SELECT * FROM upstream.{source} ORDER BY rowid")
        finally:
            db.commit()  # nothing can be detached within a transaction
            db.execute("DETACH upstream")
    for name in ("game_id", "game_date") if table == "nba_game" else ("game_id",):
        db.execute(f"CREATE INDEX {table}_{name} ON {table} ({name})")


PARTS = (
    Part("soccer", ("sports/soccer_team_match_stats.pkl",), _soccer),
    Part("nba_game", ("sports/nba.sqlite",), partial(_nba, "nba_game", "game", _GAME)),
    Part("nba_play", ("sports/nba.sqlite",), partial(_nba, "nba_play", "play_by_play", "game_id")),
)


class Sports(Store):
    """The three functions of the sports domain."""

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
        rows = self.rows("soccer", rest, *values, date, _end(date))
        labels = [label for label, _ in rows]
        if len(set(labels)) < len(labels):  # pandas' to_json raises, which upstream turns into null
            return None
        return _table(self.meta("soccer_columns"), labels, [json.loads(value) for _, value in rows])

    def sports_nba_get_games_on_date(self, date: str, team_name: str | None = None) -> Table | None:
        """Return the NBA games of a day, a month or a year; a date of four or more parts is every game, as upstream.

        `team_name` is home or away, exact; None or empty is all teams. Rows are numbered from 0.
        """
        self._require("nba_game")
        conditions, values = ["1"], []
        if not isinstance(date, str) or (date.count("-") < 3 and not _PREFIX.fullmatch(date)):
            return None
        if date.count("-") < 3:
            conditions, values = ["game_date >= ? AND game_date < ?"], [date, _end(date)]
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


def _end(prefix: str) -> str:
    return prefix + "\U0010ffff"


def _table(columns: list[str], labels: list[str], rows: Iterable[Iterable[Any]]) -> Table | None:
    if not labels:
        return None
    return {
        name: dict(zip(labels, cells, strict=True))
        for name, cells in zip(columns, zip(*rows, strict=True), strict=True)
    }


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DECIMALS) if math.isfinite(value) else None
    return value


def _as_read(cells: dict[str, Any]) -> dict[str, Any]:
    """Give a column the types of pandas' read_sql and to_json: whole numbers beside floats or nulls are floats."""
    kinds = set(map(type, cells.values()))
    if int in kinds and kinds <= {int, float, type(None)} and len(kinds) > 1:
        return {label: None if value is None else _round(float(value)) for label, value in cells.items()}
    if float not in kinds:
        return cells
    return {label: _round(value) for label, value in cells.items()}
