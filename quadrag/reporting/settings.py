"""The settings of a recipe beside those of the printed row that it makes again, and why they differ.

What the papers did is in ``settings.csv`` beside a benchmark's record, a line a setting: the tables and rows that it
is true of (patterns, parted by blanks; of several lines the first that fits counts), what is said there, and the reason
why ours may differ. What is said ends in its source: [P] the paper, [C] the authors' code, [M] measured on their files,
[3P] third parties; a dash is silence. ``{top_k}`` is what the printed row itself says. Ours are what the specs of a
recipe's runs say; of what these leave to a server nothing stands.
"""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from quadrag import catalogue
from quadrag.benchmark import load
from quadrag.data.builders import SAMPLE, options_of
from quadrag.errors import QuadragError
from quadrag.run.plan import plan_recipe, read_recipe
from quadrag.spec import Chat, RunSpec

from .published import read_printed, read_rows
from .table import NOTHING, Cell, Row, Table

_SOURCES = "[P] the paper, [C] the authors' code, [M] measured, [3P] third parties, – silent"


class Setting(NamedTuple):
    """A setting: what the paper or its code says of it, what a run's spec does, and why they differ; "" is silence."""

    name: str
    paper: str
    ours: str
    why: str


def compare_settings(recipe: str) -> list[Setting]:
    """Put what the runs of a recipe, or of a user's file, use beside what is said of its printed row."""
    name, content = read_recipe(recipe)
    try:
        settings = find_settings(content["benchmark"], name, content["published"])
    except (KeyError, TypeError, AttributeError):
        raise QuadragError(f"the recipe {name} names no printed row; expected its table under published") from None
    address = {"llm": "http://HOST/v1"}  # stands for the user's; nothing is asked
    specs = plan_recipe(recipe, {"system": address, "entity_model": address, "data_dir": SAMPLE})
    ours = _collect(pair for spec in specs for pair in _flatten(spec).items())
    return [setting._replace(ours=ours.get(setting.name, "")) for setting in settings]


def find_settings(benchmark: str, recipe: str, published: Mapping[str, Any]) -> list[Setting]:
    """Find what is said of a printed row, in the order of the file; `published` is what tells it from others."""
    named = {name: str(value) for name, value in published.items()}
    table = named["table"]
    printed = [row for row in read_printed(benchmark) if named.items() <= row.items()]
    values = _collect(pair for row in printed for pair in row.items())
    row = recipe.removeprefix(f"{benchmark}-table{table}-")
    settings: dict[str, Setting] = {}
    for line in read_rows(benchmark, "settings.csv"):
        fits = (any(fnmatchcase(of, one) for one in line[at].split()) for at, of in (("table", table), ("row", row)))
        if line["setting"] not in settings and all(fits):
            said = Setting(line["setting"], line["paper"].format_map(values), "", line["why"])
            settings[said.name] = said
    return list(settings.values())


def _collect(pairs: Iterable[tuple[str, Any]]) -> dict[str, str]:
    values: dict[str, dict[str, None]] = {}
    for name, value in pairs:
        if value not in (None, ""):
            values.setdefault(name, {})[str(value)] = None
    return {name: ", ".join(several) for name, several in values.items()}


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


def tabulate_settings(recipes: Sequence[str]) -> list[Table]:
    """Make the tables of the settings of recipes: all of the first, and of each other in what it differs from that."""
    tables: list[Table] = []
    first: list[Setting] = []
    for recipe in recipes:
        name, content = read_recipe(recipe)
        settings = [setting for setting in compare_settings(recipe) if setting not in first]
        row = ", ".join(f"{key} {value}" for key, value in content["published"].items())
        title = f"{name}: {load(content['benchmark']).paper}, {row}" + ", as the first but for" * bool(first)
        rows = [
            Row(setting.name, [Cell(f"{setting.paper} | {setting.ours or NOTHING}", setting.why)])
            for setting in settings
        ]
        tables.append(Table(title, "setting", ["the paper's | ours, and why they differ"], rows, [_SOURCES]))
        first = first or settings
    return tables
