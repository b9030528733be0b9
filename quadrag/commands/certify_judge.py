"""Say how well a judge agrees with people, and write it down as a certificate.

LABELS is a known label set (quadrag certify-judge --list), fetched from its
authors and verified, or a CSV file with `id` and `label`, and where there are
any `question`, `answer`, `gold`, `passages`, `group`. The judge is a model, or
a CSV file of its verdicts with `id` and `verdict`. Without a judge those are
measured that need no model: recorded ones, and rules.

Examples:
    quadrag certify-judge openqa-eval
    quadrag certify-judge openqa-eval --judge http://HOST/v1 --out judge.json
    quadrag certify-judge labels.csv --judge verdicts.csv --out judge.json
"""

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from quadrag.errors import GateFailed, QuadragError
from quadrag.printing import write

from .shared import options
from .shared.session import add_judges, call_policy, read_spec_file

_SHOWN = 120  # characters of a reply


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("labels_file", metavar="LABELS", nargs="?", help="a known set, or a file")
    parser.add_argument("--list", action="store_true", help="the known sets")
    parser.add_argument("--metric", metavar="NAME", help="what is graded (default: the set's own, else right or wrong)")
    options.add(
        parser, "data-dir out labels spec", data_dir="with a known set's files", out="a file for the certificate"
    )
    options.add(parser.add_argument_group("calls to models"), options.JUDGING)


def run(arguments: argparse.Namespace) -> None:
    from quadrag.judges import certificate, labels
    from quadrag.reporting.text import print_tables
    from quadrag.run.plan import refuse_idle

    if arguments.list or not arguments.labels_file:
        write(*labels.list_sets())
        return
    refuse_idle(arguments.judge, {"--judge-prompt": arguments.judge_prompt, "--judge-format": arguments.judge_format})
    label_set = labels.open_labels(arguments.labels_file, arguments.metric, arguments.data_dir)
    judges = arguments.judge or [f"{certificate.RECORDED}{name}" for name in label_set.recorded]
    if not judges:
        raise QuadragError(f"no judge, and {label_set.name} has none recorded; give --judge")
    if len(judges) > 1 and (arguments.judge or arguments.out):
        raise QuadragError(f"a certificate is of one judge; name it with --judge {judges[0]}")
    if arguments.out and (few := certificate.find_few(label_set.items)):  # before a judge is paid
        raise QuadragError(f"{few}, or leave out --out")
    certificates = []
    for judge in judges:
        verdicts = certificate.find_verdicts(label_set, judge, arguments.judge_prompt) or _ask_judge(
            arguments, label_set
        )
        _refuse_invalid(arguments, label_set, verdicts)
        certificates.append(certificate.certify(label_set, verdicts))
    if arguments.out:
        certificate.write_certificate(certificates[0], Path(arguments.out))
    write(certificate.describe_labels(label_set))
    print_tables(certificate.tabulate(certificates), language=arguments.labels)
    if arguments.out:
        write(arguments.out)


def _ask_judge(arguments: argparse.Namespace, label_set: Any) -> Any:
    """Ask the judge of the arguments as a run of a benchmark asks it."""
    from quadrag.judges import certificate
    from quadrag.run.models import open_models
    from quadrag.run.plan import plan_run

    certificate.check_askable(label_set)
    benchmark, config = certificate.find_benchmark(label_set.graded)
    judged = add_judges(arguments, {"judges": read_spec_file(arguments).get("judges", [])}, benchmark)
    spec = plan_run({**judged, "benchmark": benchmark, "config": config})
    with open_models(spec, call_policy(arguments)) as models:
        return certificate.ask_judge(label_set, models.judges[0], spec.judges[0].prompt)


def _refuse_invalid(arguments: argparse.Namespace, label_set: Any, verdicts: Any) -> None:
    from quadrag.chat.keys import known_keys
    from quadrag.judges import certificate, labels

    asked = len(label_set.items) - len(verdicts.by_rule)
    lacking = asked - sum(grade is not None for grade in verdicts.grades.values())
    if verdicts.usage and lacking > asked * call_policy(arguments).max_failed:
        unread = f", first {known_keys().line(verdicts.unread, _SHOWN)!r}" if verdicts.unread else ""
        counts = ", ".join(f"{why} {n}" for why, n in Counter(verdicts.reasons.values()).most_common())
        what = f"{verdicts.judge} gave no readable verdict on {lacking} of {asked} items ({counts}){unread}"
        raise GateFailed(f"INVALID, {what}; no certificate", 3)
    judged = certificate.list_judged(label_set, verdicts)
    if arguments.out and (few := certificate.find_few(judged)):
        raise GateFailed(f"INVALID, {few}; no certificate", 3)
    labels.check_classes(judged, f"{label_set.name}, what {verdicts.judge} judged", label_set.graded)
