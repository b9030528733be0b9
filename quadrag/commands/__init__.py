"""The commands, a file each: its docstring is the help, and `EXAMPLES`, `add_arguments` and `run` do the rest.

Beside `quadrag.harnesses` they alone call `quadrag.baselines`; they do so when they run, so that help answers at once.
"""

import argparse
import importlib
from typing import Protocol, cast

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


class Command(Protocol):
    """The members of a command's file."""

    __doc__: str
    EXAMPLES: tuple[str, ...]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments to the command's parser."""

    def run(self, arguments: argparse.Namespace) -> int | None:
        """Run the command; None is success.

        Raises:
            QuadragError: bad input, or something that it needs is dead.
        """


def load(name: str) -> Command:
    """Return a command's file: `certify-judge` stands in `certify_judge.py`."""
    return cast(Command, importlib.import_module(f"quadrag.commands.{name.replace('-', '_')}"))
