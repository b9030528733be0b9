"""Show one run again, or compare several.

Of several runs the others are compared with the first: differences are paired,
over the questions scored in both, each with its 95% interval.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quadrag.errors import GateFailed, QuadragError
from quadrag.printing import say, write

from .shared import options
from .shared.session import print_json, print_tables, results_alone

EXAMPLES = (
    "quadrag report runs/a",
    "quadrag report runs/a runs/b --html compare.html",
    "quadrag report runs/a --without findings.jsonl",
    "quadrag report runs/base runs/new --fail-if worse --fail-below KEY=0.8",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders")
    parser.add_argument(
        "--without", metavar="FILE", help="findings of `quadrag audit`: with and without the questions that they flag"
    )
    parser.add_argument("--html", metavar="FILE", help="write the page too")
    parser.add_argument(
        "--fail-if", choices=("worse",), help="exit with 4 where a later RUN is worse than the first by its headline"
    )
    parser.add_argument(
        "--fail-below",
        metavar="SCORE=VALUE",
        action="append",
        default=[],
        help="exit with 4 where the last RUN's 95%% interval of a score lies below a value; several",
    )
    options.add(parser, "json labels certificate verbose")
    parser.add_argument("--profile", choices=options.PROFILES, help="this one alone (compared: that of the runs)")


def run(arguments: argparse.Namespace) -> int:
    """Show the runs, and hold them against what a pipeline asks."""
    from quadrag.reporting.comparison import refuse_same
    from quadrag.results.certificates import read_certificates
    from quadrag.run.folder import read_runs

    least = dict(map(_read_least, arguments.fail_below))
    if arguments.fail_if and len(arguments.runs) == 1:
        raise QuadragError("--fail-if worse compares: name the run that the others are held against first")
    refuse_same(arguments.runs)
    runs = read_runs(arguments.runs, arguments.profile, read_certificates(arguments.certificate))
    _show(arguments, runs)
    return _check(arguments, runs, least) if arguments.fail_if or least else 0


def _read_least(given: str) -> tuple[str, float]:
    name, _, value = given.rpartition("=")
    try:
        return name, float(value)
    except ValueError:
        raise QuadragError(f"--fail-below {given}: expected SCORE=VALUE, as KEY=0.8") from None


def _check(arguments: argparse.Namespace, runs: Sequence[tuple[str, Any]], least: Mapping[str, float]) -> int:
    """Hold the runs against what is asked of them, and say in a line what fails."""
    from quadrag.reporting.comparison import check_gate
    from quadrag.reporting.tables import merge_all
    from quadrag.results import own_profile
    from quadrag.results.compare import compare

    profile = options.profiles(arguments, own_profile([one for _, parts in runs for one in parts]))[0]
    groups = merge_all(runs) if arguments.fail_if else []
    try:
        compared = [compare(group[0][1], [one for _, one in group[1:]], profile) for group in groups]
        check_gate(compared, [name for name, _ in runs], runs[-1][1], least, profile)
    except GateFailed as failed:
        say(str(failed))
        return failed.code
    return 0


def _show(arguments: argparse.Namespace, runs: Sequence[tuple[str, Any]]) -> None:
    """Print the tables of the runs, and write the page."""
    from quadrag.audit import read_findings
    from quadrag.reporting.page.page import write_page
    from quadrag.reporting.tables import tabulate, tabulate_without
    from quadrag.results import Note, NoteCode, own_profile

    results = [result for _, parts in runs for result in parts]
    own, labels = own_profile(results), arguments.labels
    profiles = options.profiles(arguments, own)
    mixed = [Note(NoteCode.PROFILES_MIXED)] if len(runs) > 1 and not (own or arguments.profile) else []
    if arguments.json:
        if len(runs) > 1 or arguments.without:
            told = "name one without --without; quadrag.compare in Python has differences"
            raise QuadragError(f"--json prints the scores of one RUN; {told}")
        with results_alone(True) as stdout:
            print_json(arguments, stdout, results, Path(runs[0][0]))
        return
    findings = read_findings(Path(arguments.without)) if arguments.without else None
    if findings is not None:
        tables = [tabulate_without(result, findings, profiles[0]) for result in results]
    else:
        tables = tabulate(runs, profiles, labels, arguments.verbose)
        tables[0].notes[:0] = mixed
    if arguments.html:  # before anything is printed: whoever reads may close the pipe
        page = tabulate(runs, profiles, labels, page=True) if findings is None else tables
        page[0].notes[:0] = mixed if findings is None else []
        write_page(Path(arguments.html), runs, page, labels, profiles[0])
    print_tables(arguments, tables, verbose=arguments.verbose)
    if arguments.html:
        write(f"\n{arguments.html}")
    elif len(runs) > 1 and findings is None:
        write("\nnext: the same with --html FILE shows all answers side by side")
