"""Show one run again, or compare several.

Of several runs the first is what the others are compared with: differences are
paired, over the questions scored in both, each with its 95% interval.
"""

import argparse
from pathlib import Path

from quadrag.commands import options
from quadrag.commands.session import print_next_of_two

EXAMPLES = (
    "quadrag report runs/a",
    "quadrag report runs/a runs/b --html compare.html",
    "quadrag report runs/a --without findings.jsonl",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders")
    parser.add_argument(
        "--without", metavar="FILE", help="findings of `quadrag audit`: with and without the questions that they flag"
    )
    parser.add_argument("--html", metavar="FILE", help="write the page too")
    options.labels(parser)
    options.certificates(parser)
    options.verbose(parser)
    parser.add_argument("--ledger", metavar="FILE", help="where replies are kept (default: in the user's cache folder)")
    parser.add_argument("--profile", choices=("official", "corrected"), help="this one alone (compared: official)")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from quadrag.baselines.audit.finding import read_findings
    from quadrag.baselines.certify.certificate import read_certificates
    from quadrag.baselines.page.page import write_page
    from quadrag.baselines.report.comparison import merge_runs
    from quadrag.baselines.report.paper import show_paper
    from quadrag.baselines.report.run import tabulate_run
    from quadrag.baselines.report.several import refuse_apart, tabulate_several
    from quadrag.baselines.report.summary import show_run
    from quadrag.baselines.report.without import tabulate_without
    from quadrag.baselines.runs import campaign
    from quadrag.baselines.tables.grid import print_grids

    runs = campaign.read_runs(arguments.runs)
    results = [result for _, parts in runs for result in parts]
    certificates = read_certificates(arguments.certificate)
    for result in results:
        result.certificates = certificates
    profiles = options.profiles(arguments)
    page = None  # where it has more than the terminal
    if arguments.without:
        findings = read_findings(Path(arguments.without))
        grids = [tabulate_without(result, findings, profiles[0]) for result in results]
    elif len(runs) > 1:
        refuse_apart(runs)
        for name, parts in runs:
            campaign.refuse_repeated_tasks(name, parts)
        merged = [(name, merge_runs(parts)) for name, parts in runs]
        profile = arguments.profile or "official"
        grids = tabulate_several(merged, profile, arguments.verbose)
        page = tabulate_several(merged, profile, labels=arguments.labels) if arguments.html else None
    elif len(results) > 1:
        grids = []
        for benchmark in dict.fromkeys(result.run.inputs.benchmark for result in results):
            ours = [result for result in results if result.run.inputs.benchmark == benchmark]
            grids += show_paper(benchmark, ours, profiles, arguments.labels, arguments.verbose)
    else:
        grids = show_run(results[0], profiles, arguments.labels, arguments.verbose)
        page = tabulate_run(results[0], profiles, arguments.labels, every=True)
    print_grids(grids, verbose=arguments.verbose)
    if arguments.html:
        write_page(Path(arguments.html), runs, page or grids, arguments.labels, arguments.ledger)
        print(f"\n{arguments.html}")
    if len(runs) > 1 and not arguments.without:
        if not arguments.html:
            print("\nAll answers side by side: --html FILE")
        if all(len(parts) == 1 for _, parts in runs[:2]):
            print_next_of_two(results[0].folder, results[1].folder)
