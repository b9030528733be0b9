"""The 38 functions of CRAG's mock knowledge graph as data: tool schemas of them, and calls whose arguments are checked.

One table, `functions.yaml`, is what the server's routes and the schemas for function-calling models are made from;
names, routes and body fields are upstream's. It answers nothing itself: see `graph.py`.
"""

import copy
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
    """Return the functions as tools in the form of OpenAI's chat completions, which most servers take: 38 dicts.

    Each is ``{"type": "function", "function": {"name", "description", "parameters"}}``, with a JSON schema under
    ``parameters``. The caller owns them.
    """
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
    """Call one function of a graph as a model asked for it.

    Args:
        graph: a `Graph`, or what wraps one.
        name: of the function.
        arguments: by name, as a mapping or as the JSON text that models write; whole numbers may come as digits.

    Returns:
        The value that the server gives under ``result``.

    Raises:
        QuadragError: the function is unknown, or an argument is unknown, missing or of a wrong type.
        Exception: whatever the function raises, which the server answers with 500.
    """
    if name not in FUNCTIONS:
        raise unknown_name("function", name, FUNCTIONS)
    values = bind(FUNCTIONS[name], arguments)
    function: Callable[..., Any] = getattr(graph, name)
    return function(*values)


def bind(function: Function, arguments: Mapping[str, Any] | str | None = None) -> list[Any]:
    """Check the arguments of a call and return them in the order of the parameters; those left out are None.

    Raises:
        QuadragError: an argument is unknown, missing or of a wrong type.
    """
    given = _mapping(function.name, arguments)
    names = [parameter.name for parameter in function.parameters]
    if unknown := [str(key) for key in given if key not in names]:
        raise QuadragError(f"{function.name} has no parameter {unknown[0]!r}; it takes {', '.join(names) or 'none'}")
    values = []
    for parameter in function.parameters:
        value = given.get(parameter.name)
        if value is None:
            if parameter.required:
                noun = _NOUNS[parameter.kind]
                raise QuadragError(f"{function.name} lacks {parameter.name!r}: {noun}, {parameter.description}")
        else:
            value = _value(function.name, parameter, value)
        values.append(value)
    return values


def _mapping(name: str, arguments: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    if isinstance(arguments, str):
        # Models write an empty text where a function takes nothing.
        where = f"the text of the arguments of {name}"
        arguments = parse_json(arguments, where, "an object") if arguments.strip() else {}
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise QuadragError(f"the arguments of {name} are a {type(arguments).__name__}; expected an object by name")
    return arguments


def _value(name: str, parameter: Parameter, value: Any) -> Any:
    if parameter.kind == "str" and isinstance(value, str):
        return value
    if parameter.kind == "strs" and isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return list(value)
    if parameter.kind == "int" and not isinstance(value, bool):
        if isinstance(value, int):
            return value
        if isinstance(value, float) and value.is_integer():
            return int(value)
        # Longer ones are no id, and Python refuses to read the longest.
        if isinstance(value, str) and len(value) < 20 and value.strip().removeprefix("-").isdecimal():
            return int(value)
    found = f"{value!r:.60} ({type(value).__name__})"
    raise QuadragError(f"{name}: {parameter.name} is {found}; expected {_NOUNS[parameter.kind]}")
