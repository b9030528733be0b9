"""Show one run again, or compare several.

Of several runs the first is what the others are compared with: differences are
paired, over the questions scored in both, each with its 95% interval.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from quadrag.commands import options

EXAMPLES = (
    "quadrag report runs/a",
    "quadrag report runs/a runs/b --html compare.html",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders")
    parser.add_argument("--html", metavar="FILE", help="write the page too")
    options.labels(parser)
    parser.add_argument("--profile", choices=("official", "corrected"), help="this one alone (compared: official)")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from quadrag.baselines import campaign, report
    from quadrag.baselines.grid import print_grids

    runs = campaign.read_runs(arguments.runs)
    results = [result for _, parts in runs for result in parts]
    profiles = (arguments.profile,) if arguments.profile else ("official", "corrected")
    page = None  # where it has more than the terminal
    if len(runs) > 1:
        for name, parts in runs:
            campaign.one_of_each(name, parts)
        merged = [(name, report.merged(parts)) for name, parts in runs]
        grids = [report.comparison(merged, arguments.profile or "official")]
    elif len(results) > 1:
        grids = []
        for benchmark in dict.fromkeys(result.info["inputs"]["benchmark"] for result in results):
            ours = [result for result in results if result.info["inputs"]["benchmark"] == benchmark]
            grids += report.swept_grids(benchmark, ours, profiles)
    else:
        grids = report.config_grids(results[0], profiles, arguments.labels)
        page = report.config_grids(results[0], profiles, arguments.labels, whole_page=True)
    print_grids(grids)
    if arguments.html:
        report.write_page(Path(arguments.html), "quadrag: report", results, page or grids)
        print(f"\n{arguments.html}")
