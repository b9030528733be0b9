"""The summary of runs: the metrics that their benchmark puts first, the best printed number beside each.

All else that a run came to stands in its tables (`run.py`).
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from quadrag.judges.notes import note_judges
from quadrag.results.check import is_part
from quadrag.results.note import Note, NoteCode
from quadrag.results.run import PROFILES, Run
from quadrag.results.score import Score, Status
from quadrag.results.selection import pick_headlines, pool_rows

from .cells import NOTHING, count_both, value_cell
from .names import name_apart
from .notes import note_units
from .paper_notes import note_beside, note_corpus, note_paper
from .paper_tables import load_tables
from .published import Published
from .replicas import note_replicas
from .run_notes import note_context, note_validity
from .run_tables import name_run, rows_beside, tabulate_run, title_of
from .samples import tabulate_samples
from .table import Cell, Row, Table


def show_runs(
    results: Sequence[Run], profiles: Sequence[str], labels: str = "en", verbose: bool = False
) -> list[Table]:
    """Make what a terminal shows of runs: their summary, or all their tables; arguments as of `tabulate_run`."""
    if verbose:
        return [grid for result in results for grid in tabulate_run(result, profiles, labels)]
    grid = summary(results, profiles[0])
    grid.notes.append(Note(NoteCode.MORE_TABLES))
    rated = [one for one in results if one.record.options.get("ratings")]
    systems = [grid for one in rated for grid in load_tables(one.record.benchmark).systems(one, profiles)]
    return [grid, *systems, *(grid for one in results for grid in tabulate_samples(one, profiles[0], title_of(one)))]


def list_headlines(result: Run, profile: str) -> list[Score]:
    """List the scores that a summary shows of a run: over all splits of a config, where it has several, and of each."""
    rows = pick_headlines(result.scores, profile)
    return [*pool_rows(result, rows, profile), *rows]


def name_headlines(rows: Sequence[Score]) -> list[str]:
    """Name headlines: by their metrics and, where they are of several splits, by these."""
    many = len({row.key.split for row in rows}) > 1
    return [f"{row.key.split}/" * many + row.label for row in rows]


def summary(results: Sequence[Run], profile: str) -> Table:
    """Make the summary of runs of one benchmark: value, interval, n; what nobody may overlook stands in the notes.

    A value by the other profile stands beside where it differs; of several runs each has a name before its metrics.
    """
    lines: list[Row] = []
    others: list[str] = []
    best: list[Published | None] = []
    names = name_apart(results)
    heads = [list_headlines(result, profile) for result in results]
    labels = iter(name_headlines([row for rows in heads for row in rows]))
    for name, rows, result in zip(names, heads, results, strict=True):
        other = {row.place: value_cell(row).text for row in _list_others(result, profile)}
        # The papers' values are those of their own code.
        printed = rows_beside(result) if profile == PROFILES[0] else []
        for row in rows:
            cells, label = headline_cells(row), next(labels)
            lines.append(Row(f"{name}: {label}" if name else label, cells))
            differs = other.get(row.place, NOTHING) not in (NOTHING, cells[0].text)
            others.append(other[row.place] if differs else "")
            best.append(_find_best(printed, row))

    columns = ["value", "95% interval", "n"]
    if any(others):
        columns.append(next(one for one in PROFILES if one != profile))
        for line, text in zip(lines, others, strict=True):
            line.cells.append(Cell(text))
    if any(best):
        columns.append("best published")
        for line, one in zip(lines, best, strict=True):
            line.cells.append(Cell(f"{one.printed}{'?' * one.doubtful} {one.model}" if one else ""))
    notes = [*note_replicas(results, profile, alone=len(results) == 1), *note_validity(results, names)]
    notes += [note_units([row for rows in heads for row in rows], profile)]
    notes += [Note(NoteCode.OTHER_PROFILE)] * any(others)
    shown = [
        [*rows, *(row for row in result.whole(profile) if not row.ran)]
        for rows, result in zip(heads, results, strict=True)
    ]
    notes += note_context(results, shown, profile, names)
    runs = [result.record for result in results]
    notes += [*note_beside(runs), *note_judges(results, profile)]
    if any(best):
        notes += [Note(NoteCode.PUBLISHED_SOURCE, {"kind": "part"})] * any(map(is_part, runs))
        notes += [*note_paper(runs[0].benchmark, list(filter(None, best))), *note_corpus(runs)]
    splits = dict.fromkeys(row.key.split for rows in heads for row in rows)
    title = title_of(results[0], "".join(splits) if len(splits) == len(results) == 1 else "")
    several = f"{results[0].record.benchmark}, {name_run(results[0].record)}"
    return Table(title if len(results) == 1 else several, "metric", columns, lines, notes)


def _list_others(result: Run, profile: str) -> list[Score]:
    """List the scores of a run by the other profile, those over all splits too."""
    other = next(one for one in PROFILES if one != profile)
    rows = [row for row in result.whole(other) if row.status is not Status.INVALID]
    return [*pool_rows(result, rows, other), *rows]


def headline_cells(row: Score) -> list[Cell]:
    """Make the cells of a headline: value, interval, over how many items."""
    cell = value_cell(row)
    scored, total = count_both(row)
    n = f"{total} × {row.counts.times} splits" if row.counts.times else f"{scored} of {total}"
    unreliable = "NOT RELIABLE" * (row.status is Status.UNRELIABLE)
    return [Cell(cell.text, unreliable, cell.figure), Cell(cell.sub or NOTHING), Cell(n)]


def _find_best(printed: Iterable[Published], row: Score) -> Published | None:
    """Find the best printed number of a metric, where one end of it is the better one; none beside what is marked."""
    direction = row.record.direction
    place = row.key.split, row.key.metric, row.key.key
    compared = direction != "none" and row.status is not Status.UNTRUSTED_JUDGE
    here = [one for one in printed if (one.split, one.module, one.key) == place and compared]
    return (min if direction == "lower" else max)(here, key=attrgetter("value"), default=None)
