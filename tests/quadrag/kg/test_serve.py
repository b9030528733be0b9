"""The server answers as the functions do, over real HTTP, to bodies as the authors' clients send them."""

from __future__ import annotations

import asyncio
import json
import math
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from quadrag.errors import QuadragError
from quadrag.kg.build import build
from quadrag.kg.clock import at
from quadrag.kg.graph import Graph
from quadrag.kg.server import serve
from quadrag.kg.server.answers import dump
from quadrag.kg.server.app import app
from quadrag.kg.server.refusing import LONGEST
from quadrag.kg.server.shortcut import Shortcut
from quadrag.kg.tools import FUNCTIONS, call

NEEDED = "the server needs FastAPI: pip install '.[serve]'"
SAMPLE = Path(__file__).parents[3] / "datasets_scripts" / "crag" / "sample" / "mock_api" / "cragkg"

# Two calls of each function, the first of which finds something in the sample.
CALLS: dict[str, list[dict[str, Any]]] = {
    "open_search_entity_by_name": [{"query": "Lindholt"}, {"query": "zzz"}],
    "open_get_entity": [{"query": "Lindholt Bridge"}, {"query": "zzz"}],
    "movie_get_person_info": [{"query": "Brandeaux"}, {"query": "zzz"}],
    "movie_get_movie_info": [{"query": "Glass Orchard"}, {"query": ""}],
    "movie_get_year_info": [{"query": "2016"}, {"query": "1990"}],
    "movie_get_movie_info_by_id": [{"query": 9001}, {"query": "1"}],
    "movie_get_person_info_by_id": [{"query": "501"}, {"query": -1}],
    "finance_get_company_name": [{"query": "quillmark"}, {"query": "'"}],
    "finance_get_ticker_by_name": [{"query": "Quillmark Systems Inc. Common Stock"}, {"query": "quillmark"}],
    "finance_get_price_history": [{"query": "QMRK"}, {"query": "zzz"}],
    "finance_get_detailed_price_history": [{"query": "QMRK"}, {"query": "zzz"}],
    "finance_get_dividends_history": [{"query": "QMRK"}, {"query": "TRNW"}],
    "finance_get_market_capitalization": [{"query": "QMRK"}, {"query": "zzz"}],
    "finance_get_eps": [{"query": "QMRK"}, {"query": "zzz"}],
    "finance_get_pe_ratio": [{"query": "QMRK"}, {"query": "zzz"}],
    "finance_get_info": [{"query": "QMRK"}, {"query": "zzz"}],
    "music_search_artist_entity_by_name": [{"query": "Idra Vanleer"}, {"query": "zzz"}],
    "music_search_song_entity_by_name": [{"query": "salt on the sill"}, {"query": "zzz"}],
    "music_get_billboard_rank_date": [{"rank": 1}, {"rank": 1, "date": "2024-01-27"}, {"rank": 0, "date": None}],
    "music_get_billboard_attributes": [
        {"date": "2024-02-17", "attribute": "weeks_in_chart", "song_name": "Brass and Clover"},
        {"date": "2024-02-17", "attribute": "rank", "song_name": "zzz"},
    ],
    "music_grammy_get_best_artist_by_year": [{"query": 2019}, {"query": "1900"}],
    "music_grammy_get_award_count_by_artist": [{"query": "Idra Vanleer"}, {"query": "zzz"}],
    "music_grammy_get_award_count_by_song": [{"query": "Glass Weather"}, {"query": "zzz"}],
    "music_grammy_get_best_song_by_year": [{"query": 2018}, {"query": 2030}],
    "music_grammy_get_award_date_by_artist": [{"query": "Idra Vanleer"}, {"query": "zzz"}],
    "music_grammy_get_best_album_by_year": [{"query": 2019}, {"query": 1900}],
    "music_grammy_get_all_awarded_artists": [{}],
    "music_get_artist_birth_place": [{"query": "Idra Vanleer"}, {"query": "zzz"}],
    "music_get_artist_birth_date": [{"query": "Idra Vanleer"}, {"query": "zzz"}],
    "music_get_members": [{"query": "The Copper Lanterns"}, {"query": "zzz"}],
    "music_get_lifespan": [{"query": "Idra Vanleer"}, {"query": "zzz"}],
    "music_get_song_author": [{"query": "Slow Harbor"}, {"query": "zzz"}],
    "music_get_song_release_country": [{"query": "Slow Harbor"}, {"query": "zzz"}],
    "music_get_song_release_date": [{"query": "Slow Harbor"}, {"query": "zzz"}],
    "music_get_artist_all_works": [{"query": "Idra Vanleer"}, {"query": "zzz"}],
    "sports_soccer_get_games_on_date": [{"date": "2024-03"}, {"date": "2024-03-02", "team_name": "Nieuwmeer"}],
    "sports_nba_get_games_on_date": [{"date": "2024-02-09"}, {"date": "1900", "team_name": None}],
    "sports_nba_get_play_by_play_data_by_game_ids": [{"game_ids": ["0022300701"]}, {"game_ids": []}],
}
EACH = [(name, arguments) for name, calls in CALLS.items() for arguments in calls]


