"""CRAG's mock knowledge graph over HTTP: upstream's 38 routes and bodies, so that its clients work unchanged.

A body is what the table of `tools.py` says; an answer is ``{"result": ...}``, an error of a function 500 with plain
text; what is refused says `refusing.py`. Most functions take less time than handing them to a thread does, so they
are called where the request is read; those that may return thousands of rows run in threads, so that none holds up the
others. NaN becomes null. It checks no keys and limits no rates: it is for one machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import json
import logging
import math
import os
import socket
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quadrag.errors import QuadragError, short_line
from quadrag.kg.refusing import refuse
from quadrag.kg.shortcut import Shortcut
from quadrag.kg.tools import FUNCTIONS, Function

if TYPE_CHECKING:
    from fastapi import FastAPI
    from pydantic import BaseModel

_LONG = "sports_"  # functions that begin so may return whole tables
_THREADS = 4  # for them
_ERROR = "Internal Server Error"
# Functions that return what a table holds under a name; its text goes out as it is, 9 ms sooner where it is long.
_STORED = {
    "open_get_entity": "open",
    "finance_get_price_history": "price",
    "finance_get_detailed_price_history": "detailed",
    "finance_get_dividends_history": "dividend",
    "finance_get_info": "info",
}
_log = logging.getLogger(__name__)


def app(graph: Any) -> FastAPI:
    """Make the server's application.

    Args:
        graph: a `Graph`, or what wraps one; its functions are called from several threads.

    Raises:
        QuadragError: FastAPI is not installed.
    """
    fastapi = _import("fastapi")
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="kg")

    @contextlib.asynccontextmanager
    async def lifespan(application: FastAPI) -> AsyncIterator[None]:
        yield
        pool.shutdown()

    options: dict[str, Any] = {"title": "quadrag kg", "lifespan": lifespan}
    if "strict_content_type" in inspect.signature(fastapi.FastAPI).parameters:
        # Clients that post JSON without naming its type were served by the FastAPI of the authors' server.
        options["strict_content_type"] = False
    application: FastAPI = fastapi.FastAPI(**options)

    async def root() -> dict[str, Any]:
        return {"name": "quadrag kg", "functions": len(FUNCTIONS)}

    application.add_api_route("/", root, methods=["GET"])
    plain: dict[str, Any] = {}
    for function in FUNCTIONS.values():
        endpoint = _endpoint(function, _answer(graph, function.name), pool, fastapi.Response)
        if function.parameters:
            plain[function.route] = endpoint.__annotations__["body"], endpoint
        described: dict[str, Any] = {"name": function.name, "description": function.description}
        application.add_api_route(function.route, endpoint, methods=["POST"], **described)
    refuse(application, dump)
    application.add_middleware(Shortcut, plain=plain)
    return application


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise QuadragError(
            f"the knowledge graph's server needs {error.name}, which is not installed: pip install '.[serve]'"
        ) from None


def _answer(graph: Any, name: str) -> Callable[..., bytes]:
    """The function of that name, with the body of the response for its value."""
    from quadrag.kg.graph import Graph

    function: Callable[..., Any] = getattr(graph, name)

    def value(*values: Any) -> bytes:
        return dump({"result": function(*values)})

    def text(query: str) -> bytes:
        rows = graph.rows(_STORED[name], "value FROM {} WHERE name = ?", query)
        stored: str = rows[0][0] if rows else "null"
        # Python's spelling of what JSON cannot hold; where it only stands in a text, nothing is lost but time.
        return value(query) if "NaN" in stored or "Infinity" in stored else b'{"result":' + stored.encode() + b"}"

    # Only a graph itself: what wraps it may answer otherwise.
    return text if name in _STORED and type(graph) is Graph else value


def _endpoint(
    function: Function, answer: Callable[..., bytes], pool: ThreadPoolExecutor, response: Any
) -> Callable[..., Any]:
    """The handler of one route; its body's model is made from the function's parameters."""
    names = [parameter.name for parameter in function.parameters]

    def work(values: list[Any]) -> tuple[int, bytes]:
        try:
            return 200, answer(*values)
        except Exception as error:
            said = f"{function.name}{tuple(values)!r}: {type(error).__name__}: {error}"
            _log.warning("%s", short_line(said))
            return 500, _ERROR.encode()

    async def respond(values: list[Any]) -> Any:
        if function.name.startswith(_LONG):
            status, content = await asyncio.get_running_loop().run_in_executor(pool, work, values)
        else:
            status, content = work(values)
        kind = "application/json" if status == 200 else "text/plain; charset=utf-8"
        return response(content, status, {"content-type": kind})

    async def with_body(body: Any) -> Any:
        return await respond([getattr(body, name) for name in names])

    async def without_body() -> Any:
        return await respond([])

    if not names:
        return without_body
    with_body.__annotations__["body"] = _body(function)
    return with_body


def _body(function: Function) -> type[BaseModel]:
    """A pydantic model with a function's parameters as fields; it converts as upstream's: ``"100"`` is a number."""
    from pydantic import create_model

    types: dict[str, Any] = {"str": str, "int": int, "strs": list[str]}
    fields: dict[str, Any] = {
        parameter.name: (types[parameter.kind], ...) if parameter.required else (types[parameter.kind] | None, None)
        for parameter in function.parameters
    }
    model: type[BaseModel] = create_model(f"{function.name}_body", **fields)
    return model


def dump(value: Any) -> bytes:
    """Write a value as compact JSON; a number that JSON cannot hold (NaN, infinity) becomes null."""
    options: dict[str, Any] = {"allow_nan": False, "separators": (",", ":")}
    try:
        text = json.dumps(value, ensure_ascii=False, **options)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, **options)
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Half a surrogate pair is text to Python and JSON, yet not to UTF-8.
        return json.dumps(json.loads(text), **options).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def serve(
    path: str | Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    query_time: str | None = None,
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a built knowledge graph until the process is told to stop: what is behind ``quadrag kg serve``.

    Args:
        path: the file that ``quadrag kg build`` wrote.
        host: address to listen at.
        port: port to listen at; 0 takes a free one. 8000 is that of upstream's clients.
        query_time: hide what is later (see `clock.py`); None hides nothing, as upstream.
        ready: called with the server's address once it listens.

    Raises:
        QuadragError: FastAPI or uvicorn is not installed, the file is no knowledge graph, or the address is taken.
    """
    uvicorn = _import("uvicorn")
    from quadrag.kg.clock import at
    from quadrag.kg.graph import Graph
    from quadrag.kg.seal import check

    graph = Graph(path)
    check(graph.path)
    application = app(at(graph, query_time) if query_time is not None else graph)
    config = uvicorn.Config(application, log_level="warning", access_log=False)
    listening = _listen(host, port)
    ready(f"http://{host}:{listening.getsockname()[1]}")
    # Ctrl-C is how a server is stopped, not an interruption of it.
    with listening, contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections; uvicorn would end the process where it cannot have the address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's algorithm off, which would hold up small answers by 40 ms, only where TCP is named.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let two servers share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(2048)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise QuadragError(f"cannot listen at {host}:{port}: {reason}; choose another address or port") from None
    return listening
