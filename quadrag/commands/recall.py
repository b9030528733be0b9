"""Count how often CRAG's web pages hold an accepted answer.

By the number of pages: an upper bound for whatever reads these pages: without
--judge an answer counts that stands in them word for word, with one also what
the judge finds in the snippets, or with --judge-reads pages in the pages too.
"""

import argparse
from pathlib import Path

from quadrag.commands.shared import options
from quadrag.commands.shared.session import call_request, print_tables, run_request
from quadrag.errors import QuadragError
from quadrag.printing import write

EXAMPLES = ("quadrag recall crag task_1_2 --split public --data-dir CRAG --pages 1,2,5",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("benchmark", metavar="BENCHMARK", help="crag")
    parser.add_argument("config", metavar="CONFIG", help="task_1_2 or task_3")
    parser.add_argument("--split", metavar="S", default="public", help="(default: public)")
    options.data(parser)
    parser.add_argument(
        "--option", metavar="NAME=VALUE", action="append", default=[], help="release=v5|v4, private_file=FILE"
    )
    parser.add_argument("--pages", metavar="N,N", help="numbers of pages (default: 1,2,3,4,5; task_3: 1,2,5,10,20,50)")
    parser.add_argument("--limit", metavar="N", type=options.whole(1), help="the first N questions")
    parser.add_argument("--out", metavar="FILE", help="write the rows here too, as JSON")
    parser.add_argument(
        "--judge-reads",
        choices=("snippets", "pages"),
        default="snippets",
        help="what the judge is shown; pages: their snippets and a window of each one's text (default: snippets)",
    )
    parser.add_argument(
        "--page-window", metavar="N", type=options.whole(1), help="characters of a page's text (default: 2000)"
    )
    options.labels(parser)
    options.calls(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    import itertools

    from quadrag import catalogue
    from quadrag.baselines.core.benchmark import known as known_names
    from quadrag.baselines.core.benchmark import load
    from quadrag.baselines.core.task import load_rows
    from quadrag.baselines.crag.recall.search import parse_cuts
    from quadrag.baselines.crag.recall.table import PUBLISHED, run_recall
    from quadrag.baselines.crag.recall.words import WINDOW
    from quadrag.baselines.runs.session import open_budget, open_session
    from quadrag.progress import Progress, say
    from quadrag.provenance import Provenance

    benchmark = catalogue.benchmark_name(arguments.benchmark)
    pages = load(benchmark).pages if benchmark in known_names() else ()
    if arguments.config not in pages:
        expected = "; ".join(f"{name} {' or '.join(load(name).pages)}" for name in known_names() if load(name).pages)
        raise QuadragError(f"{benchmark} {arguments.config} has no pages; expected {expected}")
    cuts = parse_cuts(arguments.pages or ("1,2,5,10,20,50" if arguments.config == "task_3" else "1,2,3,4,5"))
    reads_pages = arguments.judge_reads == "pages"
    if reads_pages and not arguments.judge:
        raise QuadragError("--judge-reads pages says what a judge is shown; name one with --judge")
    if arguments.page_window and not reads_pages:
        raise QuadragError("--page-window is of --judge-reads pages; give that too, or leave it out")
    window = (arguments.page_window or WINDOW) if reads_pages else 0
    request, calls = run_request(arguments), call_request(arguments)
    found, source, known = load_rows(
        benchmark,
        arguments.config,
        arguments.data_dir,
        request.options,
        arguments.split,
    )
    rows = itertools.islice(found, arguments.limit)
    out = Path(arguments.out) if arguments.out else None
    with (
        open_session(request, calls, open_budget(calls)) as session,
        Progress("questions", arguments.limit or known or 1) as bar,
    ):
        if len(session.judges) > 1:
            raise QuadragError(f"recall asks one judge, and {len(session.judges)} were named; give --judge once")
        judge = session.judges[0] if session.judges else None
        grid, stopped = run_recall(
            rows,
            cuts,
            judge,
            f"{arguments.config} {arguments.split}, {source.text}",
            out,
            lambda done: bar.update(done, max(done, arguments.limit or known or done)),
            window,
        )
    grid.notes += [PUBLISHED] * (source.provenance is not Provenance.OWN)
    print_tables(arguments, [grid])
    if out:
        write(f"\n{out}")
    if stopped:
        say(stopped)
    return 2 if stopped else 0
