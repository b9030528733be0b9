"""Score answers that any other system made.

FILE is JSON Lines with `id` and `answer` (null for a call that failed), or
what RGB's or CRUD-RAG's own code wrote, or a log of a harness that ran
quadrag's tasks. Every question must have its line: only RGB's and CRUD-RAG's
own code leave failed calls out, and those are counted as unscored. Options
that the answers were made with are to be given again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from quadrag.commands import options
from quadrag.commands.session import closing, open_budget, open_session

EXAMPLES = (
    "quadrag score mine.jsonl --benchmark rgb --config noise_robustness_zh",
    "quadrag score mine.jsonl --benchmark crag --config qa --judge http://HOST/v1",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("answers", metavar="FILE", help="JSON Lines; `answer` null is a failed call")
    parser.add_argument("--benchmark", metavar="B", required=True)
    parser.add_argument("--config", metavar="C", required=True)
    parser.add_argument("--split", metavar="S", help="the split answered, where the lines do not say it")
    options.data(parser)
    parser.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="may be repeated; rgb: passage_num, noise_ratio, correct_ratio, order; crag: trim, weights, "
        "judge_failure, release, private_file (see quadrag run --help)",
    )
    parser.add_argument("--retriever", metavar="R", help="none: the answers were made without documents")
    options.calls(parser)
    options.output(parser, "write items.jsonl, scores.json, run.json and report.html here")


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from quadrag.baselines import campaign, report, score_file
    from quadrag.baselines.grid import print_grids

    campaign.task(arguments)  # before a ledger or a server is touched, so that a mistyped name costs nothing
    profiles = ("official", "corrected") if arguments.profile == "both" else (arguments.profile,)
    with open_session(arguments, open_budget(arguments)) as session:
        result = score_file.score_file(session, arguments)
    print_grids(report.config_grids(result, profiles, arguments.labels))
    if arguments.out:
        page = report.config_grids(result, profiles, arguments.labels, whole_page=True)
        report.write_page(Path(arguments.out) / "report.html", "quadrag: score", [result], page)
        print(f"\n{Path(arguments.out) / 'report.html'}")
    return closing([(Path(arguments.answers), result)])
