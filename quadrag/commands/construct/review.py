"""Have people grade what was made, and write what they passed as the human split.

--annotator NAME serves a page to this machine alone, at which NAME grades from
1 to 5: 1 and 2 discard, 3 corrects, 4 and 5 keep. Every grade goes to
DATASET/reviews at once. --sheet and --take do the same by a file.
"""

import argparse
from pathlib import Path
from typing import Any

from quadrag.commands.shared import options
from quadrag.commands.shared.session import tell, tell_bad
from quadrag.errors import QuadragError
from quadrag.printing import write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("dataset", metavar="DATASET", type=Path, help="what quadrag construct made")
    parser.add_argument("--sample", metavar="N", type=options.whole(1), help="N questions, drawn evenly of all cells")
    parser.add_argument("--seed", metavar="N", type=options.whole(0), default=2333, help="of the draw (default: 2333)")
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--sheet", metavar="FILE", type=Path, help="write the questions to a CSV file instead")
    does.add_argument("--take", metavar="FILE", type=Path, help="take the grades of a file")
    does.add_argument("--summary", action="store_true", help="say what the grades come to: acceptance, agreement")
    does.add_argument("--human", action="store_true", help="write what was passed as the human split")
    parser.add_argument("--annotator", metavar="NAME", help="who grades, or filled in the file of --take")
    add_page(parser)
    options.labels(parser, "the page, of what is to be asked, and of the summary")


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from quadrag.baselines.construct.review.items import load, sample

    dataset = arguments.dataset
    review, items = load(dataset)
    drawn = sample(items, arguments.sample, arguments.seed)
    if arguments.sheet:
        from quadrag.baselines.construct.review.outcome import write_items

        write_items(arguments.sheet, drawn, review.asks[arguments.labels])
        write(arguments.sheet)
        write(f"{len(drawn)} of {len(items)} questions")
    elif arguments.take:
        return _take(arguments, review, items)
    elif arguments.summary or arguments.human:
        _conclude(arguments, review, items)
    else:
        from quadrag.baselines.construct.review.page import review_items

        if not arguments.annotator:
            raise QuadragError("the page does not know who grades; name yourself with --annotator NAME")
        serve(
            arguments,
            review_items(dataset, review, drawn, arguments.annotator, arguments.labels),
            f"{len(drawn)} questions",
            "quadrag construct review DATASET --summary says what the grades come to",
        )
    return 0


def _take(arguments: argparse.Namespace, review: Any, items: Any) -> int:
    from quadrag.baselines.construct.review.outcome import take_items

    taken, faults = take_items(arguments.take, arguments.dataset, review, items, arguments.annotator)
    write(f"{taken} grades taken")
    for fault in faults:
        tell_bad(fault)
    return 2 if faults else 0


def _conclude(arguments: argparse.Namespace, review: Any, items: Any) -> None:
    from quadrag.baselines.construct.review.outcome import decide, describe, read_all, write_human

    grades, lost = read_all(arguments.dataset, items)
    if not grades:
        raise QuadragError(f"nobody has graded {arguments.dataset} yet; open it without --summary and --human")
    outcome = decide(review, items, grades)
    if arguments.summary:
        tell(arguments, *describe(grades, outcome, lost))
        return
    out, splits = write_human(arguments.dataset, review, grades, outcome)
    for name, n in splits.items():
        write(f"{name}: {n} questions")
    write(f"\n{out}")


def add_page(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a page that is served."""
    parser.add_argument("--port", metavar="N", type=options.whole(0), default=0, help="of the page (default: any free)")
    parser.add_argument("--no-browser", action="store_true", help="print the page's address alone")


def serve(arguments: argparse.Namespace, page: Any, what: str, then: str) -> None:
    """Serve a page of so many items until Ctrl-C, and say what comes then."""
    import webbrowser

    from quadrag.baselines.page.labelling import open_server

    with open_server(page, arguments.port) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}"
        write(f"{what} at {address}, until Ctrl-C; every grade is kept at once")
        if not arguments.no_browser:
            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            write("", then)
