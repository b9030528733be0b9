"""Score answers that any other system made.

FILE is JSON Lines with `id` and `answer` (null for a call that failed), as
`quadrag questions` asks for them, maybe with `passages`, which are measured
too; or what RGB's or CRUD-RAG's own code wrote; or a log of a harness that ran
quadrag's tasks. A part of the questions is scored as a part, and said to be
one. Options that the answers were made with are to be given again.
"""

import argparse
from pathlib import Path

from quadrag.commands import options
from quadrag.commands.session import call_request, print_results, report_failures, results_alone, run_request

EXAMPLES = (
    "quadrag score mine.jsonl --benchmark rgb --config noise_robustness_zh",
    "quadrag score mine.jsonl --benchmark crag --config qa --judge http://HOST/v1",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("answers", metavar="FILE", help="JSON Lines; `answer` null is a failed call")
    parser.add_argument("--benchmark", metavar="B", help="where the lines do not say it, as those of another system")
    parser.add_argument("--config", metavar="C", help="likewise")
    parser.add_argument("--split", metavar="S", help="the split answered, where the lines do not say it")
    options.data(parser)
    parser.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="may be repeated; those of `quadrag run` that questions or scores depend on",
    )
    parser.add_argument("--retriever", metavar="R", help="none: the answers were made without documents")
    options.calls(parser)
    options.output(parser, "write items.jsonl, scores.json, run.json and report.html here")


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from quadrag.baselines.report.page import describe_calls, write_page
    from quadrag.baselines.report.run import tabulate_run
    from quadrag.baselines.report.summary import show_run
    from quadrag.baselines.runs.answers import read_place
    from quadrag.baselines.runs.request import make_task
    from quadrag.baselines.runs.score_file import score_file
    from quadrag.baselines.runs.session import open_budget, open_session

    named = read_place(Path(arguments.answers))
    arguments.benchmark = arguments.benchmark or named.get("benchmark")
    arguments.config = arguments.config or named.get("config")
    request, calls = run_request(arguments), call_request(arguments)
    make_task(request)  # before a ledger or a server is touched, so that a mistyped name costs nothing
    profiles = options.profiles(arguments)
    out = Path(arguments.out) if arguments.out else None
    with results_alone(arguments.format) as stdout:
        with open_session(request, calls, open_budget(calls)) as session:
            result = score_file(session, request, Path(arguments.answers), out)
        grids = show_run(result, profiles, arguments.labels, arguments.verbose)
        print_results(arguments, stdout, out, [result], grids)
        if spent := describe_calls([result]):
            print(f"\ncalls: {spent}")
        if out:
            page = tabulate_run(result, profiles, arguments.labels, every=True)
            write_page(out / "report.html", "quadrag: score", [result], page)
            print(f"\n{out / 'report.html'}")
        return report_failures([(Path(arguments.answers), result)])
