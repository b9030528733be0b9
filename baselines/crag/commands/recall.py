"""Count how often CRAG's web pages hold an accepted answer.

By the number of pages: an upper bound for whatever reads these pages. An
answer counts that stands in them word for word.
"""

import argparse
import itertools
from pathlib import Path

from quadrag.commands.shared import options
from quadrag.commands.shared.session import print_tables
from quadrag.errors import QuadragError
from quadrag.printing import write

EXAMPLES = ("quadrag recall crag task_1_2 --split public --data-dir CRAG --pages 1,2,5",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", metavar="BENCHMARK", help="crag")
    parser.add_argument("config", metavar="CONFIG", help="task_1_2 or task_3")
    parser.add_argument("--split", metavar="S", default="public", help="(default: public)")
    parser.add_argument("--pages", metavar="N,N", help="numbers of pages (default: 1,2,3,4,5; task_3: 1,2,5,10,20,50)")
    options.add(parser, "data-dir option limit out labels", out="a file for the rows, as JSON")


def run(arguments: argparse.Namespace) -> None:
    from quadrag import catalogue
    from quadrag.benchmark import known as known_names
    from quadrag.benchmark import load
    from quadrag.loading import load_rows
    from quadrag.progress import Progress
    from quadrag.provenance import Provenance
    from quadrag.records import dumps, write_text

    from .. import recall

    benchmark, config, split = catalogue.benchmark_name(arguments.benchmark), arguments.config, arguments.split
    if config not in (load(benchmark).pages if benchmark in known_names() else ()):
        raise QuadragError(f"{benchmark} {config} has no pages; expected crag task_1_2 or crag task_3")
    cuts = recall.parse_cuts(arguments.pages or ("1,2,5,10,20,50" if config == "task_3" else "1,2,3,4,5"))
    rows, source, known = load_rows(benchmark, config, arguments.data_dir, dict(arguments.option), split)
    questions = []
    with Progress("questions", arguments.limit or known or 1) as bar:
        for row in itertools.islice(rows, arguments.limit):
            questions.append(recall.search_pages(row, cuts[-1]))
            bar.update(len(questions))
    if not questions:
        raise QuadragError(f"{benchmark} {config} {split} holds no question")
    scores = list(recall.recall_at(questions, cuts))
    where = f"{config} {split}, {source.text}"
    if arguments.out:
        write_text(Path(arguments.out), dumps(recall.recall_file(questions, scores, where)) + "\n")
    grid = recall.recall_table(questions, scores, cuts, where)
    grid.notes += [recall.PUBLISHED] * (source.provenance is not Provenance.OWN)
    print_tables(arguments, [grid])
    if arguments.out:
        write("", arguments.out)
