"""Say how well a judge agrees with people, and write it down as a certificate.

LABELS is a known label set (quadrag certify-judge --list), fetched from its
authors and verified, or a CSV file with `id` and `label`, and where there are
any `question`, `answer`, `gold`, `passages`, `group`. The judge is a model, or
a CSV file of its verdicts with `id` and `verdict`. Without a judge those are
measured that need no model: recorded ones, and rules.
"""

import argparse
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quadrag.commands.shared import options
from quadrag.commands.shared.session import print_tables, tell, tell_bad
from quadrag.errors import QuadragError
from quadrag.printing import wrap, write

EXAMPLES = (
    "quadrag certify-judge openqa-eval",
    "quadrag certify-judge openqa-eval --judge http://HOST/v1 --out judge.json",
    "quadrag certify-judge labels.csv --judge verdicts.csv --out judge.json",
)

_NARROW = 80  # columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("people", metavar="LABELS", nargs="?", help="a known set, or a file")
    parser.add_argument("--list", action="store_true", help="the known sets")
    parser.add_argument("--metric", metavar="NAME", help="what is graded (default: the set's own, else truthfulness)")
    parser.add_argument("--data-dir", metavar="DIR", help="folder with the files of a known set (default: fetched)")
    parser.add_argument("--items", metavar="FILE", help="write the items as CSV, for a judge that is asked elsewhere")
    parser.add_argument("--out", metavar="FILE", help="write the certificate here")
    options.labels(parser, "tables and of what is said of the judge")
    options.calls(parser, answers=False)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from quadrag.baselines.judges.ask import list_judges
    from quadrag.baselines.judges.certificate import certify, count_groups, tell_few
    from quadrag.baselines.judges.known import list_sets, open_labels
    from quadrag.baselines.judges.labels import write_items
    from quadrag.baselines.judges.notes import describe_labels, tabulate

    if arguments.list or not arguments.people:
        write(*list_sets())
        write("next: quadrag certify-judge LABELS --judge http://HOST/v1")
        return 0
    _check_one(arguments)
    labels = open_labels(arguments.people, arguments.metric, arguments.data_dir)
    if arguments.items:
        write_items(labels, Path(arguments.items))
        if not arguments.judge:
            write(f"{arguments.items}: {len(labels.items)} items")
            return 0
    specs = arguments.judge or list_judges(labels)
    if not specs:
        raise QuadragError(f"no judge, and {labels.name} has none recorded; give --judge")
    if arguments.out and not arguments.judge:
        raise QuadragError(f"--out takes one judge's certificate; name it with --judge {specs[0]}")
    if arguments.out and (few := tell_few(count_groups(labels.items))):
        raise QuadragError(f"{few}, or leave out --out")
    verdicts = [_take_verdicts(arguments, labels, spec) for spec in specs]
    if invalid := next(filter(None, (_find_invalid(arguments, labels, each) for each in verdicts)), ""):
        tell_bad(f"INVALID, {invalid}")
        return 3
    judges = [certify(labels, each) for each in verdicts]
    if arguments.out:
        judges[0].write(Path(arguments.out))
    if len(judges) == 1:
        _tell_worth(arguments, judges[0])
    tell(arguments, describe_labels(labels))
    print_tables(arguments, tabulate(judges))
    if arguments.out:
        write(arguments.out)
    return 0


def _take_verdicts(arguments: argparse.Namespace, labels: Any, spec: str) -> Any:
    from quadrag.baselines.judges.ask import ask_judge, check_askable, find_benchmark, find_verdicts

    if verdicts := find_verdicts(labels, spec):
        return verdicts
    check_askable(labels)
    with open_judge(arguments, *find_benchmark(labels.graded)) as judge:
        return ask_judge(labels, judge)


def _find_invalid(arguments: argparse.Namespace, labels: Any, verdicts: Any) -> str:
    """Say why verdicts are none to certify; "" where they are. Raises QuadragError for labels of one class."""
    from quadrag.baselines.judges.ask import list_judged
    from quadrag.baselines.judges.certificate import count_groups, tell_few
    from quadrag.baselines.judges.labels import check_classes

    ruled = len(verdicts.by_rule)
    asked = len(labels.items) - ruled
    lacking = sum(verdicts.grades.get(item.id) is None for item in labels.items) - ruled
    if verdicts.usage and asked * most_failed(arguments) < lacking < len(labels.items):
        by_rule = f"; {ruled} more are decided by rule" if ruled else ""
        said = f"{verdicts.judge} gave no readable verdict on {lacking} of {asked} items{by_rule}; no certificate"
        return f"{said}{verdicts.unread}"
    judged = list_judged(labels, verdicts)
    if arguments.out and (few := str(tell_few(count_groups(judged)))):
        return few
    check_classes(judged, f"{labels.name}, what {verdicts.judge} judged", labels.graded)
    return ""


def most_failed(arguments: argparse.Namespace) -> float:
    """Return the share of verdicts that may fail."""
    from quadrag.baselines.core.spec import MOST_FAILED

    return MOST_FAILED if arguments.max_failed is None else float(arguments.max_failed)


def _tell_worth(arguments: argparse.Namespace, judge: Any) -> None:
    from quadrag.baselines.judges.certificate import tell_few
    from quadrag.baselines.reporting.messages import say

    few = tell_few(judge.figures["groups"])
    said = (few and f"{few[0].upper()}{few[1:]}.") or say(judge.note([judge.labels["graded"]]), arguments.labels)
    write(*wrap(said, max(_NARROW, shutil.get_terminal_size().columns)))


def _check_one(arguments: argparse.Namespace) -> None:
    if len(arguments.judge) > 1:
        raise QuadragError(f"one judge is asked at a time, and {len(arguments.judge)} were named; give --judge once")


@contextmanager
def open_judge(arguments: argparse.Namespace, benchmark: str, config: str) -> Iterator[Any]:
    """Open the judge of the arguments as a run of a benchmark asks it."""
    from quadrag.baselines.runs.models import open_models
    from quadrag.baselines.runs.plan import plan_run
    from quadrag.commands.shared.session import add_judges, call_policy

    _check_one(arguments)
    policy = call_policy(arguments)
    judged = add_judges(arguments, {"benchmark": benchmark, "config": config}, benchmark)
    with open_models(plan_run(judged), policy) as models:
        yield models.judges[0]
