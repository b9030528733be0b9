"""Write a benchmark's questions, without their gold, as JSON Lines to answer.

Every line says benchmark, config and split. Add `answer` to each, and
`passages` where the system found some (ids, or objects with `id` and `text`).
`quadrag score FILE` then needs only the --data-dir and --option that were given
here.
"""

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quadrag.commands.shared import options
from quadrag.commands.shared.session import partial_spec
from quadrag.errors import QuadragError
from quadrag.printing import write

EXAMPLES = (
    "quadrag questions crud_rag summary --data-dir CRUD_RAG > questions.jsonl",
    "quadrag questions rgb noise_robustness_en --limit 50 --out questions.jsonl",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("benchmark", metavar="BENCHMARK")
    parser.add_argument("config", metavar="CONFIG", nargs="?")
    parser.add_argument("--split", metavar="S", help="one split (default: all that are measured)")
    options.data(parser)
    parser.add_argument("--option", metavar="NAME=VALUE", action="append", default=[], help="may be repeated")
    parser.add_argument("--limit", metavar="N", type=options.whole(1), help="the first N questions of every split")
    parser.add_argument("--out", metavar="FILE", help="write them here (default: to stdout)")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from quadrag.records import dumps, write_jsonl

    if not arguments.out:
        for row in _list_rows(arguments):
            write(dumps(row))
        return
    out = Path(arguments.out)
    if out.exists():  # it may hold answers
        raise QuadragError(f"{out} is there already; name another file")
    rows = list(_list_rows(arguments))
    write_jsonl(out, rows)
    write(f"{out}: {len(rows)} questions; add `answer` to each line, then: quadrag score {out}")


def _list_rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    from quadrag.api.evaluate import questions

    said = partial_spec(arguments)
    named = {name: said[name] for name in ("split", "data_dir", "limit") if name in said}
    for question in questions(said["benchmark"], said.get("config", ""), **named, **said.get("options", {})):
        row = asdict(question)
        row["passages"] = [passage._asdict() for passage in question.passages]
        place = {name: row.pop(name) for name in ("benchmark", "config", "split", "id")}
        yield place | {name: value for name, value in row.items() if value}
