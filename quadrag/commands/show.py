"""Show single questions of a run: answer, gold, values, the judge, passages.

What the judge said comes from the run folder. `--wrong` begins with
the worst. Of two runs, A and B, the questions are shown on which B is worse
than A (`--worse`), with both answers. Of a folder of several runs, as of --all
or a recipe, the runs are shown one after the other.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from quadrag.commands.shared import options
from quadrag.commands.shared.session import shell_path
from quadrag.errors import QuadragError
from quadrag.printing import GLANCE, is_terminal, write

EXAMPLES = (
    "quadrag show runs/a --wrong",
    "quadrag show runs/a --wrong --split noise_40",
    "quadrag show runs/a --unscored --limit 5",
    "quadrag show runs/a --id 17 --verbose",
    "quadrag show runs/a --wrong --ids",
    "quadrag show runs/a --wrong --metric mrr",
    "quadrag show runs/a runs/b --worse --metric noise_40/accuracy",
    "quadrag show runs/rgb-all --wrong",
    "quadrag show runs/a runs/b",
)
_MOST, _FEW = 10, 3  # questions shown of a run, and of each of several


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the folder of a run, or of several; two are compared")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--wrong", action="store_true", help="those whose value is not the best one, the worst first")
    which.add_argument("--unscored", action="store_true", help="those that some metric has no value of")
    which.add_argument("--id", dest="ident", metavar="ID", help="one question; of a long id its beginning")
    which.add_argument("--worse", action="store_true", help="of two runs, where the second is worse")
    which.add_argument("--better", action="store_true", help="of two runs, where the second is better")
    parser.add_argument("--split", metavar="S", help="of one split (default: of all that were run)")
    parser.add_argument(
        "--metric", metavar="M", help="what says that an answer is wrong or worse (default: the first headline)"
    )
    parser.add_argument(
        "--profile",
        choices=("official", "corrected"),
        help="whose values say so (default: that of the run; of two that differ, official)",
    )
    parser.add_argument(
        "--limit", metavar="N", type=options.whole(1), help=f"of a run (default: {_MOST}; {_FEW} of several)"
    )
    parser.add_argument(
        "--ids",
        action="store_true",
        help="the ids alone, a line each, of several runs behind the config, for scripts (default: all)",
    )
    parser.add_argument(
        "--verbose", "-v", action="store_true", help="all metrics, under both profiles; texts stand whole"
    )
    options.labels(parser)
    parser.add_argument("--data-dir", metavar="DIR", help="where the data are now (default: where they were)")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from quadrag.baselines.report.compared.changes import write_changes
    from quadrag.baselines.report.compared.comparison import refuse_same
    from quadrag.baselines.report.items.lines import Manner, write_items
    from quadrag.baselines.report.items.reader import RunReader, Which
    from quadrag.baselines.runs.finished import read_runs
    from quadrag.baselines.tables.language import speak
    from quadrag.baselines.tables.names import is_whole

    which = Which(*(getattr(arguments, name) for name in Which._fields))
    two = len(arguments.runs) == 2
    if two and not (which.ident or which.wrong or which.unscored):
        which = which._replace(worse=not which.better)
    if len(arguments.runs) > 2 or two != (which.worse or which.better):
        raise QuadragError(
            "--worse and --better compare two runs, the others show one; expected quadrag show A B --worse"
        )
    refuse_same(arguments.runs)
    config, _, rest = (which.metric or "").rpartition(": ")  # as tables name it: noise_robustness_en: noise_0/accuracy
    split, _, key = rest.rpartition("/")
    named = None if not split or is_whole(split) else split
    which = which._replace(metric=key or None, split=which.split or named)
    sides = [(Path(name), results) for name, results in read_runs(arguments.runs)]
    shown = _choose(_pair(*sides) if two else [(one,) for one in sides[0][1]], which, config)
    if len(shown) > 1 and not any(which) and not arguments.ids:
        write(f"{sides[0][0]} holds {len(shown)} runs: show all with --wrong or --unscored, or one of them:")
        write(*(f"  quadrag show {shell_path(one.folder)}" for one, *_ in shown))
        return
    few = None if arguments.ids else _FEW if len(shown) > 1 else _MOST
    manner = Manner(
        arguments.limit or few,
        GLANCE if is_terminal(sys.stdout) and not arguments.verbose else None,
        arguments.verbose,
        partial(speak, language=arguments.labels),
        arguments.ids,
    )
    for results in shown:
        readers = [RunReader(one.folder, one, arguments.data_dir) for one in results]
        if len(shown) > 1 and not arguments.ids:
            write(f"== {' '.join(str(one.folder) for one in results)}")
        pair = list(zip(arguments.runs, readers, strict=False))
        lines = [*(write_changes(pair, which, manner) if two else write_items(readers[0], which, manner))]
        if arguments.ids:
            place = f"{results[0].run.config} " * (len(shown) > 1)
            write(end="".join(f"{place}{line}\n" for line in lines))
        else:
            write(*lines, end="\n\n" if results is not shown[-1] else "\n")


def _choose(shown: Sequence[tuple[Any, ...]], which: Any, config: str) -> Sequence[tuple[Any, ...]]:
    """Choose, of several runs or pairs of runs, those that have the config, split, question and metric wanted."""
    from quadrag.baselines.report.items.spelled import match_ids
    from quadrag.metric_record import is_called

    def has(result: Any) -> bool:
        inputs, ids = result.run, [row["id"] for row in result.items]
        return (
            config in ("", inputs.config)
            and which.split in (None, *inputs.splits)
            and (which.ident is None or bool(match_ids(which.ident, ids)))
            and (
                which.metric is None
                or any(is_called(which.metric, one.key.metric, one.key.key) for one in result.scores)
            )
        )

    return [each for each in shown if all(map(has, each))] or shown[:1]  # which says what it has in their place


def _pair(first: tuple[Path, Sequence[Any]], second: tuple[Path, Sequence[Any]]) -> list[tuple[Any, Any]]:
    """Pair the runs of two folders: those that lie in one place below each; two alone whatever their places."""
    if len(first[1]) == len(second[1]) == 1:
        return [(first[1][0], second[1][0])]
    ones, others = ({one.folder.relative_to(folder): one for one in results} for folder, results in (first, second))
    if not (shared := [place for place in ones if place in others]):
        raise QuadragError(f"no run of {first[0]} lies in {second[0]} by the same name; name the folders of two runs")
    return [(ones[place], others[place]) for place in shared]
