"""What the knowledge graph knows for a question: the functions that apply, called, and their results as text.

CRAG's tasks 2 and 3 give a model such facts in a window of their own (arXiv:2406.04744, section 5.1); which functions
are called is not told there, so the choice, `choose_functions`, is ours. Names are searched for, and taken where they
are the same or stand in the question; results become lines in order of their overlap with the question. Nothing is
computed from them: a sum or a difference is the model's work. What lies after the question is hidden by the graph
that the caller passes (`quadrag.baselines.crag.kg.clock.at`).
"""

import re
from dataclasses import replace

from quadrag.records import Passage

from ..kg.clock import parse
from ..kg.graph import Graph
from ..kg.tools import FUNCTIONS
from ..language.dates import find_dates, find_spans
from ..language.entities import Entities
from ..language.wording import WORDS, expand_query
from . import encyclopedia, finance, movie, music, sports
from .calls import Calls
from .question import FactQuestion

_DETAILED = re.compile(r"\b(?:today|tonight|now|this morning|intraday|at the moment)\b")
_AWARDS = re.compile(r"grammy|best new artist|song of the year|album of the year")
_OSCARS = re.compile(r"\boscars?\b|academy award")
_CHARTS = re.compile(r"billboard|hot 100|\bcharts?\b|charted|number one|no\. ?1\b|#1")
_PLAYS = re.compile(r"play[- ]by[- ]play|(?:first|last|final|opening) (?:basket|shot|play)\b|tip[- ]off|jump ball")
_DOMAINS = {
    "open": encyclopedia.add_facts,
    "movie": movie.add_facts,
    "music": music.add_facts,
    "finance": finance.add_facts,
    "sports": sports.add_facts,
}


def choose_functions(entities: Entities, query: str = "") -> list[str]:
    """Return the functions that `find_facts` may call, in the order of `FUNCTIONS`.

    The words of the question tell whether charts, awards, minutes of trading or plays are asked for.
    """
    text = " ".join((query, *entities.aspects)).lower()
    dated = bool(entities.dates or entities.relative or find_dates(query))
    named, unknown = bool(entities.names), entities.domain is None

    def may_be(domain: str) -> bool:
        """Whether names of unknown kind may be of a domain."""
        return named and (unknown or entities.domain == domain)

    films = bool(entities.movies or entities.people)
    artists = bool(entities.artists or entities.songs)
    music = artists or may_be("music")
    companies = bool(entities.companies or entities.tickers) or may_be("finance")
    games = bool(entities.teams) or entities.domain == "sports" or (named and unknown and dated)
    asked = {
        "entries": named or films or artists or entities.companies or entities.teams,
        "films": films or may_be("movie"),
        "films of a year": dated and (entities.domain == "movie" or _OSCARS.search(text)),
        "companies": companies,
        "minutes of trading": companies and (entities.times or _DETAILED.search(text)),
        "music": music,
        "charts": music and (entities.ranks or _CHARTS.search(text)),
        "ranks": entities.ranks and (unknown or entities.domain == "music"),
        "awards of a year": dated and _AWARDS.search(text),
        "best new artist": "best new artist" in text,
        "games": games,
        "plays": games and _PLAYS.search(text),
    }
    found = {name for group, names in WORDS["functions"].items() if asked[group] for name in names.split()}
    return [name for name in FUNCTIONS if name in found]


def find_facts(graph: Graph, entities: Entities, query: str, query_time: str) -> list[Passage]:
    """Return what the graph knows for a question, best first: a passage for each call with a result.

    Its id is ``kg/0`` on, its title the call, its text lines, its score the first line's overlap with the question. At
    most 40 calls and 40 look-ups of films and people by id are made; of a call at most 40 lines of 600 characters are
    kept. Names of a kind are searched for, and the nearest is taken where half of the words agree; those in `names`
    must be the same, or hold a name of two words or more that is the same. Where no date is named, those in the
    question count. Where the domain has no result, the encyclopedia is asked, then the other domains.

    `query_time`: ``MM/DD/YYYY, HH:MM:SS PT``.
    """
    return make_calls(graph, entities, query, query_time).passages()


def make_calls(graph: Graph, entities: Entities, query: str, query_time: str) -> Calls:
    """Make the calls for a question; see `find_facts`."""
    moment = parse(query_time)
    day = moment.date()
    named = (one for text in (*entities.dates, *entities.relative) for one in find_dates(text, day))
    dates = tuple(dict.fromkeys(named)) or find_dates(query, day)
    entities = replace(entities, dates=dates, relative=())
    words = list(query)
    for start, end in find_spans(query) if dates else ():
        words[start:end] = " " * (end - start)
    wanted = expand_query("".join(words), entities.aspects, dates)  # of a date its one form alone: `2` is in many lines
    question = FactQuestion(entities, query.lower(), moment)
    calls = Calls(graph, frozenset(choose_functions(entities, query)), wanted)
    # The question's own domain first, since calls are counted; names of a known kind are of theirs, whatever it is.
    for domain in sorted(_DOMAINS, key=lambda domain: domain != entities.domain):
        if domain != "open" or entities.domain in (None, "open"):
            _DOMAINS[domain](calls, question)
    if calls.empty and entities.domain is not None:
        anywhere = replace(entities, domain=None)
        calls.applicable = frozenset(choose_functions(anywhere, query))
        encyclopedia.add_facts(calls, question, every=True)
        for domain in _DOMAINS:
            if domain != "open" and calls.empty:
                _DOMAINS[domain](calls, replace(question, entities=anywhere))
    return calls
