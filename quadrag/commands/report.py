"""Show one run again, or compare several.

Of several runs the first one with a value is what the others are compared with:
differences are paired, over the questions scored in both, each with its 95%
interval.
"""

import argparse
from pathlib import Path

from quadrag.commands.shared import options
from quadrag.commands.shared.session import print_results, print_tables, results_alone
from quadrag.errors import QuadragError
from quadrag.printing import write

EXAMPLES = (
    "quadrag report runs/a",
    "quadrag report runs/a runs/b --html compare.html",
    "quadrag report runs/a --without findings.jsonl",
)
_MIXED = "The runs were made with different profiles. Shown here: official; for the other: --profile corrected."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders")
    parser.add_argument(
        "--without", metavar="FILE", help="findings of `quadrag audit`: with and without the questions that they flag"
    )
    parser.add_argument("--html", metavar="FILE", help="write the page too")
    options.json(parser)
    options.labels(parser)
    options.certificates(parser)
    options.verbose(parser)
    parser.add_argument(
        "--profile", choices=("official", "corrected"), help="this one alone (compared: that of the runs)"
    )


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from quadrag.baselines.audit.finding import read_findings
    from quadrag.baselines.judges.certificate import lay_beside, read_certificates
    from quadrag.baselines.page.page import write_page
    from quadrag.baselines.report.all import compare_all, tabulate_all
    from quadrag.baselines.report.compared.comparison import refuse_same
    from quadrag.baselines.report.compared.names import lift_place
    from quadrag.baselines.report.summary import show_run
    from quadrag.baselines.report.without import tabulate_without
    from quadrag.baselines.results.run import own_profile
    from quadrag.baselines.runs.finished import read_runs
    from quadrag.baselines.tables.grid import Alarm

    refuse_same(arguments.runs)
    runs = read_runs(arguments.runs, arguments.profile)
    results = [result for _, parts in runs for result in parts]
    lay_beside(results, read_certificates(arguments.certificate))
    own = own_profile(results)
    profiles = options.profiles(arguments, own)
    if arguments.json:
        if len(runs) > 1 or arguments.without:
            told = "name one without --without; quadrag.compare in Python has differences"
            raise QuadragError(f"--json prints the scores of one RUN; {told}")
        with results_alone(True) as stdout:
            print_results(arguments, stdout, Path(runs[0][0]), results, ())
        return
    page = None  # where it has more than the terminal
    if arguments.without:
        findings = read_findings(Path(arguments.without))
        grids = [tabulate_without(result, findings, profiles[0]) for result in results]
    elif len(runs) > 1:
        grids = compare_all(runs, profiles[0], arguments.verbose)
        page = tabulate_all(runs, profiles, arguments.labels) if arguments.html else None
        for first, *_ in filter(None, (grids, page)) if not (own or arguments.profile) else ():
            first.notes.insert(0, Alarm(_MIXED))
    elif len(results) > 1:
        grids = tabulate_all(runs, profiles, arguments.labels, arguments.verbose)
    else:
        grids = show_run(results[0], profiles, arguments.labels, arguments.verbose)
        page = tabulate_all(runs, profiles, arguments.labels)
    if arguments.html:  # before anything is printed: whoever reads may close the pipe
        write_page(Path(arguments.html), runs, page or grids, arguments.labels, profiles[0])
    print_tables(arguments, [*map(lift_place, grids)], verbose=arguments.verbose)
    if arguments.html:
        write(f"\n{arguments.html}")
    elif len(runs) > 1 and not arguments.without:
        write("\nnext: the same with --html FILE shows all answers side by side")
