"""CRAG's mock knowledge graph over HTTP: a route of FastAPI for each function of `functions.yaml`.

An answer is ``{"result": ...}``, NaN and infinity as null; an error of a function is 500 with plain text, a wrong body
422, a body of more than `LONGEST` bytes 413. It checks no keys and limits no rates: it is for one machine.
"""

import contextlib
import importlib
import json
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError, one_line, tell_extra

from .clock import at
from .graph import Graph
from .tools import FUNCTIONS, Function

LONGEST = 1_000_000  # bytes of a body; what a function takes is a name
_TABLES = "sports_"  # functions that begin so may return whole tables, and run in threads so that none holds up others
_ERROR = "Internal Server Error"
_TYPES: dict[str, Any] = {"str": str, "int": int, "strs": list[str]}
_log = logging.getLogger(__name__)


def app(graph: Any) -> Any:
    """Make a FastAPI application of a `Graph`, or what wraps one; its functions are called from several threads."""
    fastapi = _needed("fastapi")
    from fastapi.encoders import jsonable_encoder
    from fastapi.exceptions import RequestValidationError

    # Clients that post JSON without naming its type were served by the FastAPI of the authors' server.
    application = fastapi.FastAPI(title="quadrag kg", strict_content_type=False)

    async def root() -> dict[str, Any]:
        return {"name": "quadrag kg", "functions": len(FUNCTIONS)}

    # FastAPI's own words repeat the body, and fail where NaN is in it.
    async def explain(_: Any, error: Any) -> Any:
        return _reply({"detail": jsonable_encoder(error.errors())}, 422)

    application.add_api_route("/", root, methods=["GET"])
    application.add_exception_handler(RequestValidationError, explain)
    for function in FUNCTIONS.values():
        application.add_api_route(
            function.route,
            _endpoint(function, getattr(graph, function.name)),
            methods=["POST"],
            name=function.name,
            description=function.description,
        )
    application.add_middleware(_Bounded)
    return application


def _endpoint(function: Function, call: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """The handler of one route; its body is a model with the function's parameters, in which "100" is a number."""
    from fastapi.concurrency import run_in_threadpool
    from pydantic import create_model

    names = [parameter.name for parameter in function.parameters]

    async def respond(values: list[Any]) -> Any:
        try:
            threaded = function.name.startswith(_TABLES)
            result = await run_in_threadpool(call, *values) if threaded else call(*values)
            return _reply({"result": result}, 200)
        except Exception as error:
            _log.warning("%s", one_line(f"{function.name}: {type(error).__name__}: {error} {tuple(values)!r}", 650))
            return _reply(_ERROR, 500)

    async def with_body(body: Any) -> Any:
        return await respond([getattr(body, name) for name in names])

    async def without_body() -> Any:
        return await respond([])

    if not names:
        return without_body
    fields: dict[str, Any] = {
        parameter.name: (_TYPES[parameter.kind], ...) if parameter.required else (_TYPES[parameter.kind] | None, None)
        for parameter in function.parameters
    }
    with_body.__annotations__["body"] = create_model(f"{function.name}_body", **fields)
    return with_body


def _reply(content: Any, status: int) -> Any:
    from fastapi import Response

    if isinstance(content, str):
        return Response(content, status, media_type="text/plain")
    return Response(_dump(content), status, media_type="application/json")


def _dump(value: Any) -> str:
    # ASCII: half a surrogate pair is text to Python and JSON, yet not to UTF-8.
    text = json.dumps(value)
    return json.dumps(json.loads(text, parse_constant=lambda _: None)) if "NaN" in text or "Infinity" in text else text


class _Bounded:
    def __init__(self, app: Any) -> None:
        self._inner = app

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        from fastapi import HTTPException

        read = 0

        async def bounded() -> dict[str, Any]:
            nonlocal read
            message: dict[str, Any] = await receive()
            read += len(message.get("body", b""))
            if read > LONGEST:
                raise HTTPException(413, f"a body may have {LONGEST} bytes")
            return message

        await self._inner(scope, bounded, send)


def serve(
    path: str | Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    query_time: str | None = None,
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a built graph until the process is told to stop; QuadragError where it cannot listen or lacks a library.

    `port`: 0 takes a free one; 8000 is that of upstream's clients.
    `query_time`: hide what is later (see `quadrag.baselines.crag.kg.clock`); None hides nothing, as upstream.
    `ready`: called with the server's address once it listens.
    """
    uvicorn = _needed("uvicorn")
    graph = Graph(path)
    application = app(at(graph, query_time) if query_time is not None else graph)
    # No logging of its own: to set it up would close the handlers that a process has.
    config = uvicorn.Config(application, log_config=None, log_level="warning", access_log=False)
    # Ctrl-C is how a server is stopped, not an interruption of it.
    with _listen(host, port) as listening, contextlib.suppress(KeyboardInterrupt):
        ready(f"http://{host}:{listening.getsockname()[1]}")
        uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    # uvicorn would end the process where it cannot have the address.
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


def _needed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise QuadragError(
            f"the knowledge graph's server needs {error.name}, which is not installed; {tell_extra('serve')}"
        ) from None
