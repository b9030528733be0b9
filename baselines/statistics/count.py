"""Counting: every row that is there is read once, and of it are kept its groups and the lengths of its texts."""

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..audit.audited import Audited
from ..core.benchmark import load
from .record import Source, Statistics, load_statistics


@dataclass(slots=True)
class Part:
    """What was counted in a split: of each table of its source, rows by line and column; the length of every text."""

    source: Source
    config: str
    split: str
    rows: int = 0
    counts: list[Counter[tuple[str, str]]] = field(default_factory=list)
    lengths: dict[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """How it is named in a table."""
        return self.source.label or (self.config if self.config == self.split else f"{self.config} {self.split}")


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted of a benchmark; `data` says where it comes from and what is not there."""

    record: Statistics
    data: Audited
    parts: list[Part]


def count(benchmark: str, data_dir: str | None = None) -> Counted:
    """Count what the data of a benchmark hold, a row at a time in memory.

    Args:
        benchmark: its name.
        data_dir: folder of upstream files, ``sample``, or None for what is prepared.

    Raises:
        QuadragError: the name is unknown, nothing of it is there, or a file is broken.
    """
    benchmark_record, record = load(benchmark), load_statistics(benchmark)
    data = Audited(benchmark_record, [name for source in record.sources for name in source.configs], data_dir)
    parts = [part for source in record.sources for part in _count_source(source, data)]
    data.check_found()
    return Counted(record, data, parts)


def _count_source(source: Source, data: Audited) -> Iterator[Part]:
    for config in source.configs:
        there = [split for split in data.find_splits(config) if not source.splits or split in source.splits]
        for split in there:
            yield _count_split(Part(source, config, split), data)
        if there:
            return


def _count_split(part: Part, data: Audited) -> Part:
    tables, texts = part.source.counts, part.source.texts
    part.counts = [Counter() for _ in tables]
    part.lengths = {what: array("q") for what in texts}
    for row in data.rows(part.config, part.split):
        part.rows += 1
        for table, found in zip(tables, part.counts, strict=True):
            found[table.line(row), table.column(row)] += 1
        for what, texts_of in texts.items():
            part.lengths[what].extend(len(text) for text in texts_of(row) if text is not None)
    return part
