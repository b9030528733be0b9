"""Have people grade what was made, and write what they passed as the human split.

--annotator NAME serves a page to this machine alone, at which NAME grades from
1 to 5: 1 and 2 discard, 3 corrects, 4 and 5 keep. Every grade goes to
DATASET/reviews at once. --sheet and --take do the same by a file.
"""

import argparse
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.printing import write
from quadrag.progress import say

from ..shared import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET", type=Path, help="what quadrag construct made")
    parser.add_argument("--sample", metavar="N", type=options.at_least(1), help="N questions, evenly of all cells")
    parser.add_argument("--seed", **options.DRAW)
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--sheet", metavar="FILE", type=Path, help="write the questions to a CSV file instead")
    does.add_argument("--take", metavar="FILE", type=Path, help="take the grades of a file")
    does.add_argument("--summary", action="store_true", help="say what the grades come to: acceptance, agreement")
    does.add_argument("--human", action="store_true", help="write what was passed as the human split")
    parser.add_argument("--annotator", metavar="NAME", help="who grades, or filled in the file of --take")
    options.add(parser, "port no-browser labels")


def run(arguments: argparse.Namespace) -> int:
    from quadrag.construct import review

    dataset = arguments.dataset
    recipe, items = review.load(dataset)
    drawn = review.sample(items, arguments.sample, arguments.seed)
    if arguments.sheet:
        review.write_items(arguments.sheet, drawn, recipe.asks[arguments.labels])
        write(f"{arguments.sheet}: {len(drawn)} of {len(items)} questions")
    elif arguments.take:
        taken, faults = review.take_items(arguments.take, dataset, recipe, items, arguments.annotator)
        write(f"{taken} grades taken")
        for fault in faults:
            say(fault)
        return 2 if faults else 0
    elif arguments.summary or arguments.human:
        grades, lost = review.read_all(dataset, items)
        if not grades:
            raise QuadragError(f"nobody has graded {dataset} yet; open it without --summary and --human")
        outcome = review.decide(recipe, items, grades)
        if arguments.summary:
            write(*review.describe(grades, outcome, lost))
        else:
            out, splits = review.write_human(dataset, recipe, grades, outcome)
            write(*(f"{name}: {n} questions" for name, n in splits.items()), "", out)
    else:
        page = review.review_page(dataset, recipe, drawn, arguments.annotator or "", arguments.labels)
        serve(arguments, page, f"{len(drawn)} questions", f"quadrag construct review {dataset} --summary")
    return 0


def serve(arguments: argparse.Namespace, page: Any, what: str, then: str) -> None:
    """Serve a page of so many items until Ctrl-C, and say what comes then."""
    import webbrowser

    from quadrag.reporting.page.labelling import open_server

    with open_server(page, arguments.port) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}"
        write(f"{what} at {address}, until Ctrl-C; every grade is kept at once")
        if not arguments.no_browser:
            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            write("", f"next: {then}")
