"""The 38 functions of CRAG's mock knowledge graph as data: route, parameters, description; tool schemas; checked calls.

One table, `FUNCTIONS`, is what the server's routes and the schemas for function-calling models are made from; names,
routes and body fields are upstream's. It answers nothing itself: see `graph.py`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from quadrag.errors import QuadragError, unknown_name

Kind = Literal["str", "int", "strs"]
_SCHEMAS: dict[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "strs": {"type": "array", "items": {"type": "string"}},
}
_NOUNS = {"str": "a text", "int": "a whole number", "strs": "a list of texts"}


class Parameter(NamedTuple):
    """One parameter, which is also one field of the route's body."""

    name: str
    kind: Kind
    description: str
    required: bool = True


class Function(NamedTuple):
    """One function: `name` is ``<domain>_<route's last parts>``, as in `Graph`; `route` is the server's path."""

    name: str
    route: str
    description: str
    parameters: tuple[Parameter, ...]


def _query(description: str, kind: Kind = "str") -> tuple[Parameter]:
    return (Parameter("query", kind, description),)


_TICKER = _query("ticker symbol in capitals, such as META")
_ARTIST = _query("the artist's name exactly as music_search_artist_entity_by_name returns it")
_SONG = _query("the song's title exactly as music_search_song_entity_by_name returns it")
_GRAMMY_YEAR = _query("year from 1957 to 2019", "int")
_GAME_DAY = Parameter("date", "str", "day, month or year: YYYY-MM-DD, YYYY-MM or YYYY")