@contextmanager
def running(path: Path, *more: str) -> Iterator[str]:
    """A server in a process of its own; gives its address."""
    pytest.importorskip("fastapi", reason=NEEDED)
    pytest.importorskip("uvicorn", reason=NEEDED)
    code = (
        "import sys; from quadrag.kg.server.serve import serve\n"
        "serve(sys.argv[1], port=0, query_time=(sys.argv[2:] or [None])[0], ready=lambda at: print(at, flush=True))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path), *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        assert address, process.communicate()[1]
        yield address
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors and max(map(len, errors.splitlines()), default=0) < 700, errors


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    path = tmp_path_factory.mktemp("kg") / "kg.sqlite"
    build(SAMPLE, path)
    with closing(Graph(path)) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(graph: Graph) -> Iterator[str]:
    with running(graph.path) as address:
        yield address


def post(address: str, name: str, arguments: dict[str, Any]) -> requests.Response:
    return requests.post(address + FUNCTIONS[name].route, json=arguments, timeout=30)


def test_every_function_is_called() -> None:
    assert list(CALLS) == list(FUNCTIONS)


@pytest.mark.parametrize(("name", "arguments"), EACH, ids=lambda value: str(value)[:60])
def test_a_route_answers_as_its_function(server: str, graph: Graph, name: str, arguments: dict[str, Any]) -> None:
    response = post(server, name, arguments)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {"result": json.loads(dump(call(graph, name, arguments)))}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_sample_holds_an_answer(graph: Graph, name: str) -> None:
    # Else the test above would compare nothing with nothing.
    assert call(graph, name, CALLS[name][0]) not in (None, [], {}, 0, [None, None], [[], []])


def test_the_root_answers(server: str) -> None:
    assert requests.get(server + "/", timeout=30).status_code == 200


@pytest.mark.parametrize("year", ["1989", "9" * 5000])
def test_an_error_of_a_function_is_500_with_plain_text(server: str, year: str) -> None:
    response = post(server, "movie_get_year_info", {"query": year})
    assert (response.status_code, response.text) == (500, "Internal Server Error")
    assert response.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("open_get_entity", {}),
        ("open_get_entity", {"query": None}),
        ("movie_get_movie_info_by_id", {"query": "ten"}),
        ("sports_nba_get_play_by_play_data_by_game_ids", {"game_ids": "0022300701"}),
    ],
)
def test_a_wrong_body_is_422(server: str, name: str, arguments: dict[str, Any]) -> None:
    response = post(server, name, arguments)
    assert response.status_code == 422
    assert response.json()["detail"]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_of_more_than_a_million_bytes_is_413(server: str, chunked: bool) -> None:
    body = [b'{"query": "', b"x" * LONGEST, b'"}']
    sent: Any = iter(body) if chunked else b"".join(body)
    reply = requests.post(f"{server}{FUNCTIONS['open_get_entity'].route}", data=sent)
    assert (reply.status_code, reply.json()) == (413, {"detail": "a body may have 1000000 bytes"})


def test_a_wrong_body_with_nan_is_422(server: str) -> None:
    reply = requests.post(f"{server}{FUNCTIONS['open_get_entity'].route}", data=b'{"query": NaN}')
    assert reply.status_code == 422
    [said] = reply.json()["detail"]
    assert (said["loc"], said["input"]) == (["body", "query"], None)


