"""A run's values over all questions, and without those in whose data an audit found a fault."""

from collections.abc import Sequence
from typing import Any

from quadrag.records import Key

from ..audit.finding import Finding
from ..results.items import exclude
from ..results.run import PROFILES, Result
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
    run = result.run
    asked = {(line["config"], line["split"], line["id"]) for line in result.items}
    checks: dict[str, set[Key]] = {}
    for finding in findings:
        if finding.benchmark == run.benchmark and finding.confirmed is not False:
            checks.setdefault(finding.check, set()).update(asked.intersection(finding.keys()))
    flagged = set[Key]().union(*checks.values())
    left = {(score.place, score.profile): score for score in exclude(result, flagged).scores}
    whole = [score for score in select_whole(result.scores) if score.profile == profile]
    scores = select_run(whole)
    lines = [
        Line(label_place(score.place), [value_cell(score), value_cell(left.get((score.place, profile)))])
        for score in scores
    ]
    for config, split in dict.fromkeys(score.place[:2] for score in scores):
        here = {key for key in asked if key[:2] == (config, split)}
        lines.append(Line(f"{config}: {split}/n", [Cell(str(len(here))), Cell(str(len(here - flagged)))]))
    counts = ", ".join(f"{name} {len(keys)}" for name, keys in sorted(checks.items()) if keys)
    flagged_of = f"{len(flagged)} of {len(asked)} questions"
    notes: list[Any] = [
        *note_ours([result], [scores], profile),
        f"Flagged by a rule: {flagged_of} ({counts})." if flagged else "No question is flagged.",
    ]
    title = f"{run.benchmark} {run.config}, {name_run(run)}: with and without flagged questions"
    return Grid(title, CORNER, ["all", "without"], lines, notes)
