"""The settings of a recipe beside those of the printed row that it makes again, and why they differ.

What the papers did is in ``settings.csv`` of a benchmark's room, a line for a setting: the tables and rows that it is
true of (numbers and patterns, parted by blanks; of several lines the first that fits counts), what is said there, and
the reason why ours may differ. What is said ends in its source: [P] the paper, [C] the authors' code, [M] measured on
their files, [3P] third parties; a dash is silence. ``{top_k}`` is what the printed row itself says, as `published.csv`
has it. Ours are what the specs of a recipe's runs say; of what these leave to a server nothing stands.
"""

import csv
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.benchmark import load
from quadrag.data.builders import SAMPLE, options_of
from quadrag.errors import QuadragError
from quadrag.run.plan import plan_recipe, read_recipe
from quadrag.spec import Chat, RunSpec

from .cells import NOTHING
from .table import Cell, Row, Table
from .text import print_tables

_SOURCES = "[P] the paper, [C] the authors' code, [M] measured, [3P] third parties, – silent"


class Setting(NamedTuple):
    """A setting: what the paper or its code says of it, what a run's spec does, and why they differ; "" is silence."""

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
        settings = find_settings(content["benchmark"], name, content["published"])
    except (KeyError, TypeError, AttributeError):
        raise QuadragError(f"the recipe {name} names no printed row; expected its table under published") from None
    ours = _list_ours(recipe)
    return [setting._replace(ours=ours.get(setting.name, "")) for setting in settings]


def find_settings(benchmark: str, recipe: str, published: Mapping[str, Any]) -> list[Setting]:
    """Find what is said of a printed row, in the order of the file; `published` is what tells it from others."""
    named = {name: str(value) for name, value in published.items()}
    table = named.pop("table")
    printed: dict[str, dict[str, None]] = {}
    for line in _read(benchmark, "published.csv"):
        setting = dict(pair.split("=", 1) for pair in line["setting"].split(";"))
        if line["table"] == table and named.items() <= setting.items():
            for name, value in setting.items():
                printed.setdefault(name, {})[value] = None
    values = {name: ", ".join(several) for name, several in printed.items()}
    row = recipe.removeprefix(f"{benchmark}-table{table}-")
    settings: dict[str, Setting] = {}
    for line in _read(benchmark, "settings.csv"):
        name = line["setting"]
        if _fits(table, line["table"]) and _fits(row, line["row"]) and name not in settings:
            settings[name] = Setting(name, line["paper"].format_map(values), "", line["why"])
    return list(settings.values())


def _fits(name: str, patterns: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns.split())


@cache
def _read(benchmark: str, file: str) -> list[dict[str, str]]:
    with (catalogue.plugin_folder(benchmark) / file).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _list_ours(recipe: str) -> dict[str, str]:
    """Return what the specs of a recipe's runs say, by setting; several values are listed."""
    address = {"llm": "http://HOST/v1"}  # stands for the user's; nothing is asked
    values: dict[str, dict[str, None]] = {}
    for spec in plan_recipe(recipe, {"system": address, "entity_model": address, "data_dir": SAMPLE}):
        for setting, value in _flatten(spec).items():
            if value not in (None, ""):
                values.setdefault(setting, {})[str(value)] = None
    return {setting: ", ".join(several) for setting, several in values.items()}


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
    described = {}
    for recipe in recipes:
        name, content = read_recipe(recipe)
        settings = [setting._asdict() for setting in compare_settings(recipe)]
        head = {"benchmark": content["benchmark"], "paper": load(content["benchmark"]).paper}
        described[name] = {**head, "published": content["published"], "settings": settings}
    return described


def print_settings(recipes: Sequence[str]) -> None:
    """Print the settings of recipes: all of the first, and of each other in what it differs from that."""
    first: list[Setting] = []
    for recipe in recipes:
        name, content = read_recipe(recipe)
        settings = [setting for setting in compare_settings(recipe) if setting not in first]
        row = ", ".join(f"{key} {value}" for key, value in content["published"].items())
        title = f"{name}: {load(content['benchmark']).paper}, {row}" + ", as the first but for" * bool(first)
        lines = [Row(one.name, [Cell(f"{one.paper} | {one.ours or NOTHING}", one.why)]) for one in settings]
        print_tables([Table(title, "setting", ["the paper's | ours, and why they differ"], lines, [_SOURCES])])
        first = first or settings
