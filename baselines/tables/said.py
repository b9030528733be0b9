"""How the papers made their rows: what each says of a setting, by which source, and why ours may be another.

The facts are in ``settings.csv`` of a benchmark's room, a line for a setting: the tables and rows that it is true of
(numbers and patterns, parted by blanks; of several lines the first that fits counts), what is said there, and the
reason. What is said ends in its source: [P] the paper, [C] the authors' code, [M] measured on their files, [3P] third
parties; a dash is silence. ``{top_k}`` is what the printed row itself says, as `published.csv` has it.
"""

import csv
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

from quadrag.paths import room

SOURCE = re.compile(r"(.+?) \[(?:P|C|M|3P)\](?:; |$)")


class Said(NamedTuple):
    """What is said of a setting, and the reason why ours may differ."""

    paper: str
    why: str


def find_said(benchmark: str, recipe: str, published: Mapping[str, Any]) -> dict[str, Said]:
    """Find what is said of a printed row.

    Args:
        benchmark: its name.
        recipe: the name of the row's recipe.
        published: what the recipe says of the row: its table, and what tells it from the others of the table.

    Returns:
        By setting, in the order of the file.
    """
    table = str(published["table"])
    printed = _read_row(benchmark, table, {name: str(value) for name, value in published.items() if name != "table"})
    row = recipe.removeprefix(f"{benchmark}-table{table}-")
    found: dict[str, Said] = {}
    for line in _read(benchmark, "settings.csv"):
        if _fits(table, line["table"]) and _fits(row, line["row"]) and line["setting"] not in found:
            found[line["setting"]] = Said(line["paper"].format_map(printed), line["why"])
    return found


def _fits(name: str, patterns: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns.split())


def _read_row(benchmark: str, table: str, named: Mapping[str, str]) -> dict[str, str]:
    """Read what the printed numbers of a row say of how it was made; several values of a setting are listed."""
    found: dict[str, dict[str, None]] = {}
    for line in _read(benchmark, "published.csv"):
        setting = dict(pair.split("=", 1) for pair in line["setting"].split(";"))
        if line["table"] == table and named.items() <= setting.items():
            for name, value in setting.items():
                found.setdefault(name, {})[value] = None
    return {name: ", ".join(values) for name, values in found.items()}


@cache
def _read(benchmark: str, file: str) -> list[dict[str, str]]:
    with (room("baselines") / benchmark / file).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def is_same(said: str, ours: str) -> bool:
    """Whether ours is what is said, but for letter case, hyphens, and who publishes a model."""
    return [_plain(part) for part in said.split(", ")] == [_plain(part) for part in ours.split(", ")]


def _plain(text: str) -> str:
    return text.rpartition("/")[2].casefold().replace("_", "-")
