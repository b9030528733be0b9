"""Misspelt arguments of the Python entrance: what it does not know goes on as an option of the benchmark."""

import difflib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from quadrag.errors import QuadragError


def refuse_misspelt(function: Callable[..., Any], options: Iterable[str]) -> None:
    """Refuse an option whose name is nearly that of an argument.

    Args:
        function: whose arguments they are.
        options: what was given besides them, by name.

    Raises:
        QuadragError: one is.
    """
    for name in options:
        if near := difflib.get_close_matches(name, inspect.signature(function).parameters, n=1, cutoff=0.75):
            raise QuadragError(f"{function.__name__} has no argument {name!r}; did you mean {near[0]}?")
