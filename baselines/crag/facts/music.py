"""Facts of the music domain: artists, songs, the Billboard Hot 100, and the Grammys.

A chart is looked for on the date asked about, then on the Saturdays before and after it, by which charts are dated.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta

from .calls import Calls, format_fact, format_value
from .question import FactQuestion, occurs_in, split_name

_SONGS = 2  # of all; of one name as many are compared by their authors:
_VARIANTS = 4
_ARTISTS = 2
_DATES = 2
_YEARS = 2
_WORKS = 30
_PLACES = {
    "weeks_in_chart": "weeks in the chart",
    "rank": "rank",
    "rank_last_week": "former rank (chart before)",
    "top_position": "top position (peak)",
}
_AWARDS = {"artist": "Best New Artist", "song": "song of the year", "album": "album of the year"}


def add_facts(calls: Calls, question: FactQuestion) -> None:
    """Add the artists and songs of a question, the charts of its dates, and the Grammys of its years."""
    searches = {
        "artists": lambda name: calls.ask("music_search_artist_entity_by_name", name) or [],
        "songs": lambda name: calls.ask("music_search_song_entity_by_name", name) or [],
    }
    # More of the song's spellings than are told: its author chooses.
    chosen = question.resolve("music", searches, most={"songs": _VARIANTS})
    ranked = _add_ranks(calls, question)
    songs = _choose_by_author(calls, question, chosen["songs"])
    for song in list(dict.fromkeys((*songs, *ranked)))[:_SONGS]:
        _add_song(calls, song)
    artists = chosen["artists"]
    if not artists and not songs:
        artists = list(question.entities.artists)  # unknown to the search, which cannot find common words
    for artist in artists[:_ARTISTS]:
        _add_artist(calls, artist)
    for song in songs[:_SONGS]:
        _add_charts(calls, question, song)
    for year in [year for year in question.years if 1957 <= year <= 2019][:_YEARS]:
        for award, label in _AWARDS.items():
            calls.add_value(f"Grammys of {year}", label, f"music_grammy_get_best_{award}_by_year", year)
    calls.add_value("Grammys", "Best New Artist of some year", "music_grammy_get_all_awarded_artists")


def _add_artist(calls: Calls, artist: str) -> None:
    calls.add_value(artist, "country of birth or origin (code)", "music_get_artist_birth_place", artist)
    calls.add_value(artist, "date of birth or beginning", "music_get_artist_birth_date", artist)
    calls.add_value(artist, "member of the band", "music_get_members", artist)
    span = calls.ask("music_get_lifespan", artist)
    if isinstance(span, list) and len(span) == 2 and format_value(span[1]):
        label = "lifespan (from birth to death, or beginning to end)"
        line = format_fact(artist, label, f"{format_value(span[0]) or '?'} to {format_value(span[1])}")
        calls.add([line], "music_get_lifespan", artist)
    works = calls.ask("music_get_artist_all_works", artist)
    if isinstance(works, list):
        titles = list(filter(None, map(format_value, works)))
        more = f" and {len(titles) - _WORKS} more" if len(titles) > _WORKS else ""
        line = format_fact(artist, "works", "; ".join(titles[:_WORKS]) + more)
        calls.add([line], "music_get_artist_all_works", artist)
    if calls.add_value(artist, "number of Grammy awards", "music_grammy_get_award_count_by_artist", artist):
        years = calls.ask("music_grammy_get_award_date_by_artist", artist) or []
        line = format_fact(artist, "years of Grammy awards", ", ".join(map(str, years)))
        calls.add([line], "music_grammy_get_award_date_by_artist", artist)


def _choose_by_author(calls: Calls, question: FactQuestion, songs: list[str]) -> list[str]:
    texts = (question.query, *question.entities.artists, *question.entities.names)
    named = [split_name(text) for text in texts]
    authors = {song: calls.ask("music_get_song_author", song) for song in songs} if len(songs) > 1 else {}
    theirs = [
        song
        for song, author in authors.items()
        if isinstance(author, str) and any(occurs_in(split_name(author), words) for words in named)
    ]
    return theirs or songs


def _add_song(calls: Calls, song: str) -> None:
    calls.add_value(song, "author or artist of the song", "music_get_song_author", song)
    calls.add_value(song, "date of release", "music_get_song_release_date", song)
    calls.add_value(song, "country of release (code)", "music_get_song_release_country", song)
    calls.add_value(song, "number of Grammy awards", "music_grammy_get_award_count_by_song", song)


def _days(question: FactQuestion) -> list[str]:
    """The days whose charts are asked about, the last of them first; the question's own where none is named."""
    if not question.dates:
        return [str(question.day)]
    days = [one for one in question.dates if len(one) == 10]
    return days[-7:][::-1][:_DATES]


def _chart_days(day: str) -> list[str]:
    at = date.fromisoformat(day)
    try:
        before = at - timedelta((at.weekday() - 5) % 7)
        return list(dict.fromkeys((day, str(before), str(before + timedelta(7)))))
    except OverflowError:  # the calendar's end
        return [day]


def _add_ranks(calls: Calls, question: FactQuestion) -> list[str]:
    function = "music_get_billboard_rank_date"
    songs: list[str] = []

    def holders(*arguments: object) -> Iterator[tuple[str, str]]:
        titles, artists = calls.ask(function, *arguments) or ((), ())
        yield from zip(map(format_value, titles or ()), map(format_value, artists or ()), strict=False)

    for rank in question.entities.ranks[:_DATES]:
        dated = False
        for day in _days(question):
            for chart in _chart_days(day):
                if held := next(holders(rank, chart), None):
                    line = format_fact(f"Billboard Hot 100 of {chart}", f"rank {rank}", " by ".join(held))
                    calls.add([line], function, rank, chart)
                    songs.append(held[0])
                    dated = True
                    break
        if not dated:
            counts = Counter(map(" by ".join, holders(rank)))
            subject = f"Billboard Hot 100 at rank {rank}"
            lines = (format_fact(subject, "charts counted", f"{name}, {count}") for name, count in counts.items())
            calls.add(lines, function, rank)
    return songs


def _add_charts(calls: Calls, question: FactQuestion, song: str) -> None:
    function = "music_get_billboard_attributes"
    for day in _days(question):
        for chart in _chart_days(day):
            if calls.ask(function, chart, "weeks_in_chart", song) is not None:
                for attribute, place in _PLACES.items():
                    label = f"{place}, Billboard Hot 100 of {chart}"
                    calls.add_value(song, label, function, chart, attribute, song)
                break
