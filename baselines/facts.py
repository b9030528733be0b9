"""What the knowledge graph knows for a question: the functions that apply, called, and their results as text.

CRAG's tasks 2 and 3 give a model such facts in a window of their own (arXiv:2406.04744, section 5.1); which functions
are called is not told there, so the choice, `applicable`, is ours. Names are searched for, and taken where they are the
same or stand in the question; results become lines in order of their overlap with the question. Nothing is computed
from them: a sum or a difference is the model's work. What lies after the question is hidden by the graph
that the caller passes (`quadrag.kg.clock.at`).
"""

from __future__ import annotations

import re
from dataclasses import replace

from quadrag.kg.clock import parse
from quadrag.kg.graph import Graph
from quadrag.kg.tools import FUNCTIONS
from quadrag.records import Passage

from . import facts_finance, facts_movie, facts_music, facts_open, facts_sports
from .dates import said, spans
from .entities import Entities
from .fact_asked import Asked
from .fact_calls import Calls
from .wording import sought

_DETAILED = re.compile(r"\b(?:today|tonight|now|this morning|intraday|at the moment)\b")
_AWARDS = re.compile(r"grammy|best new artist|song of the year|album of the year")
_OSCARS = re.compile(r"\boscars?\b|academy award")
_CHARTS = re.compile(r"billboard|hot 100|\bcharts?\b|charted|number one|no\. ?1\b|#1")
_PLAYS = re.compile(r"play[- ]by[- ]play|(?:first|last|final|opening) (?:basket|shot|play)\b|tip[- ]off|jump ball")


def applicable(entities: Entities, query: str = "") -> list[str]:
    """Return the functions that `facts` may call, in the order of `FUNCTIONS`; all 38 apply to some question.

    Args:
        entities: of the question.
        query: the question, whose words tell whether charts, awards, minutes of trading or plays are asked for.
    """
    text = " ".join((query, *entities.aspects)).lower()
    unknown = entities.domain is None
    named = bool(entities.names)
    dated = bool(entities.dates or entities.relative or said(query))
    found: set[str] = set()

    def take(prefix: str, *names: str) -> None:
        found.update(f"{prefix}_{name}" for name in names)

    any_name = (entities.companies, entities.movies, entities.people, entities.artists, entities.songs, entities.teams)
    if named or any(any_name):
        take("open", "search_entity_by_name", "get_entity")
    if entities.movies or entities.people or (named and (unknown or entities.domain == "movie")):
        take("movie", "get_person_info", "get_movie_info", "get_movie_info_by_id", "get_person_info_by_id")
    if dated and (entities.domain == "movie" or _OSCARS.search(text)):
        take("movie", "get_year_info", "get_movie_info_by_id")
    if entities.companies or entities.tickers or (named and (unknown or entities.domain == "finance")):
        take("finance", "get_company_name", "get_ticker_by_name", "get_price_history", "get_dividends_history")
        take("finance", "get_market_capitalization", "get_eps", "get_pe_ratio", "get_info")
        if entities.times or _DETAILED.search(text):
            take("finance", "get_detailed_price_history")
    charts = bool(entities.ranks) or bool(_CHARTS.search(text))
    if entities.artists or entities.songs or (named and (unknown or entities.domain == "music")):
        take("music", "search_artist_entity_by_name", "search_song_entity_by_name", "get_artist_birth_place")
        take("music", "get_artist_birth_date", "get_members", "get_lifespan", "get_artist_all_works", "get_song_author")
        take("music", "get_song_release_country", "get_song_release_date", "grammy_get_award_count_by_artist")
        take("music", "grammy_get_award_count_by_song", "grammy_get_award_date_by_artist")
        if charts:
            take("music", "get_billboard_attributes")
    if entities.ranks and (unknown or entities.domain == "music"):
        take("music", "get_billboard_rank_date", "get_song_author", "get_song_release_date", "get_song_release_country")
    if _AWARDS.search(text):
        if dated:
            take("music", *(f"grammy_get_best_{what}_by_year" for what in ("artist", "song", "album")))
        if "best new artist" in text:
            take("music", "grammy_get_all_awarded_artists")
    if entities.teams or entities.domain == "sports" or (named and unknown and dated):
        take("sports", "soccer_get_games_on_date", "nba_get_games_on_date")
        if _PLAYS.search(text):
            take("sports", "nba_get_play_by_play_data_by_game_ids")
    return [name for name in FUNCTIONS if name in found]


def facts(graph: Graph, entities: Entities, query: str, query_time: str) -> list[Passage]:
    """Return what the graph knows for a question, best first.

    Args:
        graph: an open graph, or one as of the question's time. A part that it was built without gives nothing.
        entities: of the question. Names of their kind are searched for, and the nearest is taken where half of the
            words agree; those in `names` must be the same, or hold a name of two words or more that is the same. Where
            no date is named, those that the question says count.
        query: the question.
        query_time: ``MM/DD/YYYY, HH:MM:SS PT``.

    Returns:
        A passage for each call with a result: id ``kg/0`` on, the call as its title, lines as its text, the overlap of
        its first line with the question as its score. At most 40 calls and 40 look-ups of films and people by id are
        made; of a call at most 40 lines of 600 characters are kept. Where the domain has no result, the encyclopedia is
        asked, then the other domains.

    Raises:
        QuadragError: the time has another form.
    """
    return run(graph, entities, query, query_time).passages()


def run(graph: Graph, entities: Entities, query: str, query_time: str) -> Calls:
    """Make the calls for a question; see `facts`."""
    moment = parse(query_time)
    day = moment.date()
    named = (one for text in (*entities.dates, *entities.relative) for one in said(text, day))
    dates = tuple(dict.fromkeys(named)) or said(query, day)
    entities = replace(entities, dates=dates, relative=())
    dated = [*spans(query)] if dates else []
    words = "".join(" " if any(start <= at < end for start, end in dated) else one for at, one in enumerate(query))
    wanted = sought(words, entities.aspects, dates)  # dates in their one form alone: `2` is no word of a line
    asked = Asked(entities, query.lower(), moment)
    calls = Calls(graph, frozenset(applicable(entities, query)), wanted)
    # The question's own domain first, since calls are counted; names of a known kind are of theirs, whatever it is.
    for domain in sorted(_DOMAINS, key=lambda domain: domain != entities.domain):
        if domain != "open" or entities.domain in (None, "open"):
            _DOMAINS[domain](calls, asked)
    if calls.empty and entities.domain is not None:
        anywhere = replace(entities, domain=None)
        calls.applicable = frozenset(applicable(anywhere, query))
        facts_open.find(calls, asked, every=True)
        for domain in (domain for domain in _DOMAINS if domain != "open" and calls.empty):
            _DOMAINS[domain](calls, replace(asked, entities=anywhere))
    return calls


_DOMAINS = {
    "open": facts_open.find,
    "movie": facts_movie.find,
    "music": facts_music.find,
    "finance": facts_finance.find,
    "sports": facts_sports.find,
}
