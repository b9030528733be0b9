"""A plain body is answered before FastAPI looks at it, and as FastAPI would answer it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from sample_graph import EACH

from quadrag.kg.graph import Graph
from quadrag.kg.server.app import app
from quadrag.kg.server.refusing import LONGEST
from quadrag.kg.server.shortcut import Shortcut
from quadrag.kg.tools import FUNCTIONS

pytest.importorskip("fastapi", reason="the server needs FastAPI: pip install '.[serve]'")

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
def test_what_takes_the_shortcut_is_answered_as_by_fastapi(sample: Graph, name: str) -> None:
    from fastapi.testclient import TestClient

    application = app(sample)
    short = TestClient(application)
    application_without = app(sample)
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


def test_a_plain_body_is_answered_before_fastapi_looks_at_it(sample: Graph) -> None:
    path = FUNCTIONS["open_get_entity"].route
    application = app(sample)
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
