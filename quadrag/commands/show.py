"""Show single questions of a run: answer, gold, values, the judge, passages.

Of two runs, A and B, the questions are shown on which B is worse than A, with
both answers. Of a folder of several runs, as of --all or a recipe, the runs
are shown one after the other.

Examples:
    quadrag show runs/a --wrong --split S
    quadrag show runs/a --unscored --limit 5
    quadrag show runs/a --id 17 --verbose
    quadrag show runs/a runs/b --worse
"""

import argparse
import sys

from quadrag.errors import QuadragError
from quadrag.printing import GLANCE, is_terminal, write

from .shared import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the folder of a run, or of several; two are compared")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--wrong", action="store_true", help="those whose value is not the best one, the worst first")
    which.add_argument("--unscored", action="store_true", help="those that some metric has no value of")
    which.add_argument("--id", dest="ident", metavar="ID", help="one question")
    which.add_argument("--worse", action="store_true", help="of two runs, where the second is worse (default)")
    which.add_argument("--better", action="store_true", help="of two runs, where the second is better")
    parser.add_argument("--split", metavar="S", help="of one split (default: of all that were run)")
    parser.add_argument(
        "--metric", metavar="M", help="what says that an answer is wrong or worse (default: a headline)"
    )
    parser.add_argument("--profile", choices=options.PROFILES, help="whose values say so (default: the run's)")
    about = {"limit": "of a run (default: 10)", "verbose": "all metrics, what the judge was asked; whole texts"}
    options.add(parser, "limit verbose labels data-dir", **about)


def run(arguments: argparse.Namespace) -> None:
    from quadrag.reporting import questions
    from quadrag.run.folder import read_runs

    two = len(arguments.runs) == 2
    of_one, of_two = arguments.ident or arguments.wrong or arguments.unscored, arguments.worse or arguments.better
    if len(arguments.runs) > 2 or (of_one if two else of_two):
        raise QuadragError("--worse and --better compare two runs, the others show one: quadrag show A B --worse")
    wanted = questions.ItemFilter(*(getattr(arguments, name) for name in questions.ItemFilter._fields))
    longest = GLANCE if is_terminal(sys.stdout) and not arguments.verbose else None
    shown = questions.DisplayOptions(arguments.limit or 10, longest, arguments.verbose, arguments.labels)
    readers = [
        (name, questions.RunReader(result.folder, result, arguments.data_dir))
        for name, results in read_runs(arguments.runs)
        for result in results
        if result.folder
    ]
    if two and len(readers) > 2:
        raise QuadragError(f"{' or '.join(arguments.runs)} holds several runs; expected the folders of two")
    if two:
        write(*questions.write_changed(readers, wanted, shown, arguments.better))
        return
    lacking = []
    for _, reader in readers:
        try:
            lines = list(questions.write_items(reader, wanted, shown))
            write(*[f"== {reader.folder}"] * (len(readers) > 1), *lines)
        except QuadragError as error:  # it has no such split, metric or id; another one of the folder may have it
            lacking.append(error)
    if len(lacking) == len(readers):
        raise lacking[0]
