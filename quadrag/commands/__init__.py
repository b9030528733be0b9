"""The commands, a file each: its docstring is the help, and `EXAMPLES`, `add_arguments` and `run` do the rest.

Beside `quadrag.harnesses` they alone call `quadrag.baselines`; they do so when they run, so that help answers at once.
"""

import importlib
from typing import Any

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
    "recall",
    "kg",
    "export",
    "push",
    "harness",
)


def load(name: str) -> Any:
    """Return a command's file: `certify-judge` stands in `certify_judge.py`."""
    return importlib.import_module(f"quadrag.commands.{name.replace('-', '_')}")
