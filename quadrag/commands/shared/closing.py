"""The last lines of a command: what may be typed next, what failed; and its exit code."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag.commands.shared.session import shell_path, tell_bad
from quadrag.errors import one_line
from quadrag.printing import write


def print_next(folder: Path, results: Sequence[Any]) -> None:
    """Print the command that shows the questions of one finished run that are wrong."""
    if len(results) == 1 and not results[0].stopped:
        write(f"next: quadrag show {shell_path(folder)} --wrong")


def report_failures(arguments: argparse.Namespace, results: Sequence[Any]) -> int:
    """Say what failed and what stopped, and for a program, which sees no table, what is invalid; return the exit code.

    That a judge is dead a table says too.
    """
    from quadrag.baselines.reporting.messages import say_invalid

    failures = [failure for result in results for failure in result.run.failures.items()]
    verdicts = sum(result.run.failed_verdicts for result in results)
    stopped = [result.stopped for result in results if result.stopped]
    if stopped and (arguments.json or not any(result.run.dead_judge for result in results)):
        tell_bad(stopped[0])
    if failures and not stopped:
        place, why = failures[0]
        first = one_line(f"{place}: {why}")
        write(f"{_tell_failed(len(failures), 'answer')} (first, {first}); run again to ask again")
    if verdicts and not stopped:
        write(f"{_tell_failed(verdicts, 'verdict')}; run again to ask again")
    invalid = [line for result in results if not result.run.dead_judge for line in say_invalid(result.run)]
    if invalid and arguments.json:
        tell_bad(invalid[0].rstrip(".") + f" (and {len(invalid) - 1} more)" * (len(invalid) > 1))
    return 2 if stopped else 3 if invalid else 0


def _tell_failed(count: int, what: str) -> str:
    return f"1 {what} failed and is unscored" if count == 1 else f"{count} {what}s failed and are unscored"
