"""The knowledge graph as it stood when a question was asked: dated rows that are later are hidden, as if not there.

A row counts as later by the stamp it carries: a day's prices and games carry its midnight, so the running day is shown,
its close and final score included. Histories of prices and dividends carry times of New York; charts, films, songs and
games carry days, compared with the day in California; Grammys and Oscars carry years, of which the running one is
shown. What carries no stamp is a snapshot of `SNAPSHOT`: figures of a company are null for an earlier question, and an
encyclopedia entry is marked ``"undated": true``. Titles, names and lists of works are shown as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from quadrag.errors import QuadragError

from .graph import Graph
from .sports import Table
from .store import dump

SNAPSHOT = "2024-02-28"  # the day on which upstream read the companies' figures
_FORM = "MM/DD/YYYY, HH:MM:SS PT"
_QUERY_TIME = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4}), (\d{1,2}):(\d{2}):(\d{2}) PT", re.ASCII)
_PACIFIC = "America/Los_Angeles"
# Upstream writes EST in summer too: the label names the exchange's clock, not an offset.
_EXCHANGE = "America/New_York"
_STAMP = re.compile(r"(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}) E[SD]?T", re.ASCII)
_DAY = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?", re.ASCII)


def parse(query_time: str) -> datetime:
    """Read a question's time, ``MM/DD/YYYY, HH:MM:SS PT``, as a moment in California; else QuadragError.

    Of an hour that the end of summer time repeats, the first is taken.
    """
    found = _QUERY_TIME.fullmatch(query_time.strip()) if isinstance(query_time, str) else None
    if found is None:
        raise QuadragError(f"the question's time is {str(query_time)!r:.60}; expected {_FORM}")
    month, day, year, hour, minute, second = map(int, found.groups())
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=_zone(_PACIFIC))
        moment.astimezone(_zone(_EXCHANGE))  # which overflows at the ends of the calendar
    except (ValueError, OverflowError) as error:
        raise QuadragError(f"the question's time {query_time!r:.60} is none ({error}); expected {_FORM}") from None
    return moment


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError:
        raise QuadragError(f"this system knows no time zone {name}: pip install tzdata") from None


def at(graph: Graph, query_time: str) -> GraphAt:
    """Return a graph as it stood at a question's time (see `parse`); both share the open file."""
    return GraphAt(graph, parse(query_time))


