"""The 38 functions as data: upstream's routes and bodies, schemas, and calls whose arguments are checked."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadrag.errors import QuadragError
from quadrag.kg.graph import Graph
from quadrag.kg.tools import FUNCTIONS, bind, call, schemas

# specs/crag_kg_routes.csv
ROUTES = """
/open/search_entity_by_name,query: str
/open/get_entity,query: str
/movie/get_person_info,query: str
/movie/get_movie_info,query: str
/movie/get_year_info,query: str
/movie/get_movie_info_by_id,query: int
/movie/get_person_info_by_id,query: int
/finance/get_company_name,query: str
/finance/get_ticker_by_name,query: str
/finance/get_price_history,query: str
/finance/get_detailed_price_history,query: str
/finance/get_dividends_history,query: str
/finance/get_market_capitalization,query: str
/finance/get_eps,query: str
/finance/get_pe_ratio,query: str
/finance/get_info,query: str
/music/search_artist_entity_by_name,query: str
/music/search_song_entity_by_name,query: str
/music/get_billboard_rank_date,rank: int; date: Optional[str] = None
/music/get_billboard_attributes,date: str; attribute: str; song_name: str
/music/grammy_get_best_artist_by_year,query: int
/music/grammy_get_award_count_by_artist,query: str
/music/grammy_get_award_count_by_song,query: str
/music/grammy_get_best_song_by_year,query: int
/music/grammy_get_award_date_by_artist,query: str
/music/grammy_get_best_album_by_year,query: int
/music/grammy_get_all_awarded_artists,
/music/get_artist_birth_place,query: str
/music/get_artist_birth_date,query: str
/music/get_members,query: str
/music/get_lifespan,query: str
/music/get_song_author,query: str
/music/get_song_release_country,query: str
/music/get_song_release_date,query: str
/music/get_artist_all_works,query: str
/sports/soccer/get_games_on_date,date: str; team_name: Optional[str] = None
/sports/nba/get_games_on_date,date: str; team_name: Optional[str] = None
/sports/nba/get_play_by_play_data_by_game_ids,game_ids: List[str]
"""
SPELLED = {"str": "str", "int": "int", "strs": "List[str]"}


def test_routes_and_bodies_are_upstreams() -> None:
    def field(name: str, kind: str, required: bool) -> str:
        return f"{name}: {SPELLED[kind]}" if required else f"{name}: Optional[{SPELLED[kind]}] = None"

    ours = [
        f"{one.route},{'; '.join(field(p.name, p.kind, p.required) for p in one.parameters)}"
        for one in FUNCTIONS.values()
    ]
    assert ours == ROUTES.split("\n")[1:-1]
    assert len(ours) == 38


def test_the_graph_has_each_function_with_these_parameters_in_this_order() -> None:
    for function in FUNCTIONS.values():
        parameters = list(inspect.signature(getattr(Graph, function.name)).parameters.values())[1:]
        assert len(parameters) == len(function.parameters), function.name
        for ours, theirs in zip(parameters, function.parameters, strict=True):
            assert (ours.default is inspect.Parameter.empty) == theirs.required, function.name


def test_names_are_those_that_models_may_call() -> None:
    # OpenAI's limit: letters, digits, _ and -, at most 64.
    assert all(name.isidentifier() and name.isascii() and len(name) <= 64 for name in FUNCTIONS)


def test_schemas_say_all_that_a_call_needs() -> None:
    made = {tool["function"]["name"]: tool["function"] for tool in schemas()}
    assert list(made) == list(FUNCTIONS)
    assert made["sports_nba_get_play_by_play_data_by_game_ids"]["parameters"] == {
        "type": "object",
        "properties": {
            "game_ids": {
                "type": "array",
                "items": {"type": "string"},
                "description": "game ids as sports_nba_get_games_on_date returns them",
            }
        },
        "required": ["game_ids"],
        "additionalProperties": False,
    }
    rank = made["music_get_billboard_rank_date"]["parameters"]
    assert rank["required"] == ["rank"]
    assert {name: one["type"] for name, one in rank["properties"].items()} == {"rank": "integer", "date": "string"}
    assert made["music_grammy_get_all_awarded_artists"]["parameters"]["properties"] == {}
    for one in made.values():
        assert one["description"].endswith(".")
        assert all(parameter["description"] for parameter in one["parameters"]["properties"].values())
    assert json.loads(json.dumps(schemas())) == schemas()


def test_schemas_belong_to_the_caller() -> None:
    schemas()[-1]["function"]["parameters"]["properties"]["game_ids"]["items"]["type"] = "spoilt"
    assert "spoilt" not in json.dumps(schemas())


class Echo:
    """A graph whose functions give back what they were called with."""

    def __getattr__(self, name: str) -> Any:
        return lambda *values: (name, *values)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("open_get_entity", {"query": "Florida"}, ("Florida",)),
        ("open_get_entity", '{"query": "Florida"}', ("Florida",)),
        ("movie_get_movie_info_by_id", {"query": "100"}, (100,)),
        ("movie_get_movie_info_by_id", {"query": 100.0}, (100,)),
        ("music_get_billboard_rank_date", {"rank": 1}, (1, None)),
        ("music_get_billboard_rank_date", {"date": None, "rank": 1}, (1, None)),
        ("music_get_billboard_rank_date", {"date": "2024-02-28", "rank": 1}, (1, "2024-02-28")),
        (
            "music_get_billboard_attributes",
            {"song_name": "s", "date": "d", "attribute": "rank"},
            ("d", "rank", "s"),
        ),
        ("music_grammy_get_all_awarded_artists", None, ()),
        ("music_grammy_get_all_awarded_artists", "", ()),
        ("music_grammy_get_all_awarded_artists", {}, ()),
        ("sports_nba_get_play_by_play_data_by_game_ids", {"game_ids": ["1"]}, (["1"],)),
    ],
)
def test_arguments_reach_their_places(name: str, arguments: Any, expected: tuple[Any, ...]) -> None:
    assert call(Echo(), name, arguments) == (name, *expected)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("open_get_entities", {"query": "x"}, r"unknown function 'open_get_entities'; nearest: open_get_entity"),
        ("__class__", {}, "unknown function"),
        ("open_get_entity", {}, "lacks 'query': a text, title as"),
        ("open_get_entity", None, "lacks 'query'"),
        ("open_get_entity", {"query": None}, "lacks 'query'"),
        ("open_get_entity", {"query": 5}, r"query is 5 \(int\); expected a text"),
        ("open_get_entity", {"query": "x", "name": "y"}, "has no parameter 'name'; it takes query"),
        ("music_grammy_get_all_awarded_artists", {"query": "x"}, "has no parameter 'query'; it takes none"),
        ("open_get_entity", "{", "is not JSON"),
        ("open_get_entity", "[" * 100_000, "is nested more than 100 deep"),
        ("open_get_entity", '"Florida"', "are a str; expected an object"),
        ("open_get_entity", ["Florida"], "are a list; expected an object"),
        ("movie_get_movie_info_by_id", {"query": "ten"}, r"query is 'ten' \(str\); expected a whole number"),
        ("movie_get_movie_info_by_id", {"query": True}, "expected a whole number"),
        ("movie_get_movie_info_by_id", {"query": 1.5}, "expected a whole number"),
        ("movie_get_movie_info_by_id", {"query": float("nan")}, "expected a whole number"),
        ("movie_get_movie_info_by_id", {"query": "9" * 5000}, "expected a whole number"),
        ("sports_nba_get_play_by_play_data_by_game_ids", {"game_ids": "1"}, "expected a list of texts"),
        ("sports_nba_get_play_by_play_data_by_game_ids", {"game_ids": [1]}, "expected a list of texts"),
    ],
)
def test_a_wrong_call_gets_one_line(name: str, arguments: Any, message: str) -> None:
    with pytest.raises(QuadragError, match=message) as caught:
        call(Echo(), name, arguments)
    assert "\n" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["query", "rank", "x"]), inner),
    max_leaves=5,
)


@given(st.sampled_from(sorted(FUNCTIONS)), JSON | st.dictionaries(st.sampled_from(["query", "rank", "date"]), JSON))
def test_whatever_a_model_writes_is_bound_or_refused(name: str, arguments: Any) -> None:
    kinds = {"str": str, "int": int, "strs": list}
    try:
        values = bind(FUNCTIONS[name], arguments)
    except QuadragError as error:
        assert "\n" not in str(error)
        return
    for value, parameter in zip(values, FUNCTIONS[name].parameters, strict=True):
        assert type(value) is kinds[parameter.kind] or (value is None and not parameter.required)
