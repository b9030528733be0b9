"""Count how often CRAG's web pages hold an accepted answer.

By the number of pages: an upper bound for whatever reads these pages: without
--judge an answer counts that stands in them word for word, with one also what
the judge finds there.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from quadrag.commands import options
from quadrag.commands.session import open_budget, open_session
from quadrag.errors import QuadragError

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
    options.calls(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    import itertools

    from quadrag.baselines import campaign, crag
    from quadrag.baselines.grid import print_grids
    from quadrag.baselines.recall import parse_cuts
    from quadrag.baselines.recall_table import run_recall
    from quadrag.baselines.task import load_rows
    from quadrag.progress import Progress

    if (arguments.benchmark, arguments.config) not in {("crag", config) for config in crag.PAGES}:
        raise QuadragError(
            f"{arguments.benchmark} {arguments.config} has no pages; expected crag {' or '.join(crag.PAGES)}"
        )
    cuts = parse_cuts(arguments.pages or ("1,2,5,10,20,50" if arguments.config == "task_3" else "1,2,3,4,5"))
    found, source, known = load_rows(
        arguments.benchmark,
        arguments.config,
        arguments.data_dir,
        campaign.read_options(arguments.option),
        arguments.split,
    )
    rows = itertools.islice(found, arguments.limit)
    out = Path(arguments.out) if arguments.out else None
    source = f"{arguments.config} {arguments.split}, {source}"
    with (
        open_session(arguments, open_budget(arguments)) as session,
        Progress("questions", arguments.limit or known or 1) as bar,
    ):
        if len(session.judges) > 1:
            raise QuadragError(f"recall asks one judge, and {len(session.judges)} were named; give --judge once")
        judge = session.judges[0] if session.judges else None
        grid, stopped = run_recall(
            rows, cuts, judge, source, out, lambda done: bar.update(done, max(done, arguments.limit or known or done))
        )
    print_grids([grid])
    if out:
        print(f"\n{out}")
    if stopped:
        print(f"quadrag: {stopped}", file=sys.stderr)
    return 2 if stopped else 0
