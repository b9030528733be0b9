"""Make a benchmark of your own documents, by the recipe of one that is here.

The documents are text, Markdown, HTML or JSON Lines (`id`, `title`, `text`),
and with the extra `documents` PDF and Word. The dataset has the benchmark's own
files: quadrag run, score, export and push take it with --data-dir. Stopped, it
goes on where it was, and asks nothing twice. A model makes the questions, but
of a recipe whose answers are computed from a table.

Examples:
    quadrag construct review mine --sample 100
    quadrag construct judge labels.csv --model MODEL --out my-judge
"""

import argparse
import contextlib
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.commands.construct import judge, review
from quadrag.commands.shared import options, session
from quadrag.errors import QuadragError
from quadrag.printing import write

OTHERS = {"review": review, "judge": judge}  # what is done beside making
_SAMPLING = {"max_tokens": 2048, "temperature": 0}
_ORDER = ("recipe", "documents", "out", "limit", "seed", "topics", "table", "templates", "licence")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="recipe", required=True, metavar="BENCHMARK|review|judge")
    about = str(__doc__).partition("\n\nExamples:")[0]
    for name in catalogue.names():
        _add_making(actions.add_parser(name, help=f"make a dataset by {name}'s recipe", description=about))
    for name, other in OTHERS.items():
        about = other.__doc__ or ""
        first = about.partition("\n")[0]
        action = actions.add_parser(name, help=first[0].lower() + first[1:].removesuffix("."), description=about)
        other.add_arguments(action)


def _add_making(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--documents", metavar="DIR", required=True, type=Path, help="folder of your documents")
    parser.add_argument("--out", metavar="DATASET", required=True, type=Path, help="folder of the dataset")
    parser.add_argument("--seed", **options.DRAW)
    parser.add_argument("--topics", metavar="FILE", type=Path, help="of a recipe by topics: YAML, fields with topics")
    parser.add_argument("--table", metavar="FILE", type=Path, help="of a recipe of a table: CSV or JSON Lines")
    parser.add_argument("--templates", metavar="FILE", type=Path, help="likewise: YAML, the questions asked of it")
    parser.add_argument("--licence", metavar="NAME", help="of the documents, for the card")
    about = {"llm": "what makes the questions, unless by rule", "limit": "make questions of N documents, drawn"}
    options.add(parser, "llm limit", **about)
    options.add(parser.add_argument_group("calls to models"), options.ASKING)


def run(arguments: argparse.Namespace) -> None:
    if arguments.recipe in OTHERS:
        OTHERS[arguments.recipe].run(arguments)
        return
    from quadrag.construct import construct as making
    from quadrag.construct import recipe
    from quadrag.reporting.text import print_tables

    by_rule = recipe.load(arguments.recipe).by_rule
    if bool(by_rule) == (arguments.llm is not None):
        expected = "no --llm, as it is made by rule" if by_rule else "--llm SPEC, which makes questions"
        raise QuadragError(f"the recipe of {arguments.recipe}: expected {expected}")
    order = recipe.Order(model=arguments.llm or making.RULES, **{name: getattr(arguments, name) for name in _ORDER})
    with _open_models(arguments) as models:
        made = making.construct(order, making.Maker(models.system.completer if models else None))
    print_tables(making.tabulate_made(made))
    if models:
        spent = {name: value for name, value in models.system.spent.items() if name != "oldest"}
        session.print_spent([{"questions": spent}])
    else:
        write("", f"made by rule, {by_rule}")
    write(f"{arguments.out}: see its README.md; what was dropped stands in its stages")
    if made["stopped"]:
        raise QuadragError(made["stopped"])


def _open_models(arguments: argparse.Namespace) -> Any:
    from quadrag.parts import validate
    from quadrag.run.models import open_models
    from quadrag.spec import RunSpec

    if arguments.llm is None:
        return contextlib.nullcontext()
    system = {"llm": arguments.llm, "sampling": _SAMPLING}
    spec = validate(RunSpec, {"benchmark": arguments.recipe, "config": "any", "system": system}, "--llm")
    return open_models(spec, session.call_policy(arguments))
