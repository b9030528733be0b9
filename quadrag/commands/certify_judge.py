"""Say how well a judge agrees with people, and write it down as a certificate.

LABELS is a known label set (quadrag certify-judge --list), fetched from its
authors and verified, or a CSV file with `id` and `label`, and where there are
any `question`, `answer`, `gold`, `passages`, `group`. The judge is a model, or
a CSV file of its verdicts with `id` and `verdict`. Without a judge those are
measured that need no model: recorded ones, and rules.
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.printing import say, write

from .shared import options
from .shared.session import add_judges, call_policy, print_tables, read_file

_SHOWN = 120  # characters of a reply
EXAMPLES = (
    "quadrag certify-judge openqa-eval",
    "quadrag certify-judge openqa-eval --judge http://HOST/v1 --out judge.json",
    "quadrag certify-judge labels.csv --judge verdicts.csv --out judge.json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("people", metavar="LABELS", nargs="?", help="a known set, or a file")
    parser.add_argument("--list", action="store_true", help="the known sets")
    parser.add_argument("--metric", metavar="NAME", help="what is graded (default: the set's own, else right or wrong)")
    options.add(
        parser, "data-dir out labels spec", data_dir="with a known set's files", out="a file for the certificate"
    )
    options.add(parser.add_argument_group("calls to models"), options.JUDGING)


def run(arguments: argparse.Namespace) -> int:
    from quadrag.judges.certificate import RECORDED, certify, describe_labels, find_few, tabulate, write_certificate
    from quadrag.judges.labels import list_sets, open_labels

    if arguments.list or not arguments.people:
        write(*list_sets(), "next: quadrag certify-judge LABELS --judge http://HOST/v1")
        return 0
    labels = open_labels(arguments.people, arguments.metric, arguments.data_dir)
    specs = arguments.judge or [f"{RECORDED}{name}" for name in labels.recorded]
    if not specs:
        raise QuadragError(f"no judge, and {labels.name} has none recorded; give --judge")
    if len(specs) > 1 and (arguments.judge or arguments.out):
        raise QuadragError(f"a certificate is of one judge; name it with --judge {specs[0]}")
    if arguments.out and (few := find_few(labels.items)):  # before a judge is paid
        raise QuadragError(f"{few}, or leave out --out")
    judges = []
    for spec in specs:
        verdicts = _take_verdicts(arguments, labels, spec)
        if invalid := _find_invalid(arguments, labels, verdicts):
            say(f"INVALID, {invalid}; no certificate")
            return 3
        judges.append(certify(labels, verdicts))
    if arguments.out:
        write_certificate(judges[0], Path(arguments.out))
    write(describe_labels(labels))
    print_tables(arguments, tabulate(judges))
    if arguments.out:
        write(arguments.out)
    return 0


def _take_verdicts(arguments: argparse.Namespace, labels: Any, spec: str) -> Any:
    from quadrag.judges.certificate import ask_judge, check_askable, find_benchmark, find_verdicts

    if verdicts := find_verdicts(labels, spec):
        return verdicts
    check_askable(labels)
    with open_judge(arguments, *find_benchmark(labels.graded)) as judge:
        return ask_judge(labels, judge)


def _find_invalid(arguments: argparse.Namespace, labels: Any, verdicts: Any) -> str:
    """Return why verdicts are none to certify; "" where they are. Raises QuadragError for labels of one class."""
    from quadrag.chat.keys import known_keys
    from quadrag.judges.certificate import find_few, list_judged
    from quadrag.judges.labels import check_classes

    asked = len(labels.items) - len(verdicts.by_rule)
    lacking = asked - sum(grade is not None for grade in verdicts.grades.values())
    if verdicts.usage and lacking > asked * call_policy(arguments).max_failed:
        unread = f", as {known_keys().line(verdicts.unread, _SHOWN)!r}" if verdicts.unread else ""
        return f"{verdicts.judge} gave no readable verdict on {lacking} of {asked} items{unread}"
    judged = list_judged(labels, verdicts)
    if arguments.out and (few := find_few(judged)):
        return str(few)
    check_classes(judged, f"{labels.name}, what {verdicts.judge} judged", labels.graded)
    return ""


@contextmanager
def open_judge(arguments: argparse.Namespace, benchmark: str, config: str) -> Iterator[Any]:
    """Open the judge of the arguments as a run of a benchmark asks it."""
    from quadrag.run.models import open_models
    from quadrag.run.plan import plan_run

    if len(arguments.judge) != 1:
        raise QuadragError(f"one judge is asked at a time, and {len(arguments.judge)} were named; give --judge once")
    judged = add_judges(arguments, {"judges": read_file(arguments).get("judges", [])}, benchmark)
    with open_models(plan_run({**judged, "benchmark": benchmark, "config": config}), call_policy(arguments)) as models:
        yield models.judges[0]
