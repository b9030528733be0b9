"""Look for faults in a benchmark's data as they are, and change nothing.

Every finding is a line of JSON on stdout: the question, the check, what was
found and where. What is not there is named on stderr. A rule found it, and no
person has seen it: set `confirmed` in the file to true or false, and give the
file to `quadrag report RUN --without FILE`.

Examples:
    quadrag audit BENCHMARK CONFIG --data-dir DIR > findings.jsonl
"""

import argparse
from collections import Counter

from quadrag.printing import remark, write

from .shared import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", metavar="BENCHMARK")
    parser.add_argument("config", metavar="CONFIG", nargs="?", help="(default: all that hold questions)")
    options.add(parser, "data-dir", data_dir="the authors' files, or `sample` (default: what `prepare` built)")


def run(arguments: argparse.Namespace) -> None:
    from quadrag.audit import audit
    from quadrag.records import jsonl_text

    found, lines = audit(arguments.benchmark, arguments.config, arguments.data_dir)
    write(jsonl_text(finding.model_dump() for finding in found), end="")
    counts = Counter(finding.check for finding in found)
    listed = ", ".join(f"{count} {check}" for check, count in sorted(counts.items())) or "none"
    for line in (*lines, f"findings: {listed}"):
        remark(line)
