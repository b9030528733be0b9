"""Show single questions of a run: passages, answer, gold, values, the judge.

What the judge said is looked up among the kept replies. `--wrong` begins with
the worst. Of two runs, A and B, `--worse` shows the questions on which B is
worse than A, with both answers. Of a folder of several runs, as of --all or a
recipe, the runs are shown one after the other.
"""

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quadrag.commands.shared import options
from quadrag.errors import QuadragError

EXAMPLES = (
    "quadrag show runs/a --wrong",
    "quadrag show runs/a --wrong --split noise_40",
    "quadrag show runs/a --unscored --limit 5",
    "quadrag show runs/a --id 17",
    "quadrag show runs/rgb-all --wrong",
    "quadrag show runs/a runs/b --worse",
)
_MOST, _FEW = 10, 3  # questions shown of a run, and of each of several


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="the folder of a run, or of several; two with --worse or --better"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--wrong", action="store_true", help="those whose value is not the best one, the worst first")
    which.add_argument("--unscored", action="store_true", help="those that some metric has no value of")
    which.add_argument("--id", dest="ident", metavar="ID", help="one question")
    which.add_argument("--worse", action="store_true", help="those on which the second run is worse than the first")
    which.add_argument("--better", action="store_true", help="those on which it is better")
    parser.add_argument("--split", metavar="S", help="of one split (default: of all that were run)")
    parser.add_argument("--metric", metavar="M", help="what says that an answer is wrong (default: the first headline)")
    parser.add_argument(
        "--profile",
        choices=("official", "corrected"),
        help="whose values say so (default: that of the run; of two that differ, official)",
    )
    parser.add_argument(
        "--limit", metavar="N", type=options.whole(1), help=f"of a run (default: {_MOST}; {_FEW} of several)"
    )
    parser.add_argument("--verbose", "-v", action="store_true", help="all metrics, not the headlines alone")
    parser.add_argument("--characters", metavar="N", type=options.whole(1), default=200, help="of a passage shown")
    parser.add_argument("--data-dir", metavar="DIR", help="where the data are now (default: where they were)")
    parser.add_argument("--ledger", metavar="FILE", help="where replies are kept (default: in the user's cache folder)")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from quadrag.baselines.report.compared.changes import write_changes
    from quadrag.baselines.report.item_lines import Manner, write_items
    from quadrag.baselines.report.items import RunReader, Which
    from quadrag.baselines.runs.campaign import read_runs

    which = Which(*(getattr(arguments, name) for name in Which._fields))
    two = which.worse or which.better
    if len(arguments.runs) != (2 if two else 1):
        raise QuadragError(
            "--worse and --better compare two runs, the others show one; expected quadrag show A B --worse"
        )
    sides = [(Path(name), results) for name, results in read_runs(arguments.runs)]
    shown = _pair(*sides) if two else [(one,) for one in _choose(sides[0][1], which)]
    if len(shown) > 1 and not any(which):
        commands = "".join(f"\n  quadrag show {shlex.quote(str(one.folder))}" for one, *_ in shown)
        print(f"{sides[0][0]} holds {len(shown)} runs: show all with --wrong or --unscored, or one of them:{commands}")
        return
    limit = arguments.limit or (_FEW if len(shown) > 1 else _MOST)
    manner = Manner(limit, arguments.characters, arguments.verbose, arguments.ledger)
    for results in shown:
        readers = [RunReader(one.folder, one, arguments.data_dir) for one in results]
        if len(shown) > 1:
            print(f"== {' '.join(str(one.folder) for one in results)}")
        first, *others = readers
        lines = write_changes(first, others[0], which, manner) if two else write_items(first, which, manner)
        print("\n".join(lines), end="\n\n" if results is not shown[-1] else "\n")


def _choose(results: Sequence[Any], which: Any) -> Sequence[Any]:
    """Choose, of the several runs of a folder, those that have the split, the question and the metric wanted."""
    found = [
        one
        for one in results
        if which.split in (None, *one.run.inputs.splits)
        and which.ident in (None, *(row["id"] for row in one.items))
        and which.metric
        in (None, *(name for row in one.scores for name in (row["key"], f"{row['metric']}.{row['key']}")))
    ]
    return found or results[:1]  # which says what it has in their place


def _pair(first: tuple[Path, Sequence[Any]], second: tuple[Path, Sequence[Any]]) -> list[tuple[Any, Any]]:
    """Pair the runs of two folders: those that lie in one place below each; two alone whatever their places."""
    if len(first[1]) == len(second[1]) == 1:
        return [(first[1][0], second[1][0])]
    ones, others = ({one.folder.relative_to(folder): one for one in results} for folder, results in (first, second))
    if not (shared := [place for place in ones if place in others]):
        raise QuadragError(f"no run of {first[0]} lies in {second[0]} by the same name; name the folders of two runs")
    return [(ones[place], others[place]) for place in shared]
