"""Show single questions of a run: passages, answer, gold, values, the judge.

What the judge said is looked up among the kept replies. `--wrong` begins with
the worst. Of two runs, A and B, `--worse` shows the questions on which B is
worse than A, with both answers.
"""

import argparse
from pathlib import Path

from quadrag.commands import options
from quadrag.errors import QuadragError

EXAMPLES = (
    "quadrag show runs/a --wrong",
    "quadrag show runs/a --wrong --split noise_40",
    "quadrag show runs/a --unscored --limit 5",
    "quadrag show runs/a --id 17",
    "quadrag show runs/a runs/b --worse",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the folder of a run; of two with --worse or --better")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--wrong", action="store_true", help="those whose value is not the best one, the worst first")
    which.add_argument("--unscored", action="store_true", help="those that some metric has no value of")
    which.add_argument("--id", dest="ident", metavar="ID", help="one question")
    which.add_argument("--worse", action="store_true", help="those on which the second run is worse than the first")
    which.add_argument("--better", action="store_true", help="those on which it is better")
    parser.add_argument("--split", metavar="S", help="of one split (default: of all that were run)")
    parser.add_argument("--metric", metavar="M", help="what says that an answer is wrong (default: the first headline)")
    parser.add_argument("--limit", metavar="N", type=options.whole(1), default=10, help="(default: 10)")
    parser.add_argument("--verbose", "-v", action="store_true", help="all metrics, not the headlines alone")
    parser.add_argument("--characters", metavar="N", type=options.whole(1), default=200, help="of a passage shown")
    parser.add_argument("--data-dir", metavar="DIR", help="where the data are now (default: where they were)")
    parser.add_argument("--ledger", metavar="FILE", help="where replies are kept (default: in the user's cache folder)")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from quadrag.baselines.report.changes import write_changes
    from quadrag.baselines.report.item_lines import write_items
    from quadrag.baselines.report.items import RunReader, Which
    from quadrag.baselines.runs.folder import read_result

    which = Which(*(getattr(arguments, name) for name in Which._fields))
    two = which.worse or which.better
    if len(arguments.runs) != (2 if two else 1):
        raise QuadragError(
            "--worse and --better compare two runs, the others show one; expected quadrag show A B --worse"
        )
    folders = [_find_run(Path(name)) for name in arguments.runs]
    readers = [RunReader(folder, read_result(folder), arguments.data_dir) for folder in folders]
    more = (which, arguments.limit, arguments.characters, arguments.verbose, arguments.ledger)
    lines = write_changes(readers[0], readers[1], *more) if two else write_items(readers[0], *more)
    print("\n".join(lines))


def _find_run(folder: Path) -> Path:
    """Return the folder of a run: this one, or the only one in it."""
    from quadrag.baselines.runs.campaign import run_folders

    several = run_folders(folder)
    if len(several) > 1:
        raise QuadragError(f"{folder} holds {len(several)} runs; name one of them, as {several[0]}")
    return several[0] if several else folder
