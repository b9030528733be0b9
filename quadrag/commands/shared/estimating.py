"""What `--estimate` does: the command at work with models that are asked nothing."""

import argparse
from typing import IO, Any

from quadrag.commands.shared.session import print_tables
from quadrag.errors import QuadragError
from quadrag.printing import write


def start_estimate(arguments: argparse.Namespace) -> Any:
    """Return an empty `Estimate`; None where none is asked for."""
    from quadrag.baselines.systems.tokens import find_counting
    from quadrag.chat.estimate import Estimate

    if arguments.estimate:
        return Estimate(lambda model: find_counting(model, arguments.tokens_by))
    if arguments.tokens_by is not None:
        raise QuadragError("--tokens-by says how --estimate counts tokens; give both, or leave it out")
    return None


def print_estimate(arguments: argparse.Namespace, estimate: Any, stdout: IO[str]) -> None:
    """Print what was noted."""
    from quadrag.baselines.report.estimated import describe_estimate, tabulate_estimate
    from quadrag.chat.prices import Prices
    from quadrag.records import dumps

    prices = Prices.load(arguments.prices) if arguments.prices else None
    if arguments.json:
        write(dumps(describe_estimate(estimate)), file=stdout)
    elif not estimate.stages:
        write("Nothing is asked: all that this needs is there already, or no model is named.", file=stdout)
    else:
        currency = prices.currency if prices else None
        grid = tabulate_estimate(estimate, currency)
        print_tables(arguments, [grid], file=stdout)
