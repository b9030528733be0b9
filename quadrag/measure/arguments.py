"""Misspelt arguments of the Python entrance: what it does not know goes on as an option of the benchmark."""

import difflib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.task import known_options
from quadrag.errors import QuadragError
from quadrag.measure.calls import CALLS


def refuse_misspelt(function: Callable[..., Any], benchmark: str, config: str, options: Iterable[str]) -> None:
    """Refuse what is no option of a benchmark, and nearly has the name of an argument.

    Args:
        function: whose arguments they are.
        benchmark: its name.
        config: its config.
        options: what was given besides them, by name.

    Raises:
        QuadragError: an option is such a one, or benchmark or config is unknown.
    """
    for name in options:
        calls = CALLS if "judge" in (taken := inspect.signature(function).parameters) else ()
        near = difflib.get_close_matches(name, (*taken, *calls), n=1, cutoff=0.75)
        if near and name not in known_options(load(benchmark), config):
            raise QuadragError(f"{function.__name__} has no argument {name!r}; did you mean {near[0]}?")
