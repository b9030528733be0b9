"""Count how often CRAG's web pages hold an accepted answer.

By the number of pages: an upper bound for whatever reads these pages. An
answer counts that stands in them word for word.
"""

import argparse
from pathlib import Path

from quadrag.commands.shared import options
from quadrag.commands.shared.session import print_tables, read_options
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
    options.labels(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    import itertools

    from quadrag import catalogue
    from quadrag.baselines.core.benchmark import known as known_names
    from quadrag.baselines.core.benchmark import load
    from quadrag.baselines.core.task import load_rows
    from quadrag.baselines.crag import recall
    from quadrag.progress import Progress
    from quadrag.provenance import Provenance
    from quadrag.records import dumps, write_text

    benchmark = catalogue.benchmark_name(arguments.benchmark)
    pages = load(benchmark).pages if benchmark in known_names() else ()
    if arguments.config not in pages:
        expected = "; ".join(f"{name} {' or '.join(load(name).pages)}" for name in known_names() if load(name).pages)
        raise QuadragError(f"{benchmark} {arguments.config} has no pages; expected {expected}")
    cuts = recall.parse_cuts(arguments.pages or ("1,2,5,10,20,50" if arguments.config == "task_3" else "1,2,3,4,5"))
    options_given = read_options(arguments.option)
    rows, source, known = load_rows(benchmark, arguments.config, arguments.data_dir, options_given, arguments.split)
    questions = []
    with Progress("questions", arguments.limit or known or 1) as bar:
        for row in itertools.islice(rows, arguments.limit):
            questions.append(recall.search_pages(row, cuts[-1]))
            bar.update(len(questions), max(len(questions), arguments.limit or known or 1))
    if not questions:
        raise QuadragError(f"{benchmark} {arguments.config} {arguments.split} holds no question")
    scores = list(recall.recall_at(questions, cuts))
    where = f"{arguments.config} {arguments.split}, {source.text}"
    if arguments.out:
        write_text(Path(arguments.out), dumps(recall.recall_file(questions, scores, where)) + "\n")
    grid = recall.recall_grid(questions, scores, cuts, where)
    grid.notes += [recall.PUBLISHED] * (source.provenance is not Provenance.OWN)
    print_tables(arguments, [grid])
    if arguments.out:
        write(f"\n{arguments.out}")
