"""The server answers as the functions do, over real HTTP, to bodies as the authors' clients send them."""

import json
import math
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from sample_graph import CALLS, EACH

from quadrag.baselines.crag.kg.clock import GraphAt
from quadrag.baselines.crag.kg.graph import Graph
from quadrag.baselines.crag.kg.server import FUNCTIONS, call
from quadrag.cli import main

pytest.importorskip("fastapi", reason="the server needs FastAPI: pip install '.[serve]'")
JSON = {"content-type": "application/json"}


@contextmanager
def running(path: Path, *more: str) -> Iterator[str]:
    """A server in a process of its own; gives its address."""
    command = [sys.executable, "-m", "quadrag", "kg", "serve", str(path), "--port", "0", *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        address = re.search(r"http://[0-9.:]+", process.stdout.readline())
        assert address, process.communicate()[1]
        yield address[0]
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


def test_every_route_answers_as_its_function_many_at_once(server: str, sample: Graph) -> None:
    assert list(CALLS) == list(FUNCTIONS)
    expected = [json.loads(json.dumps(call(sample, name, arguments))) for name, arguments in EACH]
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda one: post(server, *one), EACH * 2))
    assert [reply.json()["result"] for reply in replies] == expected * 2
    assert {(reply.status_code, reply.headers["content-type"]) for reply in replies} == {(200, "application/json")}
    for name in FUNCTIONS:  # else nothing would be compared with nothing
        assert call(sample, name, CALLS[name][0]) not in (None, [], {}, 0, [None, None], [[], []])
    assert requests.get(server + "/", timeout=30).json() == {"name": "quadrag kg", "functions": 38}


@pytest.mark.parametrize(
    ("name", "body", "headers", "status"),
    [
        ("open_get_entity", b'{"query": "Lindholt Bridge"}', {}, 200),  # without a type it is read as JSON
        ("open_get_entity", b'{"query": "\\ud800 Lindholt"}', JSON, 200),
        ("open_search_entity_by_name", b'{"query": "\\ud800 Lindholt"}', JSON, 200),
        ("movie_get_movie_info_by_id", b'{"query": "100"}', JSON, 200),
        ("music_grammy_get_all_awarded_artists", b"", {}, 200),
        ("music_grammy_get_all_awarded_artists", b"{}", JSON, 200),
        ("movie_get_year_info", b'{"query": "1989"}', JSON, 500),
        ("movie_get_year_info", b'{"query": "' + b"9" * 5000 + b'"}', JSON, 500),
        ("open_get_entity", b"{}", JSON, 422),
        ("open_get_entity", b"", JSON, 422),
        ("open_get_entity", b'{"query": null}', JSON, 422),
        ("open_get_entity", b'{"query": ', JSON, 422),
        ("movie_get_movie_info_by_id", b'{"query": "ten"}', JSON, 422),
        ("sports_nba_get_play_by_play_data_by_game_ids", b'{"game_ids": "0022300701"}', JSON, 422),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bodies_as_clients_send_them(server: str, name: str, body: Any, headers: Any, status: int) -> None:
    reply = requests.post(server + FUNCTIONS[name].route, data=body, headers=headers, timeout=30)
    assert reply.status_code == status
    if status == 500:
        assert (reply.text, reply.headers["content-type"]) == ("Internal Server Error", "text/plain; charset=utf-8")
    else:
        assert "result" in reply.json() if status == 200 else reply.json()["detail"]


def test_nan_is_null(graph_of: Callable[..., Graph]) -> None:
    info = {"A": {"forwardEps": math.nan, "forwardPE": math.inf, "rest": [{"x": -math.inf}, "NaN", 1.5]}}
    with running(graph_of({"finance/finance_info.sqlite": info}).path) as address:
        assert post(address, "finance_get_eps", {"query": "A"}).json() == {"result": None}
        answer = post(address, "finance_get_info", {"query": "A"}).json()["result"]
        assert answer == {"forwardEps": None, "forwardPE": None, "rest": [{"x": None}, "NaN", 1.5]}
        # A domain that the graph was built without is an error of its functions, not an empty answer.
        assert post(address, "open_get_entity", {"query": "A"}).status_code == 500


def test_a_server_can_stand_at_a_time(sample: Graph) -> None:
    time = "02/16/2024, 12:00:00 PT"
    hidden = GraphAt(sample, time)
    with running(sample.path, "--query-time", time) as address:
        for name in ("finance_get_price_history", "finance_get_eps", "music_get_billboard_rank_date"):
            arguments = CALLS[name][0]
            answer = post(address, name, arguments).json()["result"]
            assert answer == call(hidden, name, arguments)
            assert answer != call(sample, name, arguments)


def test_what_cannot_be_served_is_one_line(sample: Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for graph in (sample.path, tmp_path / "none.sqlite"):
            assert main(["kg", "serve", str(graph), "--port", port]) == 2
            assert capsys.readouterr().err.count("\n") == 1
    assert main(["kg", "build", str(tmp_path / "none"), str(tmp_path / "kg.sqlite")]) == 2
    assert "none" in capsys.readouterr().err and not list(tmp_path.iterdir())
