"""Show single questions of a run: passages, answer, gold, values, the judge.

What the judge said is looked up among the kept replies. `--wrong` begins with
the worst.
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
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("folder", metavar="RUN", help="the folder of a run")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--wrong", action="store_true", help="those whose value is not the best one, the worst first")
    which.add_argument("--unscored", action="store_true", help="those that some metric has no value of")
    which.add_argument("--id", metavar="ID", help="one question")
    parser.add_argument("--split", metavar="S", help="of one split (default: of all that were run)")
    parser.add_argument("--metric", metavar="M", help="what says that an answer is wrong (default: the first headline)")
    parser.add_argument("--limit", metavar="N", type=options.whole(1), default=10, help="(default: 10)")
    parser.add_argument("--verbose", "-v", action="store_true", help="all metrics, not the headlines alone")
    parser.add_argument("--characters", metavar="N", type=options.whole(1), default=200, help="of a passage shown")
    parser.add_argument("--data-dir", metavar="DIR", help="where the data are now (default: where they were)")
    parser.add_argument("--ledger", metavar="FILE", help="where replies are kept (default: in the user's cache folder)")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from quadrag.baselines.report.item_lines import write_items
    from quadrag.baselines.report.items import RunReader, Which
    from quadrag.baselines.runs.campaign import run_folders
    from quadrag.baselines.runs.folder import read_result

    folder = Path(arguments.folder)
    if folder not in (several := run_folders(folder)) and several:
        raise QuadragError(f"{folder} holds {len(several)} runs; name one of them, as {several[0]}")
    which = Which(arguments.id, arguments.wrong, arguments.unscored, arguments.metric, arguments.split)
    reader = RunReader(folder, read_result(folder), arguments.data_dir)
    lines = write_items(reader, which, arguments.limit, arguments.characters, arguments.verbose, arguments.ledger)
    print("\n".join(lines))