# Route, description, parameters.
_TABLE: tuple[tuple[str, str, tuple[Parameter, ...]], ...] = (
    (
        "/open/search_entity_by_name",
        "Search encyclopedia titles by a name that need not be exact. Returns up to 10 titles, best first.",
        _query("name or words of it"),
    ),
    (
        "/open/get_entity",
        "Look up the encyclopedia article with exactly this title. Returns its summary, structured fields and source "
        "text, or null.",
        _query("title as open_search_entity_by_name returns it"),
    ),
    (
        "/movie/get_person_info",
        "Search film people (actors, directors, crew) by a name that need not be exact. Returns up to 10 records with "
        "birthday, films and Oscar nominations, best first.",
        _query("person's name"),
    ),
    (
        "/movie/get_movie_info",
        "Search films by a title that need not be exact. Returns up to 10 records with release date, cast, crew, "
        "budget, revenue, rating and Oscar nominations, best first.",
        _query("film title"),
    ),
    (
        "/movie/get_year_info",
        "Films released and Oscar nominations in one year from 1990 to 2021: ids of films, and awards with winners.",
        _query("year as four digits, from 1990 to 2021"),
    ),
    ("/movie/get_movie_info_by_id", "Record of the film with this id.", _query("film id", "int")),
    ("/movie/get_person_info_by_id", "Record of the film person with this id.", _query("person id", "int")),
    (
        "/finance/get_company_name",
        "Search listed companies by a name that need not be exact. Returns up to 10 full company names, best first.",
        _query("company name or words of it"),
    ),
    (
        "/finance/get_ticker_by_name",
        "Ticker symbol of the company with exactly this full name, or null.",
        _query("full name as finance_get_company_name returns it"),
    ),
    (
        "/finance/get_price_history",
        "Daily open, high, low, close and volume of a share over about a year, by time stamp (EST).",
        _TICKER,
    ),
    (
        "/finance/get_detailed_price_history",
        "Minute by minute open, high, low, close and volume of a share over the last trading days, by time stamp "
        "(EST).",
        _TICKER,
    ),
    ("/finance/get_dividends_history", "Dividends that a share has paid, by time stamp (EST).", _TICKER),
    ("/finance/get_market_capitalization", "Market capitalization of a company, in its currency.", _TICKER),
    ("/finance/get_eps", "Forward earnings per share.", _TICKER),
    ("/finance/get_pe_ratio", "Forward price-to-earnings ratio.", _TICKER),
    (
        "/finance/get_info",
        "Company record: address, sector, officers, and the key financial figures of one day.",
        _TICKER,
    ),
    (
        "/music/search_artist_entity_by_name",
        "Search music artists and bands by a name that need not be exact. Returns up to 10 names, best first.",
        _query("artist's or band's name"),
    ),
    (
        "/music/search_song_entity_by_name",
        "Search songs by a title that need not be exact. Returns up to 10 titles, best first.",
        _query("song title"),
    ),
    (
        "/music/get_billboard_rank_date",
        "Songs and their artists that held a rank of the Billboard Hot 100, on one date or on all. Returns a list of "
        "songs and a list of artists.",
        (
            Parameter("rank", "int", "rank, from 1 to 100"),
            Parameter("date", "str", "date of the chart, YYYY-MM-DD; every chart if left out", required=False),
        ),
    ),
    (
        "/music/get_billboard_attributes",
        "One figure of a song in the Billboard Hot 100 chart of one date.",
        (
            Parameter("date", "str", "date of the chart, YYYY-MM-DD"),
            Parameter("attribute", "str", "one of rank_last_week, weeks_in_chart, top_position, rank"),
            Parameter("song_name", "str", "song title"),
        ),
    ),
    (
        "/music/grammy_get_best_artist_by_year",
        "Winner of the Grammy for best new artist in a year; null outside 1957 to 2019.",
        _GRAMMY_YEAR,
    ),
    (
        "/music/grammy_get_award_count_by_artist",
        "Number of Grammy awards connected with an artist.",
        _query("artist's or band's name"),
    ),
    ("/music/grammy_get_award_count_by_song", "Number of Grammy awards that a song has won.", _query("song title")),
    (
        "/music/grammy_get_best_song_by_year",
        "Winner of the Grammy for song of the year in a year; null outside 1957 to 2019.",
        _GRAMMY_YEAR,
    ),
    (
        "/music/grammy_get_award_date_by_artist",
        "Years in which an artist has won Grammy awards.",
        _query("artist's or band's name"),
    ),
    (
        "/music/grammy_get_best_album_by_year",
        "Winner of the Grammy for album of the year in a year; null outside 1957 to 2019.",
        _GRAMMY_YEAR,
    ),
    ("/music/grammy_get_all_awarded_artists", "Every winner of the Grammy for best new artist.", ()),
    ("/music/get_artist_birth_place", "Country code of the place where an artist was born or a band formed.", _ARTIST),
    ("/music/get_artist_birth_date", "Date on which an artist was born or a band formed.", _ARTIST),
    ("/music/get_members", "Members of a band.", _ARTIST),
    (
        "/music/get_lifespan",
        "Two dates: birth and death of an artist, or beginning and end of a band; null where there is none.",
        _ARTIST,
    ),
    ("/music/get_song_author", "Artist of a song.", _SONG),
    ("/music/get_song_release_country", "Country code of a song's release.", _SONG),
    ("/music/get_song_release_date", "Date of a song's release.", _SONG),
    ("/music/get_artist_all_works", "Titles of an artist's works.", _ARTIST),
    (
        "/sports/soccer/get_games_on_date",
        "Soccer games on a day, in a month or in a year, as columns: teams, venue, result, goals, attendance and more; "
        "null if there is none.",
        (
            _GAME_DAY,
            Parameter("team_name", "str", "team as the league table spells it; every team if left out", required=False),
        ),
    ),
    (
        "/sports/nba/get_games_on_date",
        "NBA games on a day, in a month or in a year, as columns: game id, teams, points and other statistics; null if "
        "there is none.",
        (
            _GAME_DAY,
            Parameter("team_name", "str", "full team name, such as Chicago Bulls; every team if left out", False),
        ),
    ),
    (
        "/sports/nba/get_play_by_play_data_by_game_ids",
        "Every play of NBA games, as columns; null if there is none.",
        (Parameter("game_ids", "strs", "game ids as sports_nba_get_games_on_date returns them"),),
    ),
)

