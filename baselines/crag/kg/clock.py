"""The knowledge graph as it stood when a question was asked: dated rows that are later are hidden, as if not there.

A row counts as later by the stamp it carries: a day's prices and games carry its midnight, so the running day is shown,
its close and final score included. Histories of prices and dividends carry times of New York; charts, films, songs and
games carry days, compared with the day in California; Grammys and Oscars carry years, of which the running one is
shown. What carries no stamp is a snapshot of `SNAPSHOT`: figures of a company are null for an earlier question, and an
encyclopedia entry is marked ``"undated": true``. Titles, names and lists of works are shown as they are.
"""

import re
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from quadrag.errors import QuadragError

from .build import dump
from .graph import Graph, Table

SNAPSHOT = "2024-02-28"  # the day on which upstream read the companies' figures
# Upstream writes EST in summer too: the label names the exchange's clock, not an offset.
_EXCHANGE = ZoneInfo("America/New_York")
_STAMP = re.compile(r"(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}) E[SD]?T", re.ASCII)
_DAY = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?", re.ASCII)


def parse(query_time: str) -> datetime:
    """Read a question's time, ``MM/DD/YYYY, HH:MM:SS PT``, as a moment in California; else QuadragError.

    Of an hour that the end of summer time repeats, the first is taken.
    """
    try:
        moment = datetime.strptime(query_time.strip(), "%m/%d/%Y, %H:%M:%S PT")
        moment = moment.replace(tzinfo=ZoneInfo("America/Los_Angeles"))
        moment.astimezone(_EXCHANGE)  # which overflows at the ends of the calendar
        return moment
    except (AttributeError, ValueError, OverflowError):
        raise QuadragError(f"the question's time is {query_time!r:.60}; expected MM/DD/YYYY, HH:MM:SS PT") from None


class GraphAt(Graph):
    """A graph's functions, of what was known at a question's time (see `parse`)."""

    def __init__(self, graph: Graph, query_time: str) -> None:
        # The very same connection and lock: a question must not cost another opening.
        self.__dict__.update(graph.__dict__)
        moment = parse(query_time)
        self._day, self._year = f"{moment:%Y-%m-%d}".zfill(10), moment.year
        self._stamp = f"{moment.astimezone(_EXCHANGE):%Y-%m-%d %H:%M:%S}".zfill(19)
        # Of these tables every function sees the rows that are not later, and no other.
        self._seen = {
            **dict.fromkeys(("ranks", "charts"), f"date <= '{self._day}'"),
            "grammy": f"year <= {self._year}",
            "year": f"CAST(name AS INTEGER) <= {self._year}",
        }

    def rows(self, table: str, rest: str, *values: Any) -> list[tuple[Any, ...]]:
        if table in self._seen:
            self._require(table)
            rest = rest.format(f"(SELECT * FROM {table} WHERE {self._seen[table]})")
        return super().rows(table, rest, *values)

    def _later(self, date: Any) -> bool:
        """Whether a date, or as much of one as is known, lies after the question's day; what cannot be read does."""
        text = str(date)[:10]
        return _DAY.fullmatch(text) is None or text > self._day[: len(text)]

    def get_named(self, table: str, name: str) -> Any:
        if table in ("marketcap", "info") and self._day < SNAPSHOT:
            return None
        value = super().get_named(table, name)
        if not isinstance(value, dict):
            return value
        if table in ("price", "detailed", "dividend"):
            stamps = {key: _STAMP.fullmatch(key) for key in value}
            return {key: value[key] for key, stamp in stamps.items() if stamp and stamp[1] <= self._stamp}
        if table == "open":
            return {**value, "undated": True}
        if table == "song":
            return {} if value.get("date") and self._later(value["date"]) else value
        if table == "artist":
            dates = [field for field in value if field.endswith("_date")]
            return {**value, **{field: None for field in dates if value[field] and self._later(value[field])}}
        return value

    def get_numbered(self, table: str, number: int) -> Any:
        return self._hide_later(super().get_numbered(table, number))

    def search_records(self, table: str, query: str) -> list[Any]:
        records = map(self._hide_later, super().search_records(table, query))
        return [record for record in records if record is not None]

    def _hide_later(self, record: Any) -> Any:
        """Return a film or person without later awards; None for a film that was released later."""
        if not isinstance(record, dict):
            return record
        if (date := record.get("release_date")) and self._later(date):
            return None
        if isinstance(awards := record.get("oscar_awards"), list):
            return {**record, "oscar_awards": [award for award in awards if self._is_known(award)]}
        return record

    def _is_known(self, award: Any) -> bool:
        year = award.get("year_ceremony") if isinstance(award, dict) else None
        return isinstance(year, int | float) and year <= self._year

    def sports_soccer_get_games_on_date(self, date: str, team_name: str | None = None) -> Table | None:
        return self._games(super().sports_soccer_get_games_on_date(date, team_name), "date")

    def sports_nba_get_games_on_date(self, date: str, team_name: str | None = None) -> Table | None:
        games = self._games(super().sports_nba_get_games_on_date(date, team_name), "game_date") or {}
        # Rows are numbered anew.
        return {name: {str(n): cell for n, cell in enumerate(cells.values())} for name, cells in games.items()} or None

    def _games(self, games: Table | None, column: str) -> Table | None:
        shown = [label for label, date in games[column].items() if not self._later(date)] if games else []
        return (
            {name: {label: cells[label] for label in shown} for name, cells in (games or {}).items()} if shown else None
        )

    def sports_nba_get_play_by_play_data_by_game_ids(self, game_ids: list[str]) -> Table | None:
        if not isinstance(game_ids, list | tuple):
            return None
        known = [number for number in game_ids if isinstance(number, str)]
        rest = "game_id, game_date FROM {} WHERE game_id IN (SELECT value FROM json_each(?))"
        dates = dict(self.rows("nba_game", rest, dump(known)))
        shown = [number for number in known if number in dates and not self._later(dates[number])]
        return super().sports_nba_get_play_by_play_data_by_game_ids(shown)
