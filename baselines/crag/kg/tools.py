"""The 38 functions of CRAG's mock knowledge graph as data: tool schemas of them, and calls whose arguments are checked.

Names, routes and body fields of `functions.yaml`, which all are made from, are upstream's.
"""

import copy
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from quadrag.errors import QuadragError, unknown_name
from quadrag.reading import parse_json

Kind = Literal["str", "int", "strs"]
_SCHEMAS: dict[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "strs": {"type": "array", "items": {"type": "string"}},
}
_NOUNS = {"str": "a text", "int": "a whole number", "strs": "a list of texts"}


class Parameter(NamedTuple):
    """One parameter, which is also one field of the route's body."""

    name: str
    kind: Kind
    description: str
    required: bool = True


class Function(NamedTuple):
    """One function: `name` is ``<domain>_<route's last parts>``, as in `Graph`; `route` is the server's path."""

    name: str
    route: str
    description: str
    parameters: tuple[Parameter, ...]


def _read_functions() -> dict[str, Function]:
    import yaml

    functions = {}
    table = yaml.safe_load(Path(__file__).with_name("functions.yaml").read_text(encoding="utf-8"))
    for route, entry in table.items():
        name = route.strip("/").replace("/", "_")
        parameters = tuple(_parameter(*one) for one in entry.get("parameters", {}).items())
        functions[name] = Function(name, route, entry["description"], parameters)
    return functions


def _parameter(head: str, description: str) -> Parameter:
    name, kind = head.split()
    known: Any = kind.rstrip("?")
    return Parameter(name, known, description, required=kind == known)


FUNCTIONS = _read_functions()


def schemas() -> list[dict[str, Any]]:
    """Return the functions as 38 tools in the form of OpenAI's chat completions; the caller owns them."""
    return [{"type": "function", "function": _schema(function)} for function in FUNCTIONS.values()]


def _schema(function: Function) -> dict[str, Any]:
    properties = {
        parameter.name: {**copy.deepcopy(_SCHEMAS[parameter.kind]), "description": parameter.description}
        for parameter in function.parameters
    }
    required = [parameter.name for parameter in function.parameters if parameter.required]
    return {
        "name": function.name,
        "description": function.description,
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
    }


def call(graph: Any, name: str, arguments: Mapping[str, Any] | str | None = None) -> Any:
    """Call one function of a graph as a model asked for it, and return what the server gives under ``result``.

    `arguments` come by name, as a mapping or as JSON text; "" and None where it takes nothing. Raises QuadragError
    where name or arguments do not fit, else whatever the function raises.
    """
    if name not in FUNCTIONS:
        raise unknown_name("function", name, FUNCTIONS)
    if isinstance(arguments, str) and arguments.strip():
        arguments = parse_json(arguments, f"the text of the arguments of {name}", "an object")
    given = arguments or {}
    known = {parameter.name: parameter for parameter in FUNCTIONS[name].parameters}
    if not isinstance(given, Mapping) or given.keys() - known.keys():
        raise QuadragError(f"{name} takes {', '.join(known) or 'nothing'}, not {given!r:.60}")
    for parameter in known.values():
        if not _fits(given.get(parameter.name), parameter):
            found = f"{given.get(parameter.name)!r:.60}"
            raise QuadragError(f"{name}: {parameter.name} is {found}; expected {_NOUNS[parameter.kind]}")
    function: Callable[..., Any] = getattr(graph, name)
    return function(*(given.get(parameter) for parameter in known))


def _fits(value: Any, parameter: Parameter) -> bool:
    if value is None:
        return not parameter.required
    if parameter.kind == "strs":
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    if parameter.kind == "int":
        return type(value) is int or (isinstance(value, str) and re.fullmatch("-?[0-9]{1,19}", value) is not None)
    return isinstance(value, str)
