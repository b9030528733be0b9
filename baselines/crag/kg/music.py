"""The music domain; names are looked up exactly, as upstream does, only the two searches are fuzzy."""

import json
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from . import restricted_pickle
from .store import Part, Store, dump, fill, index_names, key

_AWARD_YEARS = range(1957, 2020)
_AWARD_COLUMNS = ("year", "category", "nominee", "artist", "workers")
_NAMED = "instr(nominee, ?1) OR instr(artist, ?1) OR instr(workers, ?1)"  # what an index cannot find
# Places in a chart's row. Where place 6 holds a hyphen, the three figures stand in another order.
_RANK, _SHIFTED = 3, 6
_PLACES = {"rank_last_week": 4, "weeks_in_chart": 6, "top_position": 5}
_PLACES_SHIFTED = {"rank_last_week": 6, "weeks_in_chart": 5, "top_position": 4}


def _dicts(paths: list[Path]) -> Iterator[tuple[str, None, str]]:
    for path in paths:
        yield from ((name, None, value) for name, value in restricted_pickle.read_items(path) if type(name) is str)


def _load_names(table: str, searched: bool, db: sqlite3.Connection, paths: list[Path]) -> None:
    fill(db, table, _dicts(paths))
    if searched:
        index_names(db, table, "music")


def _ranks(db: sqlite3.Connection, paths: list[Path]) -> None:
    db.execute("CREATE TABLE ranks (n INTEGER PRIMARY KEY, rank TEXT, date, song, artist)")
    for rank, _, rows in _dicts(paths):
        values = ((rank, *(_bind(row[name]) for name in ("Date", "Song", "Artist"))) for row in json.loads(rows))
        db.executemany("INSERT INTO ranks (rank, date, song, artist) VALUES (?, ?, ?, ?)", values)
    db.execute("CREATE INDEX ranks_date ON ranks (rank, date)")


def _charts(db: sqlite3.Connection, paths: list[Path]) -> None:
    db.execute("CREATE TABLE charts (song, date, value TEXT, PRIMARY KEY (song, date)) WITHOUT ROWID")
    for song, _, dates in _dicts(paths):
        rows = ((key(song), key(date), dump(row)) for date, row in json.loads(dates).items())
        db.executemany("INSERT INTO charts VALUES (?, ?, ?)", rows)


def _grammys(db: sqlite3.Connection, paths: list[Path]) -> None:
    db.execute("CREATE TABLE grammy (n INTEGER PRIMARY KEY, year INTEGER, category, nominee, artist, workers)")
    for path in paths:
        table = restricted_pickle.read_table(path)
        places = [table.columns.index(name) for name in _AWARD_COLUMNS]
        rows = (tuple(_bind(row[place]) for place in places) for row in table.rows)
        db.executemany("INSERT INTO grammy (year, category, nominee, artist, workers) VALUES (?, ?, ?, ?, ?)", rows)
    db.execute("CREATE INDEX grammy_category ON grammy (category, year)")
    db.execute("CREATE INDEX grammy_nominee ON grammy (nominee)")


def _bind(value: Any) -> Any:
    return key(value) if isinstance(value, str) else value


PARTS = (
    Part("artist", ("music/artist_dict_simplified.pickle",), partial(_load_names, "artist", True)),
    Part("song", ("music/song_dict_simplified.pickle",), partial(_load_names, "song", True)),
    Part("works", ("music/artist_work_dict.pickle",), partial(_load_names, "works", False)),
    Part("ranks", ("music/rank_dict_hot100.pickle",), _ranks),
    Part("charts", ("music/song_dict_hot100.pickle",), _charts),
    Part("grammy", ("music/grammy_df.pickle",), _grammys),
)


