"""What a question of CRAG is about: names, dates and figures that the knowledge graph can be asked for.

A model names them in JSON, which `read` takes as it comes (CRAG's baseline has Llama-3-8B do it; the paper withholds
the prompt, so the fields are ours), or `guess` takes them from the question by rules. Neither looks at the graph, so
a name found here may be unknown there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from quadrag.kg.clock import parse

from .dates import MOST, clock, said
from .loose_json import objects
from .name_rules import names, ranks, symbol, tickers
from .wording import domain_of

DOMAINS = ("finance", "music", "movie", "sports", "open")
_NAMES = 12  # of one field
_LONGEST = 200  # characters of a name
_DEEPEST = 5  # lists within each other

# What the model is told; the question follows. No braces but those of the JSON: slots would be filled.
PROMPT_SCHEMA = """\
Read the question below and say what a knowledge graph should be asked for to answer it. Reply with one JSON object and nothing else. Its fields, of which you leave out those that are empty:
"domain": what the question is about: "finance", "music", "movie", "sports", or "open" for anything else
"companies": names of listed companies
"tickers": ticker symbols of shares, where the question gives them or you are sure of them
"movies": titles of films
"people": film people, such as actors and directors
"artists": musicians and bands
"songs": titles of songs
"teams": soccer and basketball teams, by their full names, such as "Chicago Bulls"
"names": other things, places and people that have an encyclopedia article, by the title of the article
"dates": every date that matters, as "YYYY-MM-DD", "YYYY-MM" or "YYYY"; work out words such as "yesterday" from the query time
"times": times of day, as "HH:MM" of New York
"ranks": positions in the Billboard Hot 100 that are asked about, as numbers
"aspects": what is asked about these things, in a few words, such as "release date", "closing price", "members"
All fields but "domain" are lists. Write names as they are properly written, and do not answer the question."""  # noqa: E501


@dataclass(frozen=True, slots=True)
class Entities:
    """What a question is about.

    Attributes:
        domain: one of `DOMAINS`; None where it is unknown, so that names are looked for in all.
        companies: names of listed companies.
        tickers: symbols of shares, in capitals.
        movies: titles of films.
        people: film people.
        artists: musicians and bands.
        songs: titles of songs.
        teams: sports teams.
        names: whatever else has a name, and names whose kind is unknown.
        dates: ``YYYY-MM-DD``, ``YYYY-MM`` or ``YYYY``.
        relative: dates as said, which the question's time must resolve (``yesterday``).
        times: times of day, ``HH:MM`` of New York.
        ranks: of the Billboard Hot 100, 1 to 100.
        aspects: what is asked about these, in words.
    """

    domain: str | None = None
    companies: tuple[str, ...] = ()
    tickers: tuple[str, ...] = ()
    movies: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    artists: tuple[str, ...] = ()
    songs: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    relative: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    aspects: tuple[str, ...] = ()


_FIELDS = frozenset(field.name for field in fields(Entities)) - {"relative"}
# Names that models give to the fields, besides ours.
_ALIASES = {
    **{"company": "companies", "ticker": "tickers", "person": "people", "persons": "people", "aspect": "aspects"},
    **{"person_name": "people", "movie": "movies", "movie_name": "movies", "artist": "artists", "song": "songs"},
    **{"team": "teams", "name": "names", "entity": "names", "date": "dates", "rank": "ranks", "time": "times"},
}
_DOMAIN_NAMES = {
    **{"movies": "movie", "film": "movie", "films": "movie", "sport": "sports", "financial": "finance"},
    **{"stocks": "finance", "encyclopedia": "open", "other": "open", "general": "open"},
}
_NOTHING = frozenset(("", "none", "null", "n/a", "na", "unknown", "nan", "undefined", "not specified", "-"))


def read(reply: str) -> Entities | None:
    """Read a model's reply.

    Args:
        reply: any text. Of several JSON objects the last with a field of ours counts, since models draft first; it may
            lie in another, such as ``{"entities": {...}}``.

    Returns:
        The entities, at most 12 of a field and 31 dates; what has a wrong type or is no name, date or number is left
        out. None where there is no object with any of our fields.
    """
    found = [fitting for one in objects(reply) for fitting in _fitting(one)]
    if not found:
        return None
    given = found[-1]
    dates, relative = _dates(given.get("dates"))
    domain = next(iter(_texts(given.get("domain"))), "").lower()
    return Entities(
        domain=(known if (known := _DOMAIN_NAMES.get(domain, domain)) in DOMAINS else None),
        tickers=_unique(symbol(text) for text in _texts(given.get("tickers"), keep_na=True)),
        dates=dates,
        relative=relative,
        times=_unique(time for text in _texts(given.get("times")) for time in clock(text)),
        ranks=tuple(dict.fromkeys(rank for text in _texts(given.get("ranks")) for rank in ranks(f"no. {text}")))[
            :_NAMES
        ],
        **{
            name: _unique(_texts(given.get(name)))
            for name in ("companies", "movies", "people", "artists", "songs", "teams", "names", "aspects")
        },
    )


def _fitting(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the object by our names of its fields, if it has any, else those within it."""
    named: dict[str, Any] = {}
    for label, held in value.items():
        plain = label.strip().lower().replace(" ", "_").replace("-", "_")
        if (name := _ALIASES.get(plain, plain)) in _FIELDS and named.get(name) is None:
            named[name] = held
    if named:
        yield named
        return
    for held in value.values():
        if isinstance(held, dict) and any(_ALIASES.get(label, label) in _FIELDS for label in held):
            yield from _fitting(held)


