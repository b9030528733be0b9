"""Train a judge on people's labels, and measure it on labels that it has not seen.

LABELS is a known label set (quadrag certify-judge --list) or a CSV file, as
certify-judge takes it. Half of its cases are learned from, a tenth decides when
to stop, the rest measures; all items of one case stay on one side. The judge is
a folder that `--judge local:JUDGE` loads and every server of models serves.
Needs the extra `judge`.
"""

import argparse
from pathlib import Path

from quadrag.printing import write

from ..shared import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("people", metavar="LABELS", help="a known set, or a file")
    parser.add_argument("--model", metavar="MODEL", required=True, help="what is trained: a Hub name or a folder")
    parser.add_argument("--out", metavar="JUDGE", required=True, type=Path, help="a new folder for the judge")
    parser.add_argument("--metric", metavar="NAME", help="what is graded (default: the set's own, else right or wrong)")
    options.add(parser, "data-dir ledger", data_dir="with a known set's files")
    numbers = {"rank": (1, 8), "passes": (1, 3), "batch": (1, 4), "longest": (64, 4096), "seed": (0, 2333)}
    for name, (least, usual) in numbers.items():
        number = options.at_least(least)
        parser.add_argument(f"--{name}", metavar="N", type=number, default=usual, help=f"(default: {usual})")
    rate = options.at_least(0, float)
    parser.add_argument("--rate", metavar="X", type=rate, default=2e-4, help="of learning (default: 0.0002)")


def run(arguments: argparse.Namespace) -> None:
    from quadrag.chat.ledger import Ledger
    from quadrag.judges import certificate, labels, training
    from quadrag.reporting.text import print_tables

    label_set = labels.open_labels(arguments.people, arguments.metric, arguments.data_dir)
    named = ("rank", "rate", "passes", "batch", "longest", "seed")
    settings = training.Settings(**{name: getattr(arguments, name) for name in named})
    with Ledger(arguments.ledger) as ledger:
        line, certificates = training.make_judge(label_set, arguments.model, arguments.out, settings, ledger)
    write(certificate.describe_labels(label_set), line)
    print_tables(certificate.tabulate(certificates))
    write("", f"certificate: {arguments.out / training.CERTIFICATE}")
