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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from sample_graph import CALLS, EACH

from quadrag.errors import QuadragError
from quadrag.kg.clock import at
from quadrag.kg.graph import Graph
from quadrag.kg.server import serve
from quadrag.kg.server.answers import dump
from quadrag.kg.server.app import app
from quadrag.kg.server.refusing import LONGEST
from quadrag.kg.tools import FUNCTIONS, call

NEEDED = "the server needs FastAPI: pip install '.[serve]'"


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
def server(sample: Graph) -> Iterator[str]:
    with running(sample.path) as address:
        yield address


def post(address: str, name: str, arguments: dict[str, Any]) -> requests.Response:
    return requests.post(address + FUNCTIONS[name].route, json=arguments, timeout=30)


def test_every_function_is_called() -> None:
    assert list(CALLS) == list(FUNCTIONS)


@pytest.mark.parametrize(("name", "arguments"), EACH, ids=lambda value: str(value)[:60])
def test_a_route_answers_as_its_function(server: str, sample: Graph, name: str, arguments: dict[str, Any]) -> None:
    response = post(server, name, arguments)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {"result": json.loads(dump(call(sample, name, arguments)))}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_sample_holds_an_answer(sample: Graph, name: str) -> None:
    # Else the test above would compare nothing with nothing.
    assert call(sample, name, CALLS[name][0]) not in (None, [], {}, 0, [None, None], [[], []])


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


def test_a_function_without_arguments_takes_any_body(server: str, sample: Graph) -> None:
    route = server + FUNCTIONS["music_grammy_get_all_awarded_artists"].route
    expected = {"result": sample.music_grammy_get_all_awarded_artists()}
    assert requests.post(route, timeout=30).json() == expected
    assert requests.post(route, json={}, timeout=30).json() == expected


def test_half_a_surrogate_pair_breaks_nothing(server: str) -> None:
    for name in ("open_get_entity", "open_search_entity_by_name"):
        body = b'{"query": "\\ud800 Lindholt"}'
        headers = {"content-type": "application/json"}
        response = requests.post(server + FUNCTIONS[name].route, data=body, headers=headers, timeout=30)
        assert response.status_code == 200


def test_many_at_once_get_their_own_answers(server: str, sample: Graph) -> None:
    expected = [json.loads(dump(call(sample, name, arguments))) for name, arguments in EACH]
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


def test_a_server_can_stand_at_a_time(sample: Graph) -> None:
    time = "02/16/2024, 12:00:00 PT"
    hidden = at(sample, time)
    with running(sample.path, time) as address:
        for name in ("finance_get_price_history", "finance_get_eps", "music_get_billboard_rank_date"):
            arguments = CALLS[name][0]
            answer = post(address, name, arguments).json()["result"]
            assert answer == call(hidden, name, arguments)
            assert answer != call(sample, name, arguments)


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


def test_a_taken_address_is_one_line(sample: Graph) -> None:
    pytest.importorskip("fastapi", reason=NEEDED)
    pytest.importorskip("uvicorn", reason=NEEDED)
    with serve._listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(QuadragError, match=rf"cannot listen at 127\.0\.0\.1:{port}: .*; choose another"):
            serve.serve(sample.path, port=port)


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
    assert all(line.endswith("is not installed; from the checkout: pip install '.[serve]'") for line in lines)


def test_small_answers_are_not_held_up(server: str) -> None:
    # Nagle's algorithm and delayed acknowledgements make 40 ms of each answer, whatever the machine.
    body = {"query": "Idra Vanleer"}
    with requests.Session() as session:
        cost = [session.post(server + "/music/get_members", json=body, timeout=30).elapsed for _ in range(20)]
    assert min(one.total_seconds() for one in cost[1:]) < 0.03