def _texts(value: Any, depth: int = 0, keep_na: bool = False) -> Iterator[str]:
    """Yield the names in a value: a text, a number, a list of such, or an object with a name."""
    if isinstance(value, (list, tuple)) and depth < _DEEPEST:
        for one in value[:100]:
            yield from _texts(one, depth + 1, keep_na)
    elif isinstance(value, dict) and depth < _DEEPEST:
        for label in ("name", "title", "value", "date", "symbol"):
            if label in value:
                yield from _texts(value[label], depth + 1, keep_na)
                return
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18:
        yield str(value)
    elif isinstance(value, float) and abs(value) < 10**15:
        yield f"{value:.15g}"
    elif isinstance(value, str):
        # A half of a surrogate pair can neither be looked up nor sent to a model.
        text = " ".join(value[:1000].encode("utf-8", "ignore").decode().replace("\0", " ").split())
        if (text.lower() not in _NOTHING or (keep_na and text == "NA")) and len(text) <= _LONGEST:
            yield text


def _dates(value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The dates that stand for themselves, and the words that only the question's time resolves."""
    dates: dict[str, None] = {}
    relative: dict[str, None] = {}
    for text in _texts(value):
        if known := said(text):
            dates |= dict.fromkeys(known)
        elif len(text) <= 60:
            relative[text] = None
    return tuple(dates)[:MOST], tuple(relative)[:_NAMES]


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts that are not empty, each once whatever its case, at most 12."""
    first: dict[str, str] = {}
    for text in texts:
        if text:
            first.setdefault(text.casefold(), text)
    return tuple(first.values())[:_NAMES]


def guess(query: str, query_time: str) -> Entities:
    """Find the entities of a question by rules.

    Names are quoted titles, runs of words in capitals, and what is left between the words of asking, all under
    `names`: rules cannot tell an actor from a band. A name made of words of asking alone (`Up`) is found only if quoted
    or in capitals.

    Args:
        query: in English.
        query_time: ``MM/DD/YYYY, HH:MM:SS PT``, against which dates are resolved.

    Raises:
        QuadragError: the time has another form.
    """
    query = query[:2000]
    return Entities(
        domain=domain_of(query),
        tickers=_unique(tickers(query)),
        names=_unique(names(query)),
        dates=said(query, parse(query_time).date()),
        times=clock(query),
        ranks=tuple(dict.fromkeys(ranks(query))),
    )