class Music(Store):
    """The nineteen functions of the music domain."""

    def music_search_artist_entity_by_name(self, query: str) -> list[str]:
        """Return the at most ten artists nearest to a name, best first."""
        return self.search_names("artist", query)

    def music_search_song_entity_by_name(self, query: str) -> list[str]:
        """Return the at most ten songs nearest to a name, best first."""
        return self.search_names("song", query)

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

        `attribute`: rank_last_week, weeks_in_chart, top_position or rank; any other is taken as rank, as upstream. A
        row that is too short raises IndexError, where upstream answers 500.
        """
        rows = self.rows("charts", "value FROM {} WHERE song = ? AND date = ?", song_name, date)
        if not rows:
            return None
        row = json.loads(rows[0][0])
        places = _PLACES_SHIFTED if row[_SHIFTED] == "-" else _PLACES
        return row[places.get(attribute, _RANK)]

    def music_grammy_get_best_artist_by_year(self, query: int) -> list[str] | None:
        """Return the nominees for Best New Artist of a year; None outside of 1957 to 2019."""
        return self._nominees("Best New Artist", query)

    def music_grammy_get_best_song_by_year(self, query: int) -> list[str] | None:
        """Return the nominees for Song Of The Year of a year; None outside of 1957 to 2019."""
        return self._nominees("Song Of The Year", query)

    def music_grammy_get_best_album_by_year(self, query: int) -> list[str] | None:
        """Return the nominees for Album Of The Year of a year; None outside of 1957 to 2019."""
        return self._nominees("Album Of The Year", query)

    def music_grammy_get_award_count_by_artist(self, query: str) -> int:
        """Return in how many fields (nominee, artist, workers) a name occurs: one award may count up to three times."""
        parts = " + ".join(f"(instr(ifnull({name}, ''), ?1) > 0)" for name in ("nominee", "artist", "workers"))
        rest = f"ifnull(sum({parts}), 0) FROM {{}} WHERE {_NAMED} OR ?1 = ''"
        return int(self.rows("grammy", rest, query)[0][0])

    def music_grammy_get_award_count_by_song(self, query: str) -> int:
        """Return how many awards have this nominee, exactly."""
        return int(self.rows("grammy", "count(*) FROM {} WHERE nominee = ?", query)[0][0])

    def music_grammy_get_award_date_by_artist(self, query: str) -> list[int]:
        """Return the years of awards in which a name occurs (nominee, artist, workers), ascending."""
        rows = self.rows("grammy", f"DISTINCT year FROM {{}} WHERE year NOTNULL AND ({_NAMED}) ORDER BY year", query)
        return [int(year) for (year,) in rows]

    def music_grammy_get_all_awarded_artists(self) -> list[str]:
        """Return every nominee for Best New Artist once, in the file's order."""
        rest = "nominee FROM {} WHERE category = 'Best New Artist' AND nominee NOTNULL GROUP BY nominee ORDER BY min(n)"
        return [nominee for (nominee,) in self.rows("grammy", rest)]

    def music_get_artist_birth_place(self, query: str) -> Any:
        """Return an artist's country, a code of two letters; None if unknown."""
        return self._trait("artist", query, "country")

    def music_get_artist_birth_date(self, query: str) -> Any:
        """Return an artist's date of birth, as much of it as is known; None if unknown."""
        return self._trait("artist", query, "birth_date")

    def music_get_members(self, query: str) -> Any:
        """Return a band's members, each once, in the file's order; None if unknown."""
        members = self._trait("artist", query, "members")
        return list(dict.fromkeys(members)) if isinstance(members, list) else members

    def music_get_lifespan(self, query: str) -> list[Any]:
        """Return an artist's dates of birth and death, or a band's of beginning and end; None for each unknown."""
        return [self._trait("artist", query, "birth_date"), self._trait("artist", query, "end_date")]

    def music_get_song_author(self, query: str) -> Any:
        """Return a song's author; None if unknown."""
        return self._trait("song", query, "author")

    def music_get_song_release_country(self, query: str) -> Any:
        """Return the country of a song's release, a code of two letters; None if unknown."""
        return self._trait("song", query, "country")

    def music_get_song_release_date(self, query: str) -> Any:
        """Return the date of a song's release; None if unknown."""
        return self._trait("song", query, "date")

    def music_get_artist_all_works(self, query: str) -> Any:
        """Return an artist's works; None if unknown."""
        return self.get_named("works", query) or None

    def _nominees(self, category: str, year: int) -> list[str] | None:
        if int(year) not in _AWARD_YEARS:
            return None
        rest = "nominee FROM {} WHERE category = ? AND year = ? ORDER BY n"
        return [nominee for (nominee,) in self.rows("grammy", rest, category, int(year))]

    def _trait(self, table: str, name: str, field: str) -> Any:
        entity = self.get_named(table, name)
        return (entity.get(field) or None) if isinstance(entity, dict) else None
