"""The settings of a recipe beside those of the printed row that it makes again, and why they differ.

Ours are what the specs of its runs say; of what these leave to a server, to the user or to the code nothing stands.
"""

import io
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.data.builders import SAMPLE, options_of
from quadrag.errors import QuadragError
from quadrag.printing import is_terminal, wrap, write

from ..core.benchmark import load
from ..core.spec import Chat, RunSpec
from ..runs.plan import plan_recipe, read_recipe
from ..tables.draw import strip_ends
from ..tables.said import find_said

_NAMES = 20  # columns of the settings' names
_OURS = 31  # columns of what a run uses, at least: the longest name of a config fits, with a comma behind it
_INDENT = 4  # columns before a reason
_SOURCES = "[P] the paper, [C] the authors' code, [M] measured, [3P] third parties, – silent"


class Setting(NamedTuple):
    """A setting: what the paper or its code says of it, what a run's spec does, and why they differ; "" is silence."""

    name: str
    paper: str
    ours: str
    why: str


_HEADS = Setting("setting", "the paper's", "ours", "why they differ")


def compare_settings(recipe: str) -> list[Setting]:
    """Put what a recipe's runs use beside what is said of its printed row.

    Args:
        recipe: its name, or the user's file.

    Raises:
        QuadragError: there is no such recipe, it cannot be run, or names no printed row.
    """
    name, content = read_recipe(recipe)
    try:
        said = find_said(content["benchmark"], name, content["published"])
    except (KeyError, TypeError, AttributeError):
        raise QuadragError(f"the recipe {name} names no printed row; expected its table under published") from None
    ours = _list_ours(recipe)
    return [Setting(name, setting.paper, ours.get(name, ""), setting.why) for name, setting in said.items()]


def _list_ours(recipe: str) -> dict[str, str]:
    """Return what the specs of a recipe's runs say, by setting; several values are listed."""
    address = {"llm": "http://HOST/v1"}  # stands for the user's; nothing is asked
    values: dict[str, dict[str, None]] = {}
    for spec in plan_recipe(recipe, {"system": address, "entity_model": address, "data_dir": SAMPLE}):
        for setting, value in _flatten(spec).items():
            if value not in (None, ""):
                values.setdefault(setting, {})[str(value)] = None
    return {setting: ", ".join(said) for setting, said in values.items()}


def _flatten(spec: RunSpec) -> dict[str, Any]:
    benchmark, config = load(spec.benchmark), catalogue.config(spec.benchmark, spec.config)
    system, entity = spec.system, spec.entity_model or Chat()
    assert isinstance(system, Chat)
    own = {
        name: option.default
        for name, option in benchmark.options.items()
        if not option.find_idle(spec.config, spec.retriever)
    }
    sent = {"sampling_top_k" if name == "top_k" else name: value for name, value in system.sampling.sent().items()}
    return {
        "config": spec.config,
        "split": spec.split or benchmark.default_split or ", ".join(config.splits),
        "samples": spec.samples,
        "model": system.model,
        "interface": system.template or system.api,
        **sent,
        **{**options_of(config), **own, **spec.options},
        "retriever": spec.retriever,
        **spec.settings(),
        "entity_model": entity.model,
        **{f"entity_{name}": value for name, value in entity.sampling.sent().items()},
    }


def describe_settings(recipes: Sequence[str]) -> dict[str, Any]:
    """Return the settings of recipes as one object: by recipe, what it is of and its settings."""
    found = {}
    for recipe in recipes:
        name, content = read_recipe(recipe)
        settings = [setting._asdict() for setting in compare_settings(recipe)]
        head = {"benchmark": content["benchmark"], "paper": load(content["benchmark"]).paper}
        found[name] = {**head, "published": content["published"], "settings": settings}
    return found


def print_settings(recipes: Sequence[str]) -> None:
    """Print the settings of recipes, as wide as the terminal, but not narrower than 80 columns.

    What several recipes share stands once before them: what all do, then what those of a table do. A reason stands on
    lines of its own, under its setting, or under the last of those in a row that have the same.
    """
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    canvas = io.StringIO()
    console = Console(file=canvas, force_terminal=is_terminal(sys.stdout) or None, highlight=False)
    console.width = max(console.width, 80)
    ours = max(_OURS, (console.width - _NAMES) // 2 - 1)
    for number, (head, settings) in enumerate(_share(recipes)):
        console.print(Text(f"\n{head}", style="bold"))
        heads = [] if number else [_HEADS]
        for why, alike in groupby([*heads, *settings], key=attrgetter("why")):
            group = list(alike)
            for setting in group:
                table = Table.grid(padding=(0, 1, 0, 0))
                for at in (_NAMES, console.width - _NAMES - ours - 3, ours):
                    table.add_column(width=at, overflow="fold")
                table.add_row(*map(Text, setting[:3]))
                console.print(table)
            names = ", ".join(setting.name for setting in group) + ": " if len(group) > 1 else ""
            for line in wrap(names + why, console.width - _INDENT) if why else []:
                console.print(Padding(Text(line, style="dim"), (0, 0, 0, _INDENT)))
    console.print(Text(f"\n{_SOURCES}", style="dim"))
    write(strip_ends(canvas.getvalue()), end="")


def _share(recipes: Sequence[str]) -> Iterator[tuple[str, list[Setting]]]:
    """Yield what all recipes share, then what those of each table do, and what is left of each; heads before them."""
    contents = {recipe: read_recipe(recipe)[1] for recipe in recipes}
    left = {recipe: compare_settings(recipe) for recipe in recipes}
    paper = load(contents[recipes[0]]["benchmark"]).paper
    by_table: dict[str, list[str]] = {}
    for recipe in recipes:
        by_table.setdefault(str(contents[recipe]["published"]["table"]), []).append(recipe)

    def take(group: Sequence[str]) -> list[Setting]:
        shared = [setting for setting in left[group[0]] if all(setting in left[one] for one in group)]
        for one in group:
            left[one] = [setting for setting in left[one] if setting not in shared]
        return shared

    if len(by_table) > 1:
        yield f"{paper}: the same in all {len(recipes)} recipes", take(recipes)
    for table, group in by_table.items():
        if len(group) > 1:
            yield f"{paper}, table {table}: the same in its {len(group)} recipes", take(group)
        for recipe in group:
            row = ", ".join(f"{key} {value}" for key, value in contents[recipe]["published"].items() if key != "table")
            yield f"{read_recipe(recipe)[0]}: {paper}, table {table}, {row}", left[recipe]
