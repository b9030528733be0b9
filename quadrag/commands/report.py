"""Show one run again, or compare several.

Of several runs the others are compared with the first: differences are paired,
over the questions scored in both, each with its 95% interval.

Examples:
    quadrag report runs/a
    quadrag report runs/a runs/b --html compare.html
    quadrag report runs/a --without findings.jsonl
    quadrag report runs/base runs/new --fail-if worse --fail-below KEY=0.8
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.printing import write

from .shared import options, session


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


def run(arguments: argparse.Namespace) -> None:
    from quadrag.reporting import comparison, tables
    from quadrag.results import own_profile
    from quadrag.results.certificates import read_certificates
    from quadrag.results.compare import compare
    from quadrag.run.folder import read_runs

    least = dict(map(_read_least, arguments.fail_below))
    if arguments.fail_if and len(arguments.runs) == 1:
        raise QuadragError("--fail-if worse compares: name the run that the others are held against first")
    comparison.refuse_same(arguments.runs)
    runs = read_runs(arguments.runs, arguments.profile, read_certificates(arguments.certificate))
    profiles = options.profiles(arguments, own_profile(result for _, parts in runs for result in parts))
    if arguments.json and (len(runs) > 1 or arguments.without):
        cure = "name one without --without; quadrag.compare in Python has differences"
        raise QuadragError(f"--json prints the scores of one RUN; {cure}")
    page = Path(arguments.html) if arguments.html else None
    if arguments.without:
        _show_without(arguments, runs, profiles[0], page)
    else:
        with session.results_alone(arguments.json) as stdout:
            session.show_results(arguments, stdout, [runs], profiles, Path(runs[0][0]), page)
    if page and not arguments.json:
        write("", page)
    if arguments.fail_if or least:
        groups = tables.merge_all(runs) if arguments.fail_if else []
        compared = [compare(group[0][1], [run for _, run in group[1:]], profiles[0]) for group in groups]
        comparison.check_gate(compared, [name for name, _ in runs], runs[-1][1], least, profiles[0])


def _read_least(given: str) -> tuple[str, float]:
    name, _, value = given.rpartition("=")
    try:
        return name, float(value)
    except ValueError:
        raise QuadragError(f"--fail-below {given}: expected SCORE=VALUE, as KEY=0.8") from None


def _show_without(
    arguments: argparse.Namespace, runs: Sequence[tuple[str, Any]], profile: str, page: Path | None
) -> None:
    from quadrag.audit import read_findings
    from quadrag.reporting import tables, text
    from quadrag.reporting.page.page import write_page

    findings = read_findings(Path(arguments.without))
    shown = [tables.tabulate_without(result, findings, profile) for _, parts in runs for result in parts]
    if page:
        write_page(page, runs, shown, arguments.labels)
    text.print_tables(shown, verbose=arguments.verbose, language=arguments.labels)
