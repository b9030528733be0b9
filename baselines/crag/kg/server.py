"""CRAG's mock knowledge graph over HTTP: a route of FastAPI for each function of `functions.yaml`.

An answer is ``{"result": ...}``, NaN and infinity as null; an error of a function is 500 with plain text, a wrong body
422. It checks no keys and limits no rates: it is for one machine.
"""

import contextlib
import importlib
import json
import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError, one_line, tell_extra

from .clock import at
from .graph import Graph
from .tools import FUNCTIONS, Function

_log = logging.getLogger(__name__)


def app(graph: Any) -> Any:
    """Make a FastAPI application of a `Graph`, or what wraps one; its functions are called from several threads."""
    fastapi = _import("fastapi")
    # Clients that post JSON without naming its type were served by the FastAPI of the authors' server.
    application = fastapi.FastAPI(title="quadrag kg", strict_content_type=False)
    application.get("/")(lambda: {"name": "quadrag kg", "functions": len(FUNCTIONS)})
    for function in FUNCTIONS.values():
        endpoint = _endpoint(function, getattr(graph, function.name))
        application.post(function.route, name=function.name, description=function.description)(endpoint)
    return application


def _endpoint(function: Function, call: Callable[..., Any]) -> Callable[..., Any]:
    from fastapi import Response

    def respond(body: Any = None) -> Any:
        values = [getattr(body, name) for name in function.parameters]
        try:
            return Response(_dump({"result": call(*values)}), media_type="application/json")
        except Exception as error:
            _log.warning("%s", one_line(f"{function.name}: {type(error).__name__}: {error} {values!r}", 650))
            return Response("Internal Server Error", 500, media_type="text/plain")

    if not function.parameters:
        return lambda: respond()
    respond.__annotations__["body"], respond.__defaults__ = function.body(), None
    return respond


def _dump(value: Any) -> str:
    # ASCII: half a surrogate pair is text to Python and JSON, yet not to UTF-8.
    text = json.dumps(value)
    return json.dumps(json.loads(text, parse_constant=lambda _: None)) if "NaN" in text or "Infinity" in text else text


def serve(
    path: str | Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    query_time: str | None = None,
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a built graph until the process is told to stop; QuadragError where it cannot listen or lacks a library.

    `port`: 0 takes a free one; 8000 is that of upstream's clients.
    `query_time`: hide what is later (see `clock`); None hides nothing, as upstream.
    `ready`: called with the server's address once it listens.
    """
    uvicorn = _import("uvicorn")
    graph = Graph(path)
    application = app(at(graph, query_time) if query_time is not None else graph)
    # No logging of its own: to set it up would close the handlers that a process has.
    config = uvicorn.Config(application, log_config=None, log_level="warning", access_log=False)
    # Ctrl-C is how a server is stopped, not an interruption of it.
    with _listen(host, port) as listening, contextlib.suppress(KeyboardInterrupt):
        ready(f"http://{host}:{listening.getsockname()[1]}")
        uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    # uvicorn would end the process where it cannot have the address, and asyncio switches Nagle's algorithm off, which
    # would hold up small answers by 40 ms, only where TCP is named.
    listening = socket.socket(
        socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )
    try:
        if os.name == "posix":  # elsewhere it would let two servers share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(2048)
    except (OSError, OverflowError) as error:
        listening.close()
        raise QuadragError(f"cannot listen at {host}:{port}: {error}; choose another address or port") from None
    return listening


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise QuadragError(f"the knowledge graph's server needs {error.name}; {tell_extra('serve')}") from None
