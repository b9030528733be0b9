"""Retrieval against generation: how good answers are where their passages were found, in part, or not at all."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from quadrag.metric_record import show_key
from quadrag.stats import summarise

from ..results.items import items_of
from ..results.run import PROFILES, Result
from ..results.score import Score
from ..tables.cells import interval_cell
from ..tables.grid import Cell, Grid, Line
from ..tables.notes import INTERVALS
from .run import title_of
from .summary import pick_headlines

_RANKING = "retrieval_ranking"
_BANDS: Mapping[str, Callable[[float], bool]] = {
    "nothing found": lambda share: share == 0,
    "a part found": lambda share: 0 < share < 1,
    "all found": lambda share: share == 1,
}


def tabulate_found(result: Result, profile: str = PROFILES[0]) -> list[Grid]:
    """Make a table for each split of a run in which relevant documents were searched for.

    Args:
        result: of the run.
        profile: ``official`` or ``corrected``.
    """
    heads = pick_headlines(result.scores, profile)
    grids = []
    for config, split in dict.fromkeys((row.key.config, row.key.split) for row in heads):
        lines = [line for line in result.items if (line["config"], line["split"]) == (config, split)]
        depths = sorted({name for one in lines for name in one if name.startswith(f"{_RANKING}.recall@")}, key=_depth)
        said = next(
            (row for row in heads if (row.key.config, row.key.split) == (config, split) and _is_answers(row)), None
        )
        if depths and said:
            grids += _tabulate(f"{title_of(result, split)}: retrieval and answers", lines, depths[-1], said, profile)
    return grids


def _depth(name: str) -> int:
    return int(name.rpartition("@")[2])


def _is_answers(row: Score) -> bool:
    record = row.record
    return row.key.metric != _RANKING and record.direction != "none" and row.value is not None


def _tabulate(title: str, lines: Sequence[Mapping[str, Any]], recall: str, said: Score, profile: str) -> list[Grid]:
    """Make the table of one split; [] where all questions were found equally well."""
    answers = said.key.name
    found = {one.question: one.value for one in items_of(lines, recall, profile) if one.value is not None}
    items = [one for one in items_of(lines, answers, profile) if one.question in found]
    record = said.record
    rows: list[Line] = []
    for label, fits in _BANDS.items():
        here = [one for one in items if fits(found[one.question])]
        values = [one.value for one in here if one.value is not None]
        if not values:
            continue
        summary = summarise(here, profile=profile, worst=record.worst, ends=record.range)
        n = len({one.question for one in here})
        across = interval_cell(fmean(found[one.question] for one in here), None, n)
        up = interval_cell(summary.value, summary.interval, len(values), said.record.unit)
        rows.append(Line(label, [across, up, Cell(str(n))]))
    if len(rows) < 2:
        return []
    columns = [show_key(*recall.split(".", 1)), said.label, "n"]
    note = f"Means over the questions of a line, percent, {profile} profile."
    return [Grid(title, "relevant passages", columns, rows, [note, INTERVALS], "points")]
