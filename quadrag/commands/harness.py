"""Print the folder of quadrag's tasks for a harness."""

from __future__ import annotations

import argparse

EXAMPLES = ("lm_eval --include_path $(quadrag harness lm-eval) --tasks quadrag_rgb ...",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("name", metavar="NAME", help="lm-eval (needs the extra harness)")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from quadrag import harnesses

    print(harnesses.path(arguments.name))
