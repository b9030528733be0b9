"""Have people grade what was made, and write what they passed as the human split.

--annotator NAME serves a page to this machine alone, at which NAME grades from
1 to 5: 1 and 2 discard, 3 corrects, 4 and 5 keep. Every grade is at once in the
sheet DATASET/reviews/NAME.csv, which a spreadsheet opens too; --sheet writes it
and serves no page.
"""

import argparse
import contextlib
import webbrowser
from pathlib import Path
from typing import Any

from quadrag.printing import write

from ..shared import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET", type=Path, help="what quadrag construct made")
    parser.add_argument("--sample", metavar="N", type=options.at_least(1), help="N questions, evenly of all cells")
    parser.add_argument("--seed", **options.DRAW)
    parser.add_argument("--annotator", metavar="NAME", default="", help="who grades")
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--sheet", action="store_true", help="write the sheet, and serve no page")
    does.add_argument("--summary", action="store_true", help="say what the grades come to: acceptance, agreement")
    does.add_argument("--human", action="store_true", help="write what was passed as the human split")
    options.add(parser, "port no-browser labels")


def run(arguments: argparse.Namespace) -> None:
    from quadrag.construct import review

    dataset = arguments.dataset
    recipe, items = review.load(dataset)
    if arguments.summary or arguments.human:
        grades = review.read_all(dataset, recipe, items)
        outcome = review.decide(recipe, items, grades)
        if arguments.summary:
            write(*review.describe(grades, outcome))
        else:
            out, splits = review.write_human(dataset, recipe, grades, outcome)
            write(*(f"{name}: {n} questions" for name, n in splits.items()), "", out)
        return
    drawn = review.sample(items, arguments.sample, arguments.seed)
    page = review.review_page(dataset, recipe, drawn, arguments.annotator, arguments.labels)
    if arguments.sheet:
        path = review.sheet_of(dataset, arguments.annotator)
        write(f"{path}: {len(drawn)} of {len(items)} questions; fill in grade, and at 3 mend the text")
    else:
        serve(arguments, page, f"{len(drawn)} questions")


def serve(arguments: argparse.Namespace, page: Any, what: str) -> None:
    from quadrag.reporting.page.labelling import open_server

    with open_server(page, arguments.port) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}"
        write(f"{what} at {address}, until Ctrl-C; every grade is kept at once")
        if not arguments.no_browser:
            webbrowser.open(address)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
