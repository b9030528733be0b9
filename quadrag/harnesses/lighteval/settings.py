"""What a user sets for the files in `lighteval/`: lighteval hands custom tasks and models no arguments.

The environment variable ``QUADRAG_LIGHTEVAL`` holds a JSON object. Of its names, those of `CALLS` say how the model is
asked, as the options of `quadrag run` do; all others are settings of `quadrag.harnesses.examination`.
"""

import os
from typing import Any, NamedTuple

from quadrag.errors import QuadragError
from quadrag.reading import parse_json

VARIABLE = "QUADRAG_LIGHTEVAL"
CALLS: dict[str, tuple[type, ...]] = {
    "temperature": (int, float),
    "top_p": (int, float),
    "max_tokens": (int,),
    "seed": (int,),
    "concurrency": (int,),
    "timeout": (int, float),
    "ledger": (str,),
    "service": (str,),
}
_KINDS = {str: "a string", int: "a whole number", float: "a number"}


class Settings(NamedTuple):
    """The settings of the tasks, and of the calls."""

    tasks: dict[str, Any]
    calls: dict[str, Any]


def settings() -> Settings:
    """Read the variable; unset it is as an empty object, and a null as if left out.

    Raises:
        QuadragError: it is no JSON object, or a value of `CALLS` is of another kind.
    """
    text = os.environ.get(VARIABLE) or "{}"
    expected = f'expected an object as {{"data_dir": "sample"}} in {VARIABLE}'
    given = parse_json(text, VARIABLE, expected.removeprefix("expected "))
    if not isinstance(given, dict):
        raise QuadragError(f"{VARIABLE} holds a JSON {type(given).__name__}; {expected}")
    given = {name: value for name, value in given.items() if value is not None}
    for name, kinds in CALLS.items():
        if name in given and type(given[name]) not in kinds:
            raise QuadragError(f"{name} in {VARIABLE} is {given[name]!r}; expected {_KINDS[kinds[-1]]}")
    calls = {name: given.pop(name) for name in CALLS if name in given}
    return Settings(given, calls)