FUNCTIONS: dict[str, Function] = {
    name: Function(name, route, description, parameters)
    for route, description, parameters in _TABLE
    for name in [route.strip("/").replace("/", "_")]
}


def schemas() -> list[dict[str, Any]]:
    """Return the functions as tools in the form of OpenAI's chat completions, which most servers take: 38 dicts.

    Each is ``{"type": "function", "function": {"name", "description", "parameters"}}``, with a JSON schema under
    ``parameters``. The caller owns them.
    """
    return [{"type": "function", "function": _schema(function)} for function in FUNCTIONS.values()]


def _schema(function: Function) -> dict[str, Any]:
    properties = {
        parameter.name: {**copy.deepcopy(_SCHEMAS[parameter.kind]), "description": parameter.description}
        for parameter in function.parameters
    }
    required = [parameter.name for parameter in function.parameters if parameter.required]
    return {
        "name": function.name,
        "description": function.description,
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
    }


def call(graph: Any, name: str, arguments: Mapping[str, Any] | str | None = None) -> Any:
    """Call one function of a graph as a model asked for it.

    Args:
        graph: a `Graph`, or what wraps one.
        name: of the function.
        arguments: by name, as a mapping or as the JSON text that models write; whole numbers may come as digits.

    Returns:
        The value that the server gives under ``result``.

    Raises:
        QuadragError: the function is unknown, or an argument is unknown, missing or of a wrong type.
        Exception: whatever the function raises, which the server answers with 500.
    """
    if name not in FUNCTIONS:
        raise unknown_name("function", name, FUNCTIONS)
    values = bind(FUNCTIONS[name], arguments)
    function: Callable[..., Any] = getattr(graph, name)
    return function(*values)


def bind(function: Function, arguments: Mapping[str, Any] | str | None = None) -> list[Any]:
    """Check the arguments of a call and return them in the order of the parameters; those left out are None.

    Raises:
        QuadragError: an argument is unknown, missing or of a wrong type.
    """
    given = _mapping(function.name, arguments)
    names = [parameter.name for parameter in function.parameters]
    if unknown := [str(key) for key in given if key not in names]:
        raise QuadragError(f"{function.name} has no parameter {unknown[0]!r}; it takes {', '.join(names) or 'none'}")
    values = []
    for parameter in function.parameters:
        value = given.get(parameter.name)
        if value is None:
            if parameter.required:
                noun = _NOUNS[parameter.kind]
                raise QuadragError(f"{function.name} lacks {parameter.name!r}: {noun}, {parameter.description}")
        else:
            value = _value(function.name, parameter, value)
        values.append(value)
    return values


def _mapping(name: str, arguments: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    if isinstance(arguments, str):
        try:
            # Models write an empty text where a function takes nothing.
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError) as error:
            raise QuadragError(f"the arguments of {name} are no JSON ({error}); expected an object") from None
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise QuadragError(f"the arguments of {name} are a {type(arguments).__name__}; expected an object by name")
    return arguments


def _value(name: str, parameter: Parameter, value: Any) -> Any:
    if parameter.kind == "str" and isinstance(value, str):
        return value
    if parameter.kind == "strs" and isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return list(value)
    if parameter.kind == "int" and not isinstance(value, bool):
        if isinstance(value, int):
            return value
        if isinstance(value, float) and value.is_integer():
            return int(value)
        # Longer ones are no id, and Python refuses to read the longest.
        if isinstance(value, str) and len(value) < 20 and value.strip().removeprefix("-").isdecimal():
            return int(value)
    found = f"{value!r:.60} ({type(value).__name__})"
    raise QuadragError(f"{name}: {parameter.name} is {found}; expected {_NOUNS[parameter.kind]}")
