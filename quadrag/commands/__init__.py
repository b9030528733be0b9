"""The commands, a file each: its docstring is the help, examples included; `add_arguments` and `run` do the rest.

Heavy imports stand inside `run`, so that help answers at once. A benchmark may bring commands of its own.
"""

import importlib
from typing import Any

from quadrag.catalogue import commands

# In the order of the help; a test holds that every file here is named.
NAMES = (
    "demo",
    "list",
    "prepare",
    "run",
    "questions",
    "score",
    "show",
    "label",
    "audit",
    "certify-judge",
    "report",
    "view",
    "construct",
    "trec",
    "export",
    "push",
    "harness",
)


def load(name: str) -> Any:
    if name in NAMES:
        return importlib.import_module(f"quadrag.commands.{name.replace('-', '_')}")
    return importlib.import_module(commands()[name])
