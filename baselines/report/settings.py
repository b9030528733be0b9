"""The settings of a recipe beside those of the printed row that it makes again, and why they differ."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from quadrag.errors import QuadragError

from ..core.benchmark import load
from ..core.settings import NONE
from ..runs.recipe import read_recipe
from ..runs.used import find_used
from ..tables.grid import strip_ends
from ..tables.said import find_said, is_same

_NAMES = 20  # columns of the settings' names
_OURS = 31  # columns of what a run uses, at least: the longest name of a config fits, with a comma behind it
_SOURCES = "[P] the paper, [C] the authors' code, [M] measured, [3P] third parties, – silent"


class Setting(NamedTuple):
    """A setting: what the paper or its code says of it, what a run uses, and why they differ; "" where they do not."""

    name: str
    paper: str
    ours: str
    why: str


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
    """Print the table of every recipe, as wide as the terminal, but not narrower than 80 columns.

    A reason stands on lines of its own, under its setting.
    """
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    console.width = max(console.width, 80)
    for recipe in recipes:
        name, content = read_recipe(recipe)
        settings = compare_settings(recipe)
        ours = max(_OURS, (console.width - _NAMES) // 2 - 1)
        row = ", ".join(f"{key} {value}" for key, value in content["published"].items())
        with console.capture() as drawn:
            console.print(Text(f"\n{name}: {load(content['benchmark']).paper}, {row}", style="bold"))
            for setting in (Setting(*Setting._fields[:3], why="why they differ"), *settings):
                table = Table.grid(padding=(0, 1, 0, 0))
                for at in (_NAMES, console.width - _NAMES - ours - 3, ours):
                    table.add_column(width=at, overflow="fold")
                table.add_row(*map(Text, setting[:3]))
                console.print(table)
                if setting.why:
                    console.print(Padding(Text(setting.why, style="dim"), (0, 0, 0, 4)))
        console.file.write(strip_ends(drawn.get()))
    console.print(Text(f"\n{_SOURCES}", style="dim"))
