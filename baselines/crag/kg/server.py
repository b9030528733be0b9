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
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from quadrag.errors import QuadragError, one_line, parse_json, tell_extra, unknown_name

from .clock import at
from .graph import Graph

_TYPES: dict[str, Any] = {"str": str, "int": int, "strs": list[str]}
_SCHEMAS: dict[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "strs": {"type": "array", "items": {"type": "string"}},
}


class Parameter(NamedTuple):
    """One parameter, which is also one field of the route's body; `kind` is ``str``, ``int`` or ``strs``, a list."""

    kind: str
    required: bool
    description: str


class Function(NamedTuple):
    """One function: `name` is ``<domain>_<route's last parts>``, as in `Graph`; `route` is the server's path."""

    name: str
    route: str
    description: str
    parameters: Mapping[str, Parameter]

    def body(self, extra: Literal["ignore", "forbid"] = "ignore") -> type[BaseModel]:
        """Return a model of the route's body, in which "100" is a number."""
        fields: dict[str, Any] = {
            name: (_TYPES[kind], ...) if required else (_TYPES[kind] | None, None)
            for name, (kind, required, _) in self.parameters.items()
        }
        return create_model(f"{self.name}_body", __config__=ConfigDict(extra=extra), **fields)


def _read_functions() -> dict[str, Function]:
    functions = {}
    table = yaml.safe_load(Path(__file__).with_name("functions.yaml").read_text(encoding="utf-8"))
    for route, entry in table.items():
        name, parameters = route.strip("/").replace("/", "_"), {}
        for head, description in entry.get("parameters", {}).items():
            parameter, kind = head.split()
            parameters[parameter] = Parameter(kind.rstrip("?"), not kind.endswith("?"), description)
        functions[name] = Function(name, route, entry["description"], parameters)
    return functions


FUNCTIONS = _read_functions()


def schemas() -> list[dict[str, Any]]:
    """Return the functions as 38 tools in the form of OpenAI's chat completions."""
    return [{"type": "function", "function": _schema(function)} for function in FUNCTIONS.values()]


def _schema(function: Function) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {
            name: {**_SCHEMAS[kind], "description": description}
            for name, (kind, _, description) in function.parameters.items()
        },
        "required": [name for name, parameter in function.parameters.items() if parameter.required],
        "additionalProperties": False,
    }
    return {"name": function.name, "description": function.description, "parameters": parameters}


def call(graph: Any, name: str, arguments: Mapping[str, Any] | str | None = None) -> Any:
    """Call one function of a graph as a model asked for it, and return what the server gives under ``result``.

    `arguments` come by name, as a mapping or as JSON text; "" and None where it takes nothing. Raises QuadragError
    where name or arguments do not fit, else whatever the function raises.
    """
    if name not in FUNCTIONS:
        raise unknown_name("function", name, FUNCTIONS)
    if isinstance(arguments, str) and arguments.strip():
        arguments = parse_json(arguments, f"the text of the arguments of {name}", "an object")
    try:
        body = FUNCTIONS[name].body(extra="forbid").model_validate(arguments or {})
    except ValidationError as error:
        expected = ", ".join(f"{field} {one.kind}" for field, one in FUNCTIONS[name].parameters.items()) or "nothing"
        problem = one_line(f"{arguments!r:.60} ({error.errors()[0]['msg']})", 200)
        raise QuadragError(f"{name} cannot take {problem}; expected {expected}") from None
    return getattr(graph, name)(*(getattr(body, parameter) for parameter in FUNCTIONS[name].parameters))


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
