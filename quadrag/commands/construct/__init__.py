"""Make a benchmark of your own documents, by the recipe of one of the four.

The documents are text, Markdown, HTML or JSON Lines (`id`, `title`, `text`),
and with the extra `documents` PDF and Word. The dataset has the benchmark's own
files: quadrag run, score, export and push take it with --data-dir. Stopped, it
goes on where it was, and asks nothing twice. A model makes the questions, but
for crag, whose answers are computed.
"""

import argparse
import contextlib
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.errors import QuadragError
from quadrag.printing import wrap, write
from quadrag.progress import say

from ..shared import options
from . import judge, review

EXAMPLES = (
    "quadrag construct rgb --documents news --out my-rgb --llm http://HOST/v1",
    "quadrag construct crag --table t.csv --templates t.yaml --documents pages --out my-crag",
    "quadrag run rgb noise_robustness_zh --data-dir my-rgb",
    "quadrag construct review my-rgb --sample 100",
    "quadrag construct judge labels.csv --model MODEL --out my-judge",
)
OTHERS = {"review": review, "judge": judge}  # what is done beside making
_SAMPLING = {"max_tokens": 2048, "temperature": 0}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of every recipe, of the review of what they made, and of a judge's training."""
    actions = parser.add_subparsers(dest="recipe", required=True, metavar="BENCHMARK|review|judge")
    for name in catalogue.names():
        _add_making(actions.add_parser(name, help=f"make a dataset by {name}'s recipe", description=__doc__))
    for name, other in OTHERS.items():
        about = other.__doc__ or ""
        first = about.partition("\n")[0]
        one = actions.add_parser(name, help=first[0].lower() + first[1:].removesuffix("."), description=about)
        other.add_arguments(one)


def _add_making(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--documents", metavar="DIR", required=True, type=Path, help="folder of your documents")
    parser.add_argument("--out", metavar="DATASET", required=True, type=Path, help="folder of the dataset")
    parser.add_argument("--seed", **options.DRAW)
    parser.add_argument("--topics", metavar="FILE", type=Path, help="omnieval: YAML, fields with their topics")
    parser.add_argument("--table", metavar="FILE", type=Path, help="crag: CSV, JSON Lines, or what kg build made")
    parser.add_argument("--templates", metavar="FILE", type=Path, help="crag: YAML, the questions asked of the table")
    parser.add_argument("--licence", metavar="NAME", help="of the documents, for the card")
    about = {"llm": "what makes the questions, but of crag", "limit": "make questions of N documents, drawn"}
    options.add(parser, "llm limit estimate", **about)
    options.add(parser.add_argument_group("calls to models"), options.ASKING)


def run(arguments: argparse.Namespace) -> int:
    if arguments.recipe in OTHERS:
        return int(OTHERS[arguments.recipe].run(arguments))
    from quadrag.chat.prices import Prices
    from quadrag.construct.account import RULES, tell_calls, tell_splits, tell_steps
    from quadrag.construct.construct import Request, construct
    from quadrag.construct.recipe import load
    from quadrag.construct.steps import Maker

    recipe = load(arguments.recipe)
    if bool(recipe.by_rule) == (arguments.llm is not None):
        raise QuadragError("--llm names the model that makes the questions, but of crag, which takes none")
    names = ("recipe", "documents", "out", "limit", "seed", "topics", "table", "templates", "licence")
    request = Request(model=arguments.llm or RULES, **{name: getattr(arguments, name) for name in names})
    if arguments.estimate:
        _estimate(request)
        return 0
    with _open_models(arguments) as models:
        made = construct(request, Maker(models.system.completer) if models else Maker())
        spent = models.system.spent if models else None
    write(*tell_steps(made.stages), "", *tell_splits(made.splits), "")
    currency = Prices.load(arguments.prices).currency if arguments.prices else ""
    write(*wrap(tell_calls(spent, currency, recipe.by_rule), 80), "")
    config = next(iter(made.splits)).partition("/")[0]
    write(f"{arguments.out}: see its README.md; what was dropped stands in its stages")
    write(f"next: quadrag run {arguments.recipe} {config} --data-dir {arguments.out}")
    if made.stopped:
        say(made.stopped)
        return 2
    return 0


def _open_models(arguments: argparse.Namespace) -> Any:
    from quadrag.parts import validate
    from quadrag.run.models import open_models
    from quadrag.spec import RunSpec

    from ..shared.session import call_policy

    if arguments.llm is None:
        return contextlib.nullcontext()
    system = {"llm": arguments.llm, "sampling": _SAMPLING}
    spec = validate(RunSpec, {"benchmark": arguments.recipe, "config": "any", "system": system}, "--llm")
    return open_models(spec, call_policy(arguments))


def _estimate(request: Any) -> None:
    from quadrag.construct.account import tell_steps
    from quadrag.construct.construct import estimate
    from quadrag.reporting.table import Cell, Row, Table
    from quadrag.reporting.text import print_tables

    stages, begin, requests = estimate(request)
    write(*tell_steps(stages), "", f"{begin:,} documents or templates to make questions from")
    if requests:
        lines = [Row(name, [Cell(f"{n:,}")]) for name, n in requests.items()]
        lines.append(Row("all", [Cell(f"{sum(requests.values()):,}")], rule=True))
        print_tables([Table("Requests at most; no model was asked", "step", ["requests"], lines)])
