"""The 38 functions of CRAG's mock knowledge graph as data: tool schemas of them, and calls whose arguments are checked.

Names, routes and body fields of `functions.yaml`, which all are made from, are upstream's.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from quadrag.errors import QuadragError, one_line, unknown_name
from quadrag.reading import parse_json

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
