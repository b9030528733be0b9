"""How far the samples of a run lie apart: of each metric the means over the answers of one sample after the other.

An interval says what other questions would have changed; this says what chance in the answers did, on the same ones.
"""

from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean, stdev
from typing import Any, NamedTuple

from quadrag.stats import NOT_APPLICABLE

from ..results.items import items_of
from ..results.run import Result
from ..results.score import Score
from ..tables.cells import format_value
from ..tables.grid import Cell, Grid, Line
from ..tables.slices import select_whole


class Spread(NamedTuple):
    """The spread of the means of some samples: their standard deviation (by n - 1), the least and the greatest."""

    samples: int
    sd: float
    min: float
    max: float


def spread_samples(result: Result, row: Score) -> Spread | None:
    """Return the spread of a row of ``scores.json`` over all items; None with fewer than two samples, or no value."""
    if row.value is None or result.stopped:  # the samples of a stopped run answer other questions
        return None
    samples: dict[Any, list[Mapping[str, Any]]] = {}
    for line in result.items:
        if (line["config"], line["split"]) == (row.key.config, row.key.split):
            samples.setdefault(line.get("sample", 0), []).append(line)
    means = list(_means(row, samples.values())) if len(samples) > 1 else []
    return Spread(len(means), stdev(means), min(means), max(means)) if len(means) > 1 else None


def _means(row: Score, samples: Iterable[list[Mapping[str, Any]]]) -> Iterator[float]:
    """Yield the mean of each sample in which anything counts, under the row's profile."""
    worst = row.record.worst
    for lines in samples:
        items = items_of(lines, row.key.name, row.profile)
        values = [item.value for item in items if item.value is not None]
        lacking = [item for item in items if item.value is None and item.reason != NOT_APPLICABLE]
        values += [worst] * len(lacking) if row.profile == "corrected" else []
        if values:
            yield fmean(values)


def tabulate_samples(result: Result, profile: str, title: str) -> list[Grid]:
    """Make the table of a run's spread between samples, every metric in a line; [] of a run with one sample."""
    rows = [row for row in select_whole(result.scores) if row.profile == profile]
    found = [(row, spread) for row in rows if (spread := spread_samples(result, row))]
    if not found:
        return []
    many = len({row.key.split for row, _ in found}) > 1
    labels = [f"{row.key.split}/" * many + row.label for row, _ in found]
    named = list(zip(labels, found, strict=True))
    apart = [one for one in named if one[1][1].min < one[1][1].max] or named
    lines = [Line(label, _cells(row, spread)) for label, (row, spread) in apart]
    alike = [label for label, _ in named if label not in [line.label for line in lines]]
    count = max(spread.samples for _, spread in found)
    notes = [f"Of {count} means, each over one answer a question; sd is their standard deviation. {profile} profile."]
    notes += [f"The same in every sample: {', '.join(alike)}."] * bool(alike)
    return [Grid(f"{title}: spread between samples", "metric", ["sd", "min", "max"], lines, notes)]


def _cells(row: Score, spread: Spread) -> list[Cell]:
    n = row.n
    return [Cell(format_value(value, row.record.unit, n)) for value in (spread.sd, spread.min, spread.max)]