def test_a_body_without_a_type_is_read_as_json(server: str) -> None:
    body = json.dumps({"query": "Lindholt Bridge"})
    response = requests.post(server + "/open/get_entity", data=body, timeout=30)
    assert response.json()["result"]["summary_structured"]["name"] == "Lindholt Bridge"


def test_a_function_without_arguments_takes_any_body(server: str, graph: Graph) -> None:
    route = server + FUNCTIONS["music_grammy_get_all_awarded_artists"].route
    expected = {"result": graph.music_grammy_get_all_awarded_artists()}
    assert requests.post(route, timeout=30).json() == expected
    assert requests.post(route, json={}, timeout=30).json() == expected


def test_half_a_surrogate_pair_breaks_nothing(server: str) -> None:
    for name in ("open_get_entity", "open_search_entity_by_name"):
        body = b'{"query": "\\ud800 Lindholt"}'
        headers = {"content-type": "application/json"}
        response = requests.post(server + FUNCTIONS[name].route, data=body, headers=headers, timeout=30)
        assert response.status_code == 200


def test_many_at_once_get_their_own_answers(server: str, graph: Graph) -> None:
    expected = [json.loads(dump(call(graph, name, arguments))) for name, arguments in EACH]
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda one: post(server, *one).json()["result"], EACH * 4))
    assert answers == expected * 4


def test_a_function_that_takes_long_holds_up_no_other() -> None:
    pytest.importorskip("fastapi", reason=NEEDED)
    httpx = pytest.importorskip("httpx")
    asked = threading.Event()

    class Slow:
        def sports_nba_get_games_on_date(self, *_: Any) -> bool:
            return asked.wait(10)

        def __getattr__(self, name: str) -> Any:
            return lambda *_: asked.set()

    async def both() -> list[Any]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app(Slow())), base_url="http://kg") as client:
            bodies = {"sports_nba_get_games_on_date": {"date": "2023"}, "open_get_entity": {"query": "A"}}
            sent = [client.post(FUNCTIONS[name].route, json=body) for name, body in bodies.items()]
            return [reply.json()["result"] for reply in await asyncio.gather(*sent)]

    assert asyncio.run(both()) == [True, None]


def test_nan_is_null(graph_of: Callable[..., Graph]) -> None:
    info = {"A": {"forwardEps": math.nan, "forwardPE": math.inf, "rest": [{"x": -math.inf}, 1.5]}}
    graph = graph_of({"finance/finance_info.sqlite": info})
    with running(graph.path) as address:
        assert post(address, "finance_get_eps", {"query": "A"}).text == '{"result":null}'
        answer = post(address, "finance_get_info", {"query": "A"}).json()["result"]
        assert answer == {"forwardEps": None, "forwardPE": None, "rest": [{"x": None}, 1.5]}
        # A domain that the graph was built without is an error of its functions, not an empty answer.
        assert post(address, "open_get_entity", {"query": "A"}).status_code == 500


def test_a_server_can_stand_at_a_time(graph: Graph) -> None:
    time = "02/16/2024, 12:00:00 PT"
    hidden = at(graph, time)
    with running(graph.path, time) as address:
        for name in ("finance_get_price_history", "finance_get_eps", "music_get_billboard_rank_date"):
            arguments = CALLS[name][0]
            answer = post(address, name, arguments).json()["result"]
            assert answer == call(hidden, name, arguments)
            assert answer != call(graph, name, arguments)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": [1, "é"]}, '{"a":[1,"é"]}'),
        ((math.nan, {"x": math.inf}), '[null,{"x":null}]'),
        ("\ud800é", r'"\ud800\u00e9"'),
        (["\ud800", math.nan], r'["\ud800",null]'),
    ],
)
def test_dump(value: Any, expected: str) -> None:
    assert dump(value) == expected.encode()


def test_a_taken_address_is_one_line(graph: Graph) -> None:
    pytest.importorskip("fastapi", reason=NEEDED)
    pytest.importorskip("uvicorn", reason=NEEDED)
    with serve._listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(QuadragError, match=rf"cannot listen at 127\.0\.0\.1:{port}: .*; choose another"):
            serve.serve(graph.path, port=port)


