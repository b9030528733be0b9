"""The settings of a recipe beside those of the printed row that it makes again, and why they differ."""

import io
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from quadrag.errors import QuadragError
from quadrag.printing import is_terminal, wrap, write

from ..core.benchmark import load
from ..core.spec import NONE
from ..runs.plan import read_recipe
from ..runs.used import find_used
from ..tables.draw import strip_ends
from ..tables.said import find_said, is_same

_NAMES = 20  # columns of the settings' names
_OURS = 31  # columns of what a run uses, at least: the longest name of a config fits, with a comma behind it
_INDENT = 4  # columns before a reason
_SOURCES = "[P] the paper, [C] the authors' code, [M] measured, [3P] third parties, – silent"


class Setting(NamedTuple):
    """A setting: what the paper or its code says of it, what a run uses, and why they differ; "" where they do not."""

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
    used = find_used(recipe)
    found = []
    for setting, one in said.items():
        ours = used.get(setting, NONE)
        same = [is_same(value, ours) for value in one.values] == [True]
        found.append(Setting(setting, one.paper, ours, "" if same else one.why or "as this recipe says"))
    return found


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
