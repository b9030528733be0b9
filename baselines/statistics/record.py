"""What is counted of a benchmark's data, as one record, and how it is found.

The record is ``STATISTICS`` in the ``statistics.py`` of a benchmark's room. Printed numbers stand in its
``published.csv``; `read_counts` reads them.
"""

import csv
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from quadrag.errors import QuadragError
from quadrag.paths import room

ALL = "all"  # the line, and the column, of sums; so the papers name it too
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """A table of counts: how many rows fall on each line and column.

    Attributes:
        title: of the table.
        line: tells a row's line.
        column: tells a row's column.
        lines: labels by what `line` tells, in order; what is not among them stands behind them as it is.
        columns: likewise.
        printed: the paper's counts by line and column; of other data, as far as the user's are a part.
        by_split: whether each split has a table of its own.
        shares: whether the share of its column stands beside each count.
    """

    title: str
    line: Callable[[Row], str]
    column: Callable[[Row], str]
    lines: Mapping[str, str]
    columns: Mapping[str, str]
    printed: Mapping[tuple[str, str], int] = field(default_factory=dict)
    by_split: bool = False
    shares: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is read and counted together.

    Attributes:
        configs: they hold the same questions, and the first that is there is read.
        splits: those of its splits that are read; all when empty.
        label: its name where the config's would say too little.
        texts: the texts of a row whose lengths are told, by what they are; None among them is none.
        counts: the tables of counts.
    """

    configs: Sequence[str]
    splits: Sequence[str] = ()
    label: str = ""
    texts: Mapping[str, Callable[[Row], Iterable[str | None]]]
    counts: Sequence[Counts] = ()


class Printed(NamedTuple):
    """What a paper prints of a whole split: in which table, its rows, the characters of all its texts where it says."""

    table: str
    rows: int
    characters: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What is counted of a benchmark.

    Attributes:
        sources: what is read.
        printed: what the paper prints of whole splits, by config and split.
    """

    sources: Sequence[Source]
    printed: Mapping[tuple[str, str], Printed] = field(default_factory=dict)


def load_statistics(benchmark: str) -> Statistics:
    """Return what is counted of a benchmark.

    Raises:
        QuadragError: nothing is.
    """
    if not (room("baselines") / benchmark / "statistics.py").is_file():
        raise QuadragError(f"{benchmark} has no statistics of its data here")
    return cast(Statistics, importlib.import_module(f"..{benchmark}.statistics", __package__).STATISTICS)


def read_counts(benchmark: str, table: str) -> list[dict[str, str]]:
    """Read the printed numbers of a table as they stand in ``published.csv``; the pairs of a setting are keys too."""
    with (room("baselines") / benchmark / "published.csv").open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["table"] == table]
    return [{**row, **dict(pair.split("=", 1) for pair in row["setting"].split(";"))} for row in rows]


def cross_counts(benchmark: str, table: str, line: str, column: str) -> dict[tuple[str, str], int]:
    """Return the printed counts of a table by two keys of its settings."""
    rows = read_counts(benchmark, table)
    return {(row[line], row[column]): int(row["value"]) for row in rows if row["metric"] == "count"}