class GraphAt(Graph):
    """The 38 functions, of what was known at a moment; made by `at`."""

    def __init__(self, graph: Graph, moment: datetime) -> None:
        # The very same connections and locks: a question must not cost another opening.
        self.__dict__.update(graph.__dict__)
        self.moment = moment
        day = moment.astimezone(_zone(_PACIFIC))
        self._day, self._year = f"{day:%Y-%m-%d}".zfill(10), day.year
        self._stamp = f"{moment.astimezone(_zone(_EXCHANGE)):%Y-%m-%d %H:%M:%S}".zfill(19)
        # Of these tables every function sees the rows that are not later, and no other.
        self._seen = {
            "ranks": f"date <= '{self._day}'",
            "charts": f"date <= '{self._day}'",
            "grammy": f"year <= {self._year}",
            "year": f"CAST(name AS INTEGER) <= {self._year}",
        }

    def rows(self, table: str, rest: str, *values: Any) -> list[tuple[Any, ...]]:
        """Select from a table as `Store.rows` does, later rows left out."""
        if table in self._seen:
            self._require(table)
            rest = rest.format(f"(SELECT * FROM {table} WHERE {self._seen[table]})")
        return super().rows(table, rest, *values)

    def _later(self, date: Any) -> bool:
        """Whether a date, or as much of one as is known, lies after the question's day; what cannot be read does."""
        text = str(date)[:10]
        return _DAY.fullmatch(text) is None or text > self._day[: len(text)]

    # Open

    def open_get_entity(self, query: str) -> Any:
        """Return an entry, marked ``"undated": true``: nobody knows what of it was true at the question's time."""
        entity = super().open_get_entity(query)
        return {**entity, "undated": True} if isinstance(entity, dict) else entity

    # Movie

    def _at(self, table: str, number: int) -> Any:
        return self._film(super()._at(table, number))

    def _entities(self, table: str, query: str) -> list[Any]:
        return [entity for entity in super()._entities(table, query) if entity is not None]

    def get_numbered(self, table: str, number: int) -> Any:
        """Return the value of an id, None where it is unknown or later."""
        return self._film(super().get_numbered(table, number))

    def _film(self, entity: Any) -> Any:
        """A film or person without later awards; None for a film that was released later."""
        if not isinstance(entity, dict):
            return entity
        if (date := entity.get("release_date")) and self._later(date):
            return None
        if isinstance(awards := entity.get("oscar_awards"), list):
            return {**entity, "oscar_awards": [award for award in awards if self._held(award)]}
        return entity

    def _held(self, award: Any) -> bool:
        year = award.get("year_ceremony") if isinstance(award, dict) else None
        return isinstance(year, (int, float)) and year <= self._year

    # Finance

    def _history(self, history: Any) -> Any:
        if not isinstance(history, dict):
            return history
        return {
            key: row
            for key, row in history.items()
            if (found := _STAMP.fullmatch(key)) is not None and found[1] <= self._stamp
        }

    def finance_get_price_history(self, query: str) -> Any:
        """Return a ticker's daily prices until the question's time."""
        return self._history(super().finance_get_price_history(query))

    def finance_get_detailed_price_history(self, query: str) -> Any:
        """Return a ticker's prices by the minute until the question's time."""
        return self._history(super().finance_get_detailed_price_history(query))

    def finance_get_dividends_history(self, query: str) -> Any:
        """Return a ticker's dividends until the question's time."""
        return self._history(super().finance_get_dividends_history(query))

    def get_named(self, table: str, name: str) -> Any:
        """Return the value of a name, None for a company's figures where the question came before they were read."""
        value = super().get_named(table, name)
        return None if table in ("marketcap", "info") and self._day < SNAPSHOT else value

    # Music

    def _trait(self, table: str, name: str, field: str) -> Any:
        value = super()._trait(table, name, field)
        date = super()._trait(table, name, "date") if table == "song" else value if field.endswith("_date") else None
        return None if date and self._later(date) else value

    # Sports

    def sports_soccer_get_games_on_date(self, date: str, team_name: str | None = None) -> Table | None:
        """Return the soccer games of a day, a month or a year, as far as they are not later."""
        return self._games(super().sports_soccer_get_games_on_date(date, team_name), "date")

    def sports_nba_get_games_on_date(self, date: str, team_name: str | None = None) -> Table | None:
        """Return the NBA games of a day, a month or a year, as far as they are not later; rows are numbered anew."""
        games = self._games(super().sports_nba_get_games_on_date(date, team_name), "game_date")
        return games and {
            name: {str(n): cell for n, cell in enumerate(cells.values())} for name, cells in games.items()
        }

    def _games(self, games: Table | None, column: str) -> Table | None:
        if games is None:
            return None
        held = [label for label, date in games[column].items() if not self._later(date)]
        return {name: {label: cells[label] for label in held} for name, cells in games.items()} if held else None

    def sports_nba_get_play_by_play_data_by_game_ids(self, game_ids: list[str]) -> Table | None:
        """Return all plays of those of the games that are known and not later."""
        if not isinstance(game_ids, (list, tuple)):
            return super().sports_nba_get_play_by_play_data_by_game_ids(game_ids)
        wanted = dump([number for number in game_ids if isinstance(number, str)])
        rest = "game_id, game_date FROM {} WHERE game_id IN (SELECT value FROM json_each(?))"
        dates: Mapping[str, Any] = dict(self.rows("nba_game", rest, wanted))
        held = [number for number in game_ids if number in dates and not self._later(dates[number])]
        return super().sports_nba_get_play_by_play_data_by_game_ids(held)
