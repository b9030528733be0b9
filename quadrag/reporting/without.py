"""A run's headlines over all questions, and without those in whose data an audit found a fault."""

from collections.abc import Sequence
from typing import Any

from quadrag.audit import Finding
from quadrag.results.items import exclude
from quadrag.results.note import Note, NoteCode
from quadrag.results.run import Run
from quadrag.results.selection import pool_rows

from .cells import value_cell
from .run_tables import title_of
from .summary import list_headlines, name_headlines, summary
from .table import Cell, Row, Table


def tabulate_without(result: Run, findings: Sequence[Finding], profile: str) -> Table:
    """Make the table of a run with and without flagged questions.

    Args:
        result: of the run.
        findings: of its benchmark or others; those that a person confirmed as false do not count.
        profile: ``official`` or ``corrected``.
    """
    questions = {(line["config"], line["split"], line["id"]) for line in result.items}
    checks: dict[str, set[Any]] = {}
    for one in findings:
        if one.benchmark == result.record.benchmark and one.confirmed is not False:
            checks.setdefault(one.check, set()).update(questions.intersection(one.keys()))
    flagged = set[Any]().union(*checks.values())
    rest = exclude(result, flagged)
    left = {row.place: row for row in (*pool_rows(rest, rest.scores, profile), *rest.whole(profile))}
    rows = list_headlines(result, profile)
    lines = [
        Row(label, [value_cell(row), value_cell(left.get(row.place))])
        for label, row in zip(name_headlines(rows), rows, strict=True)
    ]
    lines.append(Row("n", [Cell(str(len(questions))), Cell(str(len(questions - flagged)))], rule=True))
    counts = [f"{name} {len(keys)}" for name, keys in sorted(checks.items()) if keys]
    params = {"kind": "some", "count": len(flagged), "total": len(questions), "checks": counts}
    note = Note(NoteCode.FLAGGED, params if flagged else {"kind": "none"})
    return Table(title_of(result), "metric", ["all", "without"], lines, [*summary([result], profile).notes, note])
