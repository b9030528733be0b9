"""A run's values over all questions, and without those in whose data an audit found a fault."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from quadrag.stats import summarise

from ..audit.finding import Finding
from ..results.items import items_of
from ..results.run import PROFILES, Result
from ..results.score import Score, Status
from ..scoring.rows import tally
from ..tables.cells import value_cell
from ..tables.grid import Cell, Grid, Line
from ..tables.run_notes import note_ours
from ..tables.slices import select_run, select_whole
from .compared.names import CORNER, label_place
from .run import name_run


def tabulate_without(result: Result, findings: Sequence[Finding], profile: str = PROFILES[0]) -> Grid:
    """Make the table of a run with and without flagged questions.

    Args:
        result: of the run.
        findings: of its benchmark or others; those that a person confirmed as false do not count.
        profile: ``official`` or ``corrected``.
    """
    inputs = result.run
    counting = [one for one in findings if one.benchmark == inputs.benchmark and one.confirmed is not False]
    places = {(line["config"], line["split"], line["id"]) for line in result.items}
    checks: dict[str, set[Any]] = {}
    for one in counting:
        checks.setdefault(one.check, set()).update(places.intersection(one.keys()))
    flagged = set[Any]().union(*checks.values())
    kept = [line for line in result.items if (line["config"], line["split"], line["id"]) not in flagged]
    scores = [row for row in select_whole(result.scores) if row.profile == profile]
    rows = select_run(scores)
    lines: list[Line] = []
    for config, split in dict.fromkeys((row.key.config, row.key.split) for row in rows):
        here, left = (
            [item for item in items if (item["config"], item["split"]) == (config, split)]
            for items in (result.items, kept)
        )
        first = len(lines)
        for row in rows:
            if (row.key.config, row.key.split) == (config, split):
                cells = [value_cell(row), value_cell(_again(row, left))]
                lines.append(Line(label_place((config, split, row.key.metric, row.key.key)), cells))
        asked = [Cell(str(len({item["id"] for item in items}))) for items in (here, left)]
        lines.append(Line(f"{config}: {split}/n", asked))
        lines[first].rule = first > 0
    counts = ", ".join(f"{name} {len(keys)}" for name, keys in sorted(checks.items()) if keys)
    said = [f"Flagged by a rule: {len(flagged)} of {len(places)} questions ({counts})."]
    said.append("Where `confirmed` is false in the file, a question counts again.")
    notes: list[Any] = [
        *note_ours([result], [scores], profile),
        *(said if flagged else ["No question is flagged."]),
    ]
    title = f"{inputs.benchmark} {inputs.config}, {name_run(result.run)}: with and without flagged questions"
    return Grid(title, CORNER, ["all", "without"], lines, notes)


def _again(row: Score, lines: Sequence[Mapping[str, Any]]) -> Score | None:
    """Return a row of scores over some of the items alone; None where its metric has no value for each."""
    if not row.ran or row.status is Status.INVALID:  # the latter where too many calls failed
        return row
    items = items_of(lines, row.key.name, row.profile)
    if not items:
        return None
    record = row.record
    found = summarise(items, profile=row.profile, worst=record.worst, ends=record.range)
    return replace(row, **found._asdict(), counts=tally(items))
