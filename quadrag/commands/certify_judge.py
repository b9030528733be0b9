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
from quadrag.printing import write

EXAMPLES = (
    "quadrag certify-judge openqa-eval",
    "quadrag certify-judge openqa-eval --judge http://HOST/v1 --out judge.json",
    "quadrag certify-judge labels.csv --verdicts verdicts.csv --out judge.json",
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
    parser.add_argument("--verdicts", metavar="FILE", nargs="+", default=[], help="the judge's; more files are repeats")
    parser.add_argument("--against", metavar="JUDGE", help="a spec or a file of verdicts: a paired test of two judges")
    parser.add_argument("--metric", metavar="NAME", help="what is graded (default: the set's own, else truthfulness)")
    parser.add_argument("--repeats", metavar="N", type=options.whole(1), default=1, help="ask a live judge N times")
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
    from quadrag.baselines.judges.certificate import certify
    from quadrag.baselines.judges.figures import compare, count_groups, measure, tell_few
    from quadrag.baselines.judges.known import list_sets, open_labels, tell_languages
    from quadrag.baselines.judges.labels import write_items
    from quadrag.baselines.judges.tables import describe_labels, say_against, tabulate
    from quadrag.baselines.judges.verdicts import known_verdicts, list_judges
    from quadrag.baselines.tables.names import keep_name

    if arguments.injections:
        return _inject(arguments)
    if arguments.list or not arguments.people:
        write(*list_sets())
        write(tell_languages())
        write("next: quadrag certify-judge LABELS --judge http://HOST/v1")
        return 0
    _check(arguments)
    labels = open_labels(arguments.people, arguments.metric, arguments.data_dir)
    if arguments.limit:
        labels = labels.draw(arguments.limit)
    if arguments.items:
        write_items(labels, Path(arguments.items))
        if not (arguments.judge or arguments.verdicts):
            write(f"{arguments.items}: {len(labels.items)} items")
            return 0
    if arguments.out and (few := tell_few(count_groups(labels.items))):
        raise QuadragError(f"{few}, or leave out --out")
    judges = list(_verdicts(arguments, labels))
    if not judges:
        judges = [known_verdicts(labels, name) for name in list_judges(labels)]
        if not judges:
            raise QuadragError(f"no judge, and {labels.name} has none recorded; give --judge or --verdicts")
        if arguments.out:
            raise QuadragError(f"--out takes one judge's certificate; name it with --judge {list_judges(labels)[0]}")
    if _is_invalid(arguments, labels, judges):
        return 3
    found = [measure(labels, one) for one in judges]
    certificate = certify(found[0])
    if arguments.out:
        certificate.write(Path(arguments.out))
    if len(found) == 1 or arguments.against:
        _tell_worth(arguments, f"{keep_name(certificate.judge)} ", certificate)
    tell(arguments, describe_labels(labels))
    grids = tabulate(found)
    grids += tabulate(found[:1])[len(grids) :] if arguments.against else []
    print_tables(arguments, grids)
    if arguments.against:
        names = [keep_name(one.verdicts.judge) for one in found]
        _tell_wrapped(arguments, say_against(compare(labels, *(one.verdicts for one in found)), *names))
    return _end(arguments)


def _tell_worth(arguments: argparse.Namespace, who: str, certificate: Any) -> None:
    from quadrag.baselines.judges.figures import tell_few

    few = tell_few(certificate.figures["groups"])
    _tell_wrapped(arguments, f"{few[0].upper()}{few[1:]}." if few else f"{who}{certificate.sentence}.")


def _tell_wrapped(arguments: argparse.Namespace, sentence: str) -> None:
    from quadrag.baselines.tables.language import speak
    from quadrag.wrapping import wrap

    width = max(_NARROW, shutil.get_terminal_size().columns)
    write(*wrap(speak(sentence, arguments.labels), width))


def _inject(arguments: argparse.Namespace) -> int:
    from quadrag.baselines.judges.injections import ask, find_invalid, tabulate
    from quadrag.baselines.judges.verdicts import is_known
    from quadrag.run_record import MOST_FAILED

    others = ("list", "verdicts", "against", "limit", "items", "data_dir", "out")
    given = [f"--{name.replace('_', '-')}" for name in others if getattr(arguments, name) not in (None, [], False)]
    given += ["LABELS"] * bool(arguments.people) + ["--repeats"] * (arguments.repeats > 1)
    if given:
        raise QuadragError(f"--injections is asked of one judge, once; leave out {given[0]}")
    if len(arguments.judge) != 1 or is_known(arguments.judge[0]):
        raise QuadragError("--injections is asked of one live judge; name it with --judge")
    _refuse_idle(arguments)
    with _open_judge(arguments, arguments.judge[0], 0, "truthfulness") as judge:
        told = ask(judge, arguments.metric)
    if invalid := find_invalid(told, MOST_FAILED if arguments.max_failed is None else arguments.max_failed):
        tell_bad(f"INVALID, {invalid}")
        return 3
    print_tables(arguments, tabulate(judge.model, told))
    return 0


def _is_invalid(arguments: argparse.Namespace, labels: Any, judges: Any) -> bool:
    from quadrag.baselines.judges.figures import count_groups, tell_few
    from quadrag.baselines.judges.labels import check_classes
    from quadrag.baselines.judges.verdicts import list_judged
    from quadrag.run_record import MOST_FAILED

    most = MOST_FAILED if arguments.max_failed is None else arguments.max_failed
    for one in judges:
        asked = len(labels.items) - len(one.by_rule)
        lacking = sum(one.given.get(item.id) is None for item in labels.items) - len(one.by_rule)
        if one.usage and asked * most < lacking < len(labels.items):
            ruled = f"; {len(one.by_rule)} more are decided by rule" if one.by_rule else ""
            said = f"{one.judge} gave no readable verdict on {lacking} of {asked} items{ruled}; no certificate"
            tell_bad(f"INVALID, {said}{one.explain_unread(labels.graded)}")
            return True
        judged = list_judged(labels, one)
        if arguments.out and (few := tell_few(count_groups(judged))):
            tell_bad(f"INVALID, {few}")
            return True
        if not labels.ranked:
            check_classes(replace(labels, items=judged, notes=[]), f"{labels.name}, what {one.judge} judged")
    return False


def _end(arguments: argparse.Namespace) -> int:
    if arguments.out:
        write(arguments.out)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    if len(arguments.judge) > 1:
        raise QuadragError("--judge names several; one is certified at a time, test another with --against")
    if arguments.judge and arguments.verdicts:
        raise QuadragError("--judge and --verdicts are two ways to name one judge; give one, the other as --against")
    if arguments.against and not (arguments.judge or arguments.verdicts):
        raise QuadragError("--against tests two judges; name the first with --judge or --verdicts")
    _refuse_idle(arguments)


def _refuse_idle(arguments: argparse.Namespace) -> None:
    from quadrag.baselines.judges.verdicts import is_known

    live = not all(map(is_known, arguments.judge))
    for name in ("bertscore", *["fresh"] * (not live), *["limit"] * (not live and not arguments.items), "retry"):
        if getattr(arguments, name):
            raise QuadragError(f"--{name} does nothing here; leave it out")


def _verdicts(arguments: argparse.Namespace, labels: Any) -> Iterator[Any]:
    from quadrag.baselines.judges.verdicts import is_known, read_verdicts

    asked = 0
    for spec in arguments.judge:
        yield _ask(arguments, labels, spec, asked)
        asked += not is_known(spec)
    if arguments.verdicts:
        yield read_verdicts(labels, [Path(name) for name in arguments.verdicts])
    if last := arguments.against:
        file = Path(last)
        is_file = file.is_file() or (file.suffix in (".csv", ".tsv") and "://" not in last)
        yield read_verdicts(labels, [file]) if is_file else _ask(arguments, labels, last, asked)


def _ask(arguments: argparse.Namespace, labels: Any, spec: str, place: int) -> Any:
    from quadrag.baselines.judges.asking import ask_judge, check_askable
    from quadrag.baselines.judges.verdicts import is_known, known_verdicts

    if is_known(spec):
        return known_verdicts(labels, spec)
    check_askable(labels)
    with _open_judge(arguments, spec, place, labels.graded.name) as judge:
        return ask_judge(labels, judge, arguments.repeats)


@contextmanager
def _open_judge(arguments: argparse.Namespace, spec: str, place: int, metric: str) -> Iterator[Any]:
    from quadrag.baselines.judges.asking import find_benchmark
    from quadrag.baselines.judges.labels import find_graded
    from quadrag.baselines.runs.request import RunRequest
    from quadrag.baselines.runs.session import open_budget, open_session
    from quadrag.commands.shared.session import call_request

    own = {name: getattr(arguments, name)[place : place + 1] for name in ("judge_service", "judge_served_as")}
    calls = call_request(argparse.Namespace(**{**vars(arguments), **own, "judge": [spec]}))
    benchmark, config = find_benchmark(find_graded(metric))
    with open_session(RunRequest(benchmark, config), calls, open_budget(calls)) as session:
        if session.fresh:
            session.reuse.since = session.reuse.began
        yield session.judges[0]
