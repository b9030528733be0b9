"""The 38 functions as data: upstream's routes and bodies, schemas, and calls whose arguments are checked."""

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from quadrag.baselines.crag.kg.graph import Graph
from quadrag.baselines.crag.kg.server import FUNCTIONS, call, schemas
from quadrag.errors import QuadragError

SPELLED = {"str": "str", "int": "int", "strs": "List[str]"}


def test_routes_and_bodies_are_upstreams() -> None:
    def field(name: str, kind: str, required: bool) -> str:
        return f"{name}: {SPELLED[kind]}" if required else f"{name}: Optional[{SPELLED[kind]}] = None"

    ours = [
        f"{one.route},{'; '.join(field(name, p.kind, p.required) for name, p in one.parameters.items())}"
        for one in FUNCTIONS.values()
    ]
    assert ours == Path(__file__).with_name("routes.csv").read_text(encoding="utf-8").splitlines()
    assert len(ours) == 38
    # OpenAI's limit: letters, digits, _ and -, at most 64.
    assert all(name.isidentifier() and name.isascii() and len(name) <= 64 for name in FUNCTIONS)


def test_the_graph_has_each_function_with_these_parameters_in_this_order() -> None:
    for function in FUNCTIONS.values():
        parameters = list(inspect.signature(getattr(Graph, function.name)).parameters.values())[1:]
        assert len(parameters) == len(function.parameters), function.name
        for ours, theirs in zip(parameters, function.parameters.values(), strict=True):
            assert (ours.default is inspect.Parameter.empty) == theirs.required, function.name


def test_schemas_say_all_that_a_call_needs() -> None:
    made = {tool["function"]["name"]: tool["function"] for tool in json.loads(json.dumps(schemas()))}
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
    kinds = {name: one["type"] for name, one in rank["properties"].items()}
    assert (kinds, rank["required"]) == ({"rank": "integer", "date": "string"}, ["rank"])
    assert all(one["description"].endswith(".") for one in made.values())


class Echo:
    """A graph whose functions give back what they were called with."""

    def __getattr__(self, name: str) -> Any:
        return lambda *values: (name, *values)


IDS, PLAYS = "movie_get_movie_info_by_id", "sports_nba_get_play_by_play_data_by_game_ids"
RANKS, ALL = "music_get_billboard_rank_date", "music_grammy_get_all_awarded_artists"


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("open_get_entity", {"query": "Florida"}, ("Florida",)),
        ("open_get_entity", '{"query": "Florida"}', ("Florida",)),
        (IDS, {"query": "100"}, (100,)),
        (IDS, {"query": 100}, (100,)),
        (RANKS, {"date": None, "rank": 1}, (1, None)),
        (RANKS, {"date": "2024-02-28", "rank": 1}, (1, "2024-02-28")),
        ("music_get_billboard_attributes", {"song_name": "s", "date": "d", "attribute": "rank"}, ("d", "rank", "s")),
        *((ALL, arguments, ()) for arguments in (None, "", {})),
        (PLAYS, {"game_ids": ["1"]}, (["1"],)),
    ],
)
def test_arguments_reach_their_places(name: str, arguments: Any, expected: tuple[Any, ...]) -> None:
    assert call(Echo(), name, arguments) == (name, *expected)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("open_get_entities", {"query": "x"}),
        ("__class__", {}),
        *(("open_get_entity", one) for one in ({}, None, {"query": None}, {"query": 5}, {"query": "x", "name": "y"})),
        *(("open_get_entity", one) for one in ("{", "[" * 100_000, '"Florida"', ["Florida"], "[]x")),
        (ALL, {"query": "x"}),
        *((IDS, {"query": value}) for value in ("ten", 1.5, float("nan"), "9" * 5000)),
        *((PLAYS, {"game_ids": value}) for value in ("1", [1])),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_call_gets_one_line(name: str, arguments: Any) -> None:
    with pytest.raises(QuadragError, match=r"^[^\n]*$"):
        call(Echo(), name, arguments)
