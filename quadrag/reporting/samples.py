"""How far the samples of a run lie apart: of each metric the means over the answers of one sample after the other.

An interval says what other questions would have changed; this says what chance in the answers did, on the same ones.
"""

from collections.abc import Mapping
from statistics import fmean, stdev
from typing import Any, NamedTuple

from quadrag.results.items import items_of
from quadrag.results.note import Note, NoteCode
from quadrag.results.run import Run
from quadrag.results.score import Score
from quadrag.stats.items import choose_fill, counted

from .cells import format_value
from .table import Cell, Row, Table


class Spread(NamedTuple):
    """The spread of the means of some samples: their standard deviation (by n - 1), the least and the greatest."""

    samples: int
    sd: float
    min: float
    max: float


def spread_samples(result: Run, score: Score) -> Spread | None:
    """Return the spread of a score over all items; None with fewer than two samples, or no value."""
    if score.value is None or result.stopped:  # the samples of a stopped run answer other questions
        return None
    samples: dict[int, list[Mapping[str, Any]]] = {}
    for line in result.items:
        if (line["config"], line["split"]) == score.place[:2]:
            samples.setdefault(line.get("sample", 0), []).append(line)
    fill, means = choose_fill(score.profile, score.record.worst), []
    for lines in samples.values():
        values = [counted(item, fill) for item in items_of(lines, score.key.name, score.profile)]
        if counting := [value for value in values if value is not None]:
            means.append(fmean(counting))
    return Spread(len(means), stdev(means), min(means), max(means)) if len(means) > 1 else None


def tabulate_samples(result: Run, profile: str, title: str) -> list[Table]:
    """Make the table of a run's spread between samples, every metric in a line; [] of a run with one sample."""
    spreads = [(score, spread) for score in result.whole(profile) if (spread := spread_samples(result, score))]
    if not spreads:
        return []
    many = len({score.key.split for score, _ in spreads}) > 1
    lines = [
        Row(f"{score.key.split}/" * many + score.label, [_cell(score, value) for value in spread[1:]])
        for score, spread in spreads
    ]
    count = max(spread.samples for _, spread in spreads)
    note = Note(NoteCode.SPREAD, {"count": count})
    return [Table(title, "spread between samples", ["sd", "min", "max"], lines, [note])]


def _cell(score: Score, value: float) -> Cell:
    return Cell(format_value(value, score.record.unit, score.n))