def test_no_graph_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("fastapi", reason=NEEDED)
    pytest.importorskip("uvicorn", reason=NEEDED)
    with pytest.raises(QuadragError, match="no knowledge graph"):
        serve.serve(tmp_path / "kg.sqlite")


def test_without_fastapi_the_extra_is_named(python: Any, environment: Any) -> None:
    code = (
        "import sys; sys.modules['fastapi'] = sys.modules['uvicorn'] = None\n"
        "from quadrag.errors import QuadragError\n"
        "from quadrag.kg.server.app import app; from quadrag.kg.server.serve import serve\n"
        "for start in (lambda: app(None), lambda: serve('kg.sqlite')):\n"
        "    try: start()\n"
        "    except QuadragError as error: print(error)"
    )
    done = python(code, env=environment())
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done.stderr
    assert all(line.endswith("is not installed: pip install '.[serve]'") for line in lines)


def test_small_answers_are_not_held_up(server: str) -> None:
    # Nagle's algorithm and delayed acknowledgements make 40 ms of each answer, whatever the machine.
    body = {"query": "Idra Vanleer"}
    with requests.Session() as session:
        cost = [session.post(server + "/music/get_members", json=body, timeout=30).elapsed for _ in range(20)]
    assert min(one.total_seconds() for one in cost[1:]) < 0.03


JSON = {"content-type": "application/json"}
REQUESTS: list[tuple[bytes, dict[str, str]]] = [
    *((json.dumps(arguments).encode(), JSON) for _, arguments in EACH),
    *((b'{"query": "Lindholt"}', {"content-type": kind}) for kind in ("text/plain", "application/json; charset=utf-8")),
    *((b'{"query": "Lindholt", "more": NaN}', headers) for headers in (JSON, {})),
    *(
        (body, JSON)
        for body in (b"", b"null", b"[]", b'"query"', b'{"query": ', b'{"query": null}', b'{"query": "\xff"}')
    ),
    *((body, JSON) for body in (b'\xef\xbb\xbf{"query": "1"}', b'{"query": 1.5}', b"[" * 100_000, b"1" * 5000)),
    *(('{"query": "Idra"}'.encode("utf-16"), JSON), (b'{"query": "' + b"a" * LONGEST + b'"}', JSON)),
]


@pytest.mark.parametrize(
    "name",
    [
        "open_get_entity",
        pytest.param("movie_get_year_info", marks=pytest.mark.slow),
        pytest.param("music_get_billboard_rank_date", marks=pytest.mark.slow),
    ],
)
def test_what_takes_the_shortcut_is_answered_as_by_fastapi(graph: Graph, name: str) -> None:
    pytest.importorskip("fastapi", reason=NEEDED)
    from fastapi.testclient import TestClient

    application = app(graph)
    short = TestClient(application)
    application_without = app(graph)
    (layer,) = [one for one in application_without.user_middleware if one.cls is Shortcut]
    application_without.user_middleware.remove(layer)
    long = TestClient(application_without)
    statuses = set()
    for method in ("POST", "GET"):
        for body, headers in REQUESTS:
            both = [one.request(method, FUNCTIONS[name].route, content=body, headers=headers) for one in (short, long)]
            seen = [(one.status_code, one.headers.multi_items(), one.content) for one in both]
            assert seen[0] == seen[1], (method, body[:80])
            statuses.add(both[0].status_code)
    assert {200, 400, 405, 413, 422} <= statuses


def test_a_plain_body_is_answered_before_fastapi_looks_at_it(graph: Graph) -> None:
    pytest.importorskip("fastapi", reason=NEEDED)
    path = FUNCTIONS["open_get_entity"].route
    application = app(graph)
    sent: list[Any] = []

    async def inner(*_: Any) -> None:
        sent.append("inner")

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b'{"query": "Lindholt Bridge"}'}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    (layer,) = [one for one in application.user_middleware if one.cls is Shortcut]
    scope = {"type": "http", "method": "POST", "path": path, "headers": [(b"content-type", b"application/json")]}
    asyncio.run(Shortcut(inner, **layer.kwargs)(scope, receive, send))
    assert sent == ["http.response.start", "http.response.body"]
    asyncio.run(Shortcut(inner, **layer.kwargs)({**scope, "path": "/docs"}, receive, send))
    assert sent[2:] == ["inner"]
