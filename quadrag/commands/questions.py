"""Write a benchmark's questions, without their gold, as JSON Lines to answer.

Every line says benchmark, config and split. Add `answer` to each, and
`passages` where the system found some (ids, or objects with `id` and `text`),
and `quadrag score FILE` needs nothing else.
"""

import argparse
from dataclasses import asdict

from quadrag.commands.shared import options
from quadrag.commands.shared.session import run_request

EXAMPLES = ("quadrag questions crud_rag summary --data-dir CRUD_RAG > questions.jsonl",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("benchmark", metavar="BENCHMARK")
    parser.add_argument("config", metavar="CONFIG")
    parser.add_argument("--split", metavar="S", help="one split (default: all that are measured)")
    options.data(parser)
    parser.add_argument("--option", metavar="NAME=VALUE", action="append", default=[], help="may be repeated")
    parser.add_argument("--limit", metavar="N", type=options.whole(1), help="the first N questions of every split")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from quadrag.measure.questions import questions
    from quadrag.records import dumps

    request = run_request(arguments)
    for one in questions(
        request.named_benchmark(),
        arguments.config,
        split=request.split,
        data_dir=request.data_dir,
        limit=request.limit,
        **request.options,
    ):
        row = asdict(one)
        row["passages"] = [passage._asdict() for passage in one.passages]
        place = {name: row.pop(name) for name in ("benchmark", "config", "split", "id")}
        print(dumps(place | {name: value for name, value in row.items() if value}))
