"""Facts of the music domain: artists, songs, the Billboard Hot 100, and the Grammys.

A chart is looked for on the date asked about, then on the Saturdays before and after it, by which charts are dated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

from .fact_asked import Asked
from .fact_calls import Calls, core, fact, shown, within

_SONGS = 2  # of all; of one name as many are compared by their authors:
_VARIANTS = 4
_ARTISTS = 2
_DATES = 2
_YEARS = 2
_WORKS = 30
_ATTRIBUTES = ("weeks_in_chart", "rank", "rank_last_week", "top_position")
_PLACES = {
    "weeks_in_chart": "weeks in the chart",
    "rank": "rank",
    "rank_last_week": "former rank (chart before)",
    "top_position": "top position (peak)",
}


def find(calls: Calls, asked: Asked) -> None:
    """Add the artists and songs of a question, the charts of its dates, and the Grammys of its years."""
    searches = {
        "artists": lambda name: calls.ask("music_search_artist_entity_by_name", name) or [],
        "songs": lambda name: calls.ask("music_search_song_entity_by_name", name) or [],
    }
    # More of the song's spellings than are told: its author chooses.
    chosen = asked.resolve("music", searches, most={"songs": _VARIANTS})
    ranked = _ranks(calls, asked)
    songs = _by_author(calls, asked, chosen["songs"])
    for song in list(dict.fromkeys((*songs, *ranked)))[:_SONGS]:
        _song(calls, song)
    artists = chosen["artists"]
    if not artists and not songs:
        artists = list(asked.entities.artists)  # unknown to the search, which cannot find common words
    for artist in artists[:_ARTISTS]:
        _artist(calls, artist)
    for song in songs[:_SONGS]:
        _charts(calls, asked, song)
    for year in [year for year in asked.years if 1957 <= year <= 2019][:_YEARS]:
        for award in ("artist", "song", "album"):
            label = "Best New Artist" if award == "artist" else f"{award} of the year"
            calls.tell(f"Grammys of {year}", label, f"music_grammy_get_best_{award}_by_year", year)
    calls.tell("Grammys", "Best New Artist of some year", "music_grammy_get_all_awarded_artists")


def _artist(calls: Calls, artist: str) -> None:
    calls.tell(artist, "country of birth or origin (code)", "music_get_artist_birth_place", artist)
    calls.tell(artist, "date of birth or beginning", "music_get_artist_birth_date", artist)
    calls.tell(artist, "member of the band", "music_get_members", artist)
    span = calls.ask("music_get_lifespan", artist)
    if isinstance(span, list) and len(span) == 2 and shown(span[1]):
        line = fact(
            artist,
            "lifespan (from birth to death, or beginning to end)",
            f"{shown(span[0]) or '?'} to {shown(span[1])}",
        )
        calls.add([line], "music_get_lifespan", artist)
    works = calls.ask("music_get_artist_all_works", artist)
    if isinstance(works, list):
        titles = [shown(one) for one in works if shown(one)]
        more = f" and {len(titles) - _WORKS} more" if len(titles) > _WORKS else ""
        calls.add([fact(artist, "works", "; ".join(titles[:_WORKS]) + more)], "music_get_artist_all_works", artist)
    count = calls.tell(artist, "number of Grammy awards", "music_grammy_get_award_count_by_artist", artist)
    if count:
        years = calls.ask("music_grammy_get_award_date_by_artist", artist) or []
        line = fact(artist, "years of Grammy awards", ", ".join(map(str, years)))
        calls.add([line], "music_grammy_get_award_date_by_artist", artist)


def _by_author(calls: Calls, asked: Asked, songs: Iterable[str]) -> list[str]:
    """Of songs with one name those whose author stands in the question, if any do."""
    songs = list(songs)
    said = (
        {song for song in songs if _said(asked, calls.ask("music_get_song_author", song))} if len(songs) > 1 else set()
    )
    return [song for song in songs if song in said] or songs


def _said(asked: Asked, name: Any) -> bool:
    return isinstance(name, str) and any(
        within(core(name), core(text)) for text in (asked.query, *asked.entities.artists, *asked.entities.names)
    )


def _song(calls: Calls, song: str) -> None:
    calls.tell(song, "author or artist of the song", "music_get_song_author", song)
    calls.tell(song, "date of release", "music_get_song_release_date", song)
    calls.tell(song, "country of release (code)", "music_get_song_release_country", song)
    calls.tell(song, "number of Grammy awards", "music_grammy_get_award_count_by_song", song)


def _days(asked: Asked) -> list[str]:
    """The days whose charts are asked about, the last of them first; the question's own where none is named."""
    days = [one for one in asked.dates if len(one) == 10]
    return list(reversed(days[-7:]))[:_DATES] if days else [] if asked.dates else [str(asked.day)]


def _near(day: str) -> list[str]:
    """A day, then the Saturdays before and after it."""
    at = date.fromisoformat(day)
    try:
        before = at - timedelta((at.weekday() - 5) % 7)
        return list(dict.fromkeys((day, str(before), str(before + timedelta(7)))))
    except OverflowError:  # the calendar's end
        return [day]


def _ranks(calls: Calls, asked: Asked) -> list[str]:
    """Add who held the ranks asked about; return the songs of named dates."""
    function, songs = "music_get_billboard_rank_date", []
    for rank in asked.entities.ranks[:_DATES]:
        dated = False
        for day in _days(asked):
            for chart in _near(day):
                titles, artists = calls.ask(function, rank, chart) or (None, None)
                if titles and artists:
                    line = fact(
                        f"Billboard Hot 100 of {chart}", f"rank {rank}", f"{shown(titles[0])} by {shown(artists[0])}"
                    )
                    calls.add([line], function, rank, chart)
                    songs.append(shown(titles[0]))
                    dated = True
                    break
        if dated:
            continue
        titles, artists = calls.ask(function, rank) or (None, None)
        if titles and artists:
            held = Counter(f"{shown(song)} by {shown(artist)}" for song, artist in zip(titles, artists, strict=True))
            subject = f"Billboard Hot 100 at rank {rank}"
            calls.add(
                (fact(subject, "charts counted", f"{name}, {count}") for name, count in held.items()), function, rank
            )
    return songs


def _charts(calls: Calls, asked: Asked, song: str) -> None:
    function = "music_get_billboard_attributes"
    for day in _days(asked):
        for chart in _near(day):
            if calls.ask(function, chart, _ATTRIBUTES[0], song) is None:
                continue
            for attribute in _ATTRIBUTES:
                label = f"{_PLACES[attribute]}, Billboard Hot 100 of {chart}"
                calls.tell(song, label, function, chart, attribute, song)
            break
