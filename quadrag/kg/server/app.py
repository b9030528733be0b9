"""The server's application: a route for each function of the graph.

A body is what the table of `quadrag.kg.tools` says; an answer is ``{"result": ...}``, an error of a function 500 with
plain text; what is refused says `refusing.py`. Most functions take less time than handing them to a thread does, so
they are called where the request is read; those that may return thousands of rows run in threads, so that none holds
up the others. NaN becomes null. It checks no keys and limits no rates: it is for one machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from quadrag.errors import QuadragError, short_line, tell_extra
from quadrag.kg.server.answers import answer
from quadrag.kg.server.refusing import refuse
from quadrag.kg.server.shortcut import Shortcut
from quadrag.kg.tools import FUNCTIONS, Function

if TYPE_CHECKING:
    from fastapi import FastAPI
    from pydantic import BaseModel

_LONG = "sports_"  # functions that begin so may return whole tables
_THREADS = 4  # for them
_ERROR = "Internal Server Error"
_log = logging.getLogger(__name__)


def app(graph: Any) -> FastAPI:
    """Make the server's application.

    Args:
        graph: a `Graph`, or what wraps one; its functions are called from several threads.

    Raises:
        QuadragError: FastAPI is not installed.
    """
    fastapi = needed("fastapi")
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
        endpoint = _endpoint(function, answer(graph, function.name), pool, fastapi.Response)
        if function.parameters:
            plain[function.route] = endpoint.__annotations__["body"], endpoint
        described: dict[str, Any] = {"name": function.name, "description": function.description}
        application.add_api_route(function.route, endpoint, methods=["POST"], **described)
    refuse(application)
    application.add_middleware(Shortcut, plain=plain)
    return application


def needed(name: str) -> Any:
    """Import what the extra `serve` installs."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise QuadragError(
            f"the knowledge graph's server needs {error.name}, which is not installed; {tell_extra('serve')}"
        ) from None


def _endpoint(
    function: Function, answered: Callable[..., bytes], pool: ThreadPoolExecutor, response: Any
) -> Callable[..., Any]:
    """The handler of one route; its body's model is made from the function's parameters."""
    names = [parameter.name for parameter in function.parameters]

    def work(values: list[Any]) -> tuple[int, bytes]:
        try:
            return 200, answered(*values)
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
