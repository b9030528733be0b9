"""The tables of one run: its scores, its slices or matrices, the printed rows beside its official values."""

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

from quadrag.judges.notes import note_judges
from quadrag.metric_record import show_key
from quadrag.results.record import RunRecord
from quadrag.results.run import PROFILES, Run
from quadrag.results.score import ALL, Status, find_by_phrase
from quadrag.results.selection import pool_rows
from quadrag.spec import NONE

from .cells import value_cell
from .lines import UNDER, our_lines
from .names import name_model, number_of
from .notes import INTERVALS, explain_lines, note_units
from .paper_tables import load_tables
from .published import Published, find_beside
from .replicas import head_replaced, note_replicas
from .run_notes import note_ours
from .samples import tabulate_samples
from .table import Cell, Row, Table


def name_run(run: RunRecord, number: str = "") -> str:
    """Name a run by its model, with a number where it has one, and by its retriever where that is none."""
    model = f"{name_model(run)}{number}"
    return f"{model}, no documents" if run.retriever == NONE else model


def title_of(result: Run, split: str = "") -> str:
    """Name what was run, or one split of it, and by what."""
    what = " ".join(filter(None, (result.record.benchmark, result.record.config, split)))
    return f"{head_replaced(result.record)}{what}, {name_run(result.record, number_of(result))}"


def tabulate_run(
    result: Run, profiles: Sequence[str] = PROFILES, labels: str = "en", every: bool = False
) -> list[Table]:
    """Make the tables of one run.

    Args:
        result: of the run.
        profiles: the first is shown; of two, the second where it differs.
        labels: of a matrix, ``en`` or ``zh``.
        every: a matrix for every metric, as a page has, not for the main one alone.
    """
    scores, parts = tabulate_scores(result, profiles, labels, every)
    samples = tabulate_samples(result, profiles[0], title_of(result))
    tables = load_tables(result.record.benchmark)
    whole = replace(result, scores=result.whole())
    beside = tables.tabulate([whole], profiles) if tables.tabulate and rows_beside(result) else []
    return [scores, *samples, *parts, *beside, *tables.systems(result, profiles)]


def tabulate_scores(
    result: Run, profiles: Sequence[str], labels: str = "en", every: bool = False
) -> tuple[Table, list[Table]]:
    """Make the table of all metrics of a run, and those of its slices or matrices; arguments as of `tabulate_run`."""
    scores = result.whole()
    rows = [*(row for one in profiles for row in pool_rows(result, scores, one)), *scores]
    columns = list(dict.fromkeys(row.key.split for row in rows)) or result.record.splits
    lines: list[Row] = []
    for place in dict.fromkeys((row.key.metric, row.key.key) for row in rows if row.ran):
        here = [row for row in rows if (row.key.metric, row.key.key) == place]
        lines += our_lines(show_key(*place), here, columns, profiles, attrgetter("key.split"))
    notes = [*note_replicas([result], profiles[0], alone=True), *note_ours([result], [scores], profiles[0]), UNDER]
    notes += [*note_judges([result], profiles[0]), *explain_lines(lines, scores)]
    parts = tabulate_matrices(result, profiles[0], labels, every) or slice_tables(result, profiles[0])
    return Table(title_of(result), "metric", columns, lines, notes), parts


def tabulate_matrices(result: Run, profile: str = PROFILES[0], labels: str = "en", every: bool = False) -> list[Table]:
    """Make a run's matrices: of its main metric, or of every one; [] where its benchmark has none."""
    return load_tables(result.record.benchmark).matrices(result.scores, title_of(result), profile, labels, every)


def slice_tables(result: Run, profile: str) -> list[Table]:
    """Make a table of slices for every split, groups of one grouping together; [] where there are none.

    A slice is a group of questions that share a value; cells, and means over groups, stand in a matrix.
    """
    grids = []
    for split in dict.fromkeys(row.key.split for row in result.scores):
        here = [row for row in result.scores if row.key.split == split and row.profile == profile]
        totals = {row.key.key: row.counts.n_total for row in here if row.slice == ALL}
        parts = [row for row in here if "=" in row.slice and not row.slice.startswith("cell=")]
        parts = [row for row in parts if row.counts.n_total != totals.get(row.key.key)]  # else it is the whole again
        names = {row.key.key: row.label for row in parts if row.ran}
        if not names:
            continue
        by_place = {(row.slice, row.key.key): row for row in parts}
        lines: list[Row] = []
        last = ""
        for name in dict.fromkeys(row.slice for row in parts):
            grouping, _, value = name.partition("=")
            rows = [by_place.get((name, key)) for key in names]
            total = next(row.counts.n_total for row in parts if row.slice == name)
            if grouping != last:
                lines.append(Row(grouping.replace("_", " "), [Cell("")] * (1 + len(rows)), rule=bool(lines)))
                last = grouping
            lines.append(Row(f" {value}", [Cell(str(total)), *map(value_cell, rows)]))
        shown = [row for row in parts if row.key.key in names]
        notes = [note_units(shown, profile), INTERVALS]
        heads = ["n", *names.values()]
        grids.append(Table(title_of(result, split), "slice", heads, lines, notes, "points"))
    return grids


def rows_beside(result: Run) -> list[Published]:
    """Find the printed rows that stand beside a run; none where its documents are mixed, or its data made up.

    Nor beside a value of what a phrase finds where the printed one is of what a judge finds, or of a doubtful judge.
    """
    run = result.record
    if not run.whose.comparable or (run.options and load_tables(run.benchmark).mixing):
        return []
    apart = find_by_phrase(result.scores)
    apart |= {row.place for row in result.scores if row.status is Status.UNTRUSTED_JUDGE}
    return [row for row in find_beside(run) if (run.config, row.split, row.module, row.key) not in apart]
