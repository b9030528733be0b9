"""CRAG's Table 6: whole systems, by the ratings of people and by latency, the printed rows with ours under them.

Where nobody rated, the column of latency is left. Its second half is weighted by the traffic of question types, which
the paper does not print: ours has one where the user gives weights.
"""

import csv
from collections.abc import Sequence
from statistics import mean
from typing import Any

from quadrag.paths import room
from quadrag.provenance import Provenance
from quadrag.stats import spread

from ..core.benchmark import load
from ..results.run import Result
from ..results.score import Score
from ..tables.cells import NOTHING, break_heading
from ..tables.grid import Cell, Grid, Line
from ..tables.lines import our_lines
from ..tables.names import name_model
from ..tables.notes import INTERVALS
from ..tables.run_notes import note_validity

NAME = "crag"
RATED = ("perfect", "acceptable", "hallucination", "missing", "truthfulness")
_LATENCY = "latency_ms"
_WEIGHTED = "_weighted"


def tabulate_systems(result: Result, profiles: Sequence[str]) -> list[Grid]:
    """Make the table of a run; [] where its answers were neither rated nor timed."""
    scores = [row for row in result.scores if row.key.metric == "truthfulness" and row.ran]
    there = {row.key.key for row in scores}
    rated, weighted = "perfect" in there, f"perfect{_WEIGHTED}" in there
    if not rated and not result.run.latency_seconds:
        return []
    keys = [*(RATED if rated else ()), _LATENCY]
    lines: list[Line] = []
    for weighting, end in (("equal", ""), ("traffic", _WEIGHTED))[: 1 + weighted]:
        if weighted:
            lines.append(Line(f"{weighting} weighting", [Cell("")] * len(keys), rule=bool(lines)))
        lines += _printed_lines(result, weighting, keys)
        wanted = [f"{key}{end}" for key in keys]
        for split in dict.fromkeys(row.key.split for row in result.scores):
            rows = [row for row in scores if row.key.split == split and row.key.key in wanted]
            found = our_lines(f" {name_model(result.run)} (ours)", rows, keys, profiles, _unweighted)
            if not end:
                for line, cell in zip(found, _latency_cells(result, split), strict=False):
                    line.cells[-1] = cell
            lines += found
    title = f"Table 6. {'Systems rated by people' if rated else 'Latency of systems'}"
    heads = [*map(break_heading, keys[:-1]), "latency\n(ms)"]
    return [Grid(title, "", heads, lines, [*note_validity([result]), *_notes(result, rated, weighted)])]


def _unweighted(row: Score) -> str:
    return str(row.key.key).removesuffix(_WEIGHTED)


def _printed(result: Result) -> list[dict[str, Any]]:
    """Read the numbers of the table, each with what it was made under; none beside data of one's own."""
    if result.run.whose is Provenance.OWN:
        return []
    with (room("baselines") / NAME / "published.csv").open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["table"] == "6"]
    return [{**row, **dict(pair.split("=") for pair in row["setting"].split(";"))} for row in rows]


def _printed_lines(result: Result, weighting: str, keys: Sequence[str]) -> list[Line]:
    rows = [row for row in _printed(result) if row["weighting"] == weighting]
    values = {(row["system"], row["metric"]): row["value"] for row in rows}
    names = dict.fromkeys(row["system"] for row in rows)
    return [Line(f" {name}", [Cell(values.get((name, key), NOTHING)) for key in keys], "published") for name in names]


def _latency_cells(result: Result, split: str) -> list[Cell]:
    place = f"{result.run.config}/{split}/"
    seconds = [taken for name, taken in result.run.latency_seconds.items() if name.startswith(place)]
    return [Cell(f"{mean(seconds) * 1000:.0f}"), Cell(str(len(seconds)))] if seconds else []


def _notes(result: Result, rated: bool, weighted: bool) -> list[Any]:
    notes: list[Any] = [f"Published: {load(NAME).paper}, table 6, split public."] * bool(_printed(result))
    notes += [
        f"Latency of {row['system']}: {row['note'].removeprefix('info: ')}."
        for row in _printed(result)
        if row["metric"] == _LATENCY and row["note"]
    ]
    if rated:
        notes.append(
            "Percent. Truthfulness is perfect plus half of acceptable minus hallucination; an answer that nobody rated "
            "is left out under official."
        )
        notes.append(INTERVALS)
    if rated and not weighted:
        notes.append("The table's second half is weighted by traffic: --option weights=FILE.")
    if found := spread(list(result.run.latency_seconds.values())):
        notes.append(
            f"Our latency: mean of {len(result.run.latency_seconds)} answers, each as it was first made, from the call "
            f"to the whole reply; median {found['median']} s, 95th percentile {found['p95']} s."
        )
    return notes
