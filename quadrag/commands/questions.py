"""Write a benchmark's questions, without their gold, as JSON Lines to answer.

Every line says benchmark, config and split. Add `answer` to each, and
`passages` where the system found some (ids, or objects with `id` and `text`).
`quadrag score FILE` then needs only the --data-dir and --option that were given
here.

Examples:
    quadrag questions BENCHMARK CONFIG --data-dir DIR > questions.jsonl
    quadrag questions BENCHMARK CONFIG --limit 50 --out questions.jsonl
"""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.printing import write

from .shared import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", metavar="BENCHMARK")
    parser.add_argument("config", metavar="CONFIG", nargs="?", default="")
    options.add(parser, "split data-dir option limit out", out="a file (default: to stdout)")


def run(arguments: argparse.Namespace) -> None:
    from quadrag.api.evaluate import questions
    from quadrag.records import dumps, write_jsonl

    named = {name: getattr(arguments, name) for name in ("split", "data_dir", "limit")}
    rows = map(_make_row, questions(arguments.benchmark, arguments.config, **named, **dict(arguments.option)))
    if not arguments.out:
        for row in rows:
            write(dumps(row))
    elif Path(arguments.out).exists():
        raise QuadragError(f"{arguments.out} is there already, and may hold answers; name another file")
    else:
        write_jsonl(Path(arguments.out), rows)
        write(arguments.out)


def _make_row(question: Any) -> dict[str, Any]:
    row = asdict(question)
    row["passages"] = [passage._asdict() for passage in question.passages]
    place = {name: row.pop(name) for name in ("benchmark", "config", "split", "id")}
    return place | {name: value for name, value in row.items() if value}
