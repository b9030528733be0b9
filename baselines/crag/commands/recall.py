"""Count how often CRAG's web pages hold an accepted answer.

By the number of pages: an upper bound for whatever reads these pages. An
answer counts that stands in them word for word.

Examples:
    quadrag recall crag task_1_2 --split public --data-dir CRAG --pages 1,2,5
"""

import argparse
import itertools
from pathlib import Path

from quadrag.commands.shared import options
from quadrag.errors import QuadragError
from quadrag.printing import write

CUTS = {"task_1_2": (1, 2, 3, 4, 5), "task_3": (1, 2, 5, 10, 20, 50)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", metavar="BENCHMARK", choices=("crag",), help="crag")
    parser.add_argument("config", metavar="CONFIG", choices=tuple(CUTS), help="task_1_2 or task_3")
    parser.add_argument("--split", metavar="S", default="public", help="(default: public)")
    parser.add_argument(
        "--pages",
        metavar="N,N",
        type=_page_counts,
        help="numbers of pages (default: 1,2,3,4,5; task_3: 1,2,5,10,20,50)",
    )
    options.add(parser, "data-dir option limit out labels", out="a file for the rows, as JSON")


def _page_counts(text: str) -> list[int]:
    try:
        counts = sorted({int(part) for part in text.split(",")})
    except ValueError:
        counts = [0]
    if not 1 <= counts[0] <= counts[-1] <= 9999:
        raise argparse.ArgumentTypeError(f"{text!r} are no numbers of pages from 1 to 9999, as in 1,2,5")
    return counts


def run(arguments: argparse.Namespace) -> None:
    from quadrag.loading import load_rows
    from quadrag.printing import Progress
    from quadrag.provenance import Provenance
    from quadrag.records import dumps, write_text
    from quadrag.reporting.text import print_tables

    from .. import recall

    place, cuts = (arguments.benchmark, arguments.config), arguments.pages or CUTS[arguments.config]
    rows, source, known = load_rows(*place, arguments.data_dir, dict(arguments.option), arguments.split)
    questions = []
    with Progress("questions", arguments.limit or known or 1) as bar:
        for row in itertools.islice(rows, arguments.limit):
            questions.append(recall.search_pages(row, cuts[-1]))
            bar.update(len(questions))
    if not questions:
        raise QuadragError(f"{' '.join(place)} {arguments.split} holds no question")
    where = f"{arguments.config} {arguments.split}, {source.text}"
    if arguments.out:
        write_text(Path(arguments.out), dumps(recall.recall_file(questions, cuts, where)) + "\n")
    table = recall.recall_table(questions, cuts, where)
    table.notes += [recall.PUBLISHED] * (source.provenance is not Provenance.OWN)
    print_tables([table], language=arguments.labels)
    if arguments.out:
        write("", arguments.out)
