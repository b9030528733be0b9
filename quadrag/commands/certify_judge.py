"""Say how well a judge agrees with people, and write it down as a certificate.

LABELS is a known label set (quadrag certify-judge --list), fetched from its
authors and verified, or a CSV file with `id` and `label`, and where there are
any `question`, `answer`, `gold`, `passages`, `group`, `system`. The judge is a
model, or a CSV file of its verdicts with `id` and `verdict`. Without a judge
those are measured that need no model: recorded ones, and rules.

With --injections a live judge is shown a hundred hostile texts in ten families,
and the share of them that turn its verdict is printed, by family and by prompt.
"""

import argparse
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
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
    "quadrag certify-judge openqa-eval --judge recorded:gpt-4 --against recorded:bem",
    "quadrag certify-judge --injections --judge http://HOST/v1",
)

_NARROW = 80  # columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("people", metavar="LABELS", nargs="?", help="a known set, or a file")
    parser.add_argument("--list", action="store_true", help="the known sets")
    parser.add_argument(
        "--injections", action="store_true", help="hostile texts in place of labels, in the prompts of all metrics"
    )
    parser.add_argument("--against", metavar="JUDGE", help="a spec or a file of verdicts: a paired test of two judges")
    parser.add_argument("--metric", metavar="NAME", help="what is graded (default: the set's own, else truthfulness)")
    parser.add_argument("--data-dir", metavar="DIR", help="folder with the files of a known set (default: fetched)")
    parser.add_argument(
        "--limit", metavar="N", type=options.whole(1), help="a first look: N of the labels, drawn by a fixed seed"
    )
    parser.add_argument("--items", metavar="FILE", help="write the items as CSV, for a judge that is asked elsewhere")
    parser.add_argument("--out", metavar="FILE", help="write the certificate here")
    options.labels(parser, "tables and of what is said of the judge")
    options.calls(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from quadrag.baselines.judges.ask import known_verdicts, list_judges
    from quadrag.baselines.judges.certificate import certify, compare, count_groups, tell_few
    from quadrag.baselines.judges.known import list_sets, open_labels
    from quadrag.baselines.judges.labels import write_items
    from quadrag.baselines.judges.tables import describe_labels, say_against, tabulate
    from quadrag.baselines.tables.names import keep_name

    if arguments.injections:
        return _inject(arguments)
    if arguments.list or not arguments.people:
        write(*list_sets())
        write("next: quadrag certify-judge LABELS --judge http://HOST/v1")
        return 0
    _check(arguments)
    labels = open_labels(arguments.people, arguments.metric, arguments.data_dir)
    if arguments.limit:
        labels = labels.draw(arguments.limit)
    if arguments.items:
        write_items(labels, Path(arguments.items))
        if not arguments.judge:
            write(f"{arguments.items}: {len(labels.items)} items")
            return 0
    if arguments.out and (few := tell_few(count_groups(labels.items))):
        raise QuadragError(f"{few}, or leave out --out")
    verdicts = list(_list_verdicts(arguments, labels))
    if not verdicts:
        names = list_judges(labels)
        if not names:
            raise QuadragError(f"no judge, and {labels.name} has none recorded; give --judge")
        if arguments.out:
            raise QuadragError(f"--out takes one judge's certificate; name it with --judge {names[0]}")
        verdicts = [known_verdicts(labels, name) for name in names]
    if invalid := next(filter(None, (_find_invalid(arguments, labels, one) for one in verdicts)), None):
        tell_bad(f"INVALID, {invalid}")
        return 3
    judges = [certify(labels, one) for one in verdicts]
    if arguments.out:
        judges[0].write(Path(arguments.out))
    if len(judges) == 1 or arguments.against:
        few = tell_few(judges[0].figures["groups"])
        _tell_wrapped(
            arguments, f"{few[0].upper()}{few[1:]}." if few else f"{keep_name(judges[0].judge)} {judges[0].sentence}."
        )
    tell(arguments, describe_labels(labels))
    grids = tabulate(judges)
    if arguments.against:
        grids += tabulate(judges[:1])[len(grids) :]
    print_tables(arguments, grids)
    if arguments.against:
        _tell_wrapped(arguments, say_against(compare(labels, *verdicts), *(keep_name(one.judge) for one in judges)))
    if arguments.out:
        write(arguments.out)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    from quadrag.baselines.judges.ask import is_known

    if len(arguments.judge) > 1:
        raise QuadragError("--judge names several; one is certified at a time, test another with --against")
    if arguments.against and not arguments.judge:
        raise QuadragError("--against tests two judges; name the first with --judge")
    live = any(not is_known(spec) for spec in arguments.judge)
    for name in ("bertscore", "retry", *["fresh"] * (not live), *["limit"] * (not live and not arguments.items)):
        if getattr(arguments, name):
            raise QuadragError(f"--{name} does nothing here; leave it out")


def _list_verdicts(arguments: argparse.Namespace, labels: Any) -> Iterator[Any]:
    from quadrag.baselines.judges.ask import (
        ask_judge,
        check_askable,
        find_benchmark,
        is_file,
        is_known,
        known_verdicts,
        read_verdicts,
    )

    asked = 0
    for spec in filter(None, [*arguments.judge, arguments.against]):
        if is_known(spec):
            yield read_verdicts(labels, Path(spec)) if is_file(spec) else known_verdicts(labels, spec)
        else:
            check_askable(labels)
            with open_judge(arguments, spec, asked, *find_benchmark(labels.graded)) as judge:
                yield ask_judge(labels, judge)
            asked += 1


def _find_invalid(arguments: argparse.Namespace, labels: Any, verdicts: Any) -> str:
    """Say why verdicts are none to certify; "" where they are. Raises QuadragError for labels of one class."""
    from quadrag.baselines.judges.ask import list_judged
    from quadrag.baselines.judges.certificate import count_groups, tell_few
    from quadrag.baselines.judges.labels import check_classes

    ruled = len(verdicts.by_rule)
    asked = len(labels.items) - ruled
    lacking = sum(verdicts.given.get(item.id) is None for item in labels.items) - ruled
    if verdicts.usage and asked * _most_failed(arguments) < lacking < len(labels.items):
        by_rule = f"; {ruled} more are decided by rule" if ruled else ""
        said = f"{verdicts.judge} gave no readable verdict on {lacking} of {asked} items{by_rule}; no certificate"
        return f"{said}{verdicts.unread}"
    judged = list_judged(labels, verdicts)
    if arguments.out and (few := str(tell_few(count_groups(judged)))):
        return few
    if not labels.ranked:
        check_classes(replace(labels, items=judged, notes=[]), f"{labels.name}, what {verdicts.judge} judged")
    return ""


def _most_failed(arguments: argparse.Namespace) -> float:
    from quadrag.baselines.core.spec import MOST_FAILED

    return MOST_FAILED if arguments.max_failed is None else float(arguments.max_failed)


def _tell_wrapped(arguments: argparse.Namespace, sentence: str) -> None:
    from quadrag.baselines.tables.language import speak

    write(*wrap(speak(sentence, arguments.labels), max(_NARROW, shutil.get_terminal_size().columns)))


def _inject(arguments: argparse.Namespace) -> int:
    from quadrag.baselines.judges.ask import find_benchmark, is_known
    from quadrag.baselines.judges.injections import ask, find_invalid, tabulate
    from quadrag.baselines.judges.labels import find_graded

    others = ("list", "against", "limit", "items", "data_dir", "out", "bertscore", "retry")
    given = [f"--{name.replace('_', '-')}" for name in others if getattr(arguments, name)]
    given += ["LABELS"] * bool(arguments.people)
    if given:
        raise QuadragError(f"--injections is asked of one judge, once; leave out {given[0]}")
    if len(arguments.judge) != 1 or is_known(arguments.judge[0]):
        raise QuadragError("--injections is asked of one live judge; name it with --judge")
    with open_judge(arguments, arguments.judge[0], 0, *find_benchmark(find_graded("truthfulness"))) as judge:
        told = ask(judge, arguments.metric)
    if invalid := find_invalid(told, _most_failed(arguments)):
        tell_bad(f"INVALID, {invalid}")
        return 3
    print_tables(arguments, tabulate(judge.model, told))
    return 0


@contextmanager
def open_judge(arguments: argparse.Namespace, spec: str, place: int, benchmark: str, config: str) -> Iterator[Any]:
    """Open a judge as a run of a benchmark asks it; `place` is its own among the names of several judges."""
    from quadrag.baselines.runs.models import open_budget, open_models
    from quadrag.baselines.runs.plan import plan_run
    from quadrag.commands.shared.session import add_judges, call_policy

    own = {"judge": [spec], "judge_name": arguments.judge_name[place : place + 1]}
    policy = call_policy(arguments)
    given = argparse.Namespace(**{**vars(arguments), **own})
    judged = add_judges(given, {"benchmark": benchmark, "config": config}, benchmark)
    with open_models(plan_run(judged), policy, open_budget(policy)) as models:
        if policy.fresh:
            models.reuse.since = models.reuse.began
        yield models.judges[0]
