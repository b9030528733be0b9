"""The graph's 38 functions for other programs: as tools of a model, as checked calls, as routes of an HTTP server.

Names, routes and body fields of `functions.yaml`, which all are made from, are upstream's. An answer of the server is
``{"result": ...}``, NaN and infinity as null; an error of a function is 500 with plain text, a wrong body 422. It
checks no keys and limits no rates: it is for one machine.
"""

import contextlib
import json
import logging
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from quadrag.errors import QuadragError, one_line, parse_json, tell_extra, unknown_name
from quadrag.printing import write

from .clock import GraphAt
from .graph import Graph

_TYPES: dict[str, Any] = {"str": str, "int": int, "strs": list[str]}
_log = logging.getLogger(__name__)


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
            name: {**TypeAdapter(_TYPES[kind]).json_schema(), "description": description}
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
    parameters = FUNCTIONS[name].parameters
    if isinstance(arguments, str) and arguments.strip():
        arguments = parse_json(arguments, f"the text of the arguments of {name}", "an object")
    try:
        body = FUNCTIONS[name].body(extra="forbid").model_validate(arguments or {})
    except ValidationError as error:
        expected = ", ".join(f"{field} {parameter.kind}" for field, parameter in parameters.items()) or "nothing"
        problem = one_line(f"{arguments!r:.60} ({error.errors()[0]['msg']})", 200)
        raise QuadragError(f"{name} cannot take {problem}; expected {expected}") from None
    return getattr(graph, name)(*(getattr(body, field) for field in parameters))


def serve(path: str, host: str, port: int, query_time: str | None) -> None:
    """Serve a built graph until the process is told to stop; port 0 takes a free one.

    `query_time` hides what is later (see `clock`); None hides nothing, as upstream.
    """
    try:
        import fastapi
        import uvicorn
    except ModuleNotFoundError as error:
        raise QuadragError(f"the knowledge graph's server needs {error.name}; {tell_extra('serve')}") from None

    graph = Graph(path)
    if query_time is not None:
        graph = GraphAt(graph, query_time)
    # Clients that post JSON without naming its type were served by the FastAPI of the authors' server.
    app = fastapi.FastAPI(title="quadrag kg", strict_content_type=False)
    app.get("/")(lambda: {"name": "quadrag kg", "functions": len(FUNCTIONS)})
    for function in FUNCTIONS.values():
        endpoint = _endpoint(function, getattr(graph, function.name))
        app.post(function.route, name=function.name, description=function.description)(endpoint)
    # No logging of its own: to set it up would close the handlers that a process has.
    config = uvicorn.Config(app, log_config=None, log_level="warning", access_log=False)
    # Ctrl-C is how a server is stopped, not an interruption of it.
    with _listen(host, port) as listening, contextlib.suppress(KeyboardInterrupt):
        write(f"serving {path} at http://{host}:{listening.getsockname()[1]}, until Ctrl-C")
        uvicorn.Server(config).run(sockets=[listening])


def _endpoint(function: Function, ask: Callable[..., Any]) -> Callable[..., Any]:
    from fastapi import Response

    def respond(body: Any = None) -> Any:
        values = [getattr(body, name) for name in function.parameters]
        try:
            return Response(_dump({"result": ask(*values)}), media_type="application/json")
        except Exception as error:
            _log.warning("%s", one_line(f"{function.name}: {type(error).__name__}: {error} {values!r}", 650))
            return Response("Internal Server Error", 500, media_type="text/plain")

    if not function.parameters:
        return lambda: respond()  # a route that reads no body
    respond.__annotations__["body"], respond.__defaults__ = function.body(), None
    return respond


def _dump(value: Any) -> str:
    # ASCII: half a surrogate pair is text to Python and JSON, yet not to UTF-8.
    text = json.dumps(value)
    return json.dumps(json.loads(text, parse_constant=lambda _: None)) if "NaN" in text or "Infinity" in text else text


def _listen(host: str, port: int) -> socket.socket:
    is_v6 = ":" in host
    family = socket.AF_INET6 if is_v6 else socket.AF_INET
    try:  # uvicorn would end the process where it cannot have the address
        listening = socket.create_server((host, port), family=family, backlog=2048, dualstack_ipv6=is_v6)
    except (OSError, OverflowError) as error:
        raise QuadragError(f"cannot listen at {host}:{port}: {error}; choose another address or port") from None
    # Nagle's algorithm would hold up small answers by 40 ms; the sockets of clients inherit this.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
