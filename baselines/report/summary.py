"""The short summary of a run: the metrics that its benchmark puts first, the best printed row beside each.

One choice of headlines serves the terminal, the demo, comparisons and notebooks. All else that a run came to stands in
its tables (`run.py`).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from quadrag.provenance import Provenance

from ..core.benchmark import load
from ..core.run_record import RunRecord
from ..judges.notes import note_judges
from ..results.check import is_part
from ..results.items import FAILED
from ..results.note import Note, NoteCode
from ..results.run import PROFILES, Result
from ..results.score import Score, Status, find_by_phrase
from ..tables.cells import FEW, NOTHING, RATE, figure_of, format_value, items_of, mark_cell, value_cell
from ..tables.draw import align_cells
from ..tables.grid import Cell, Grid, Line
from ..tables.names import is_whole
from ..tables.notes import INTERVALS, SHOWN, explain_profiles, note_units
from ..tables.paper_notes import note_beside, note_corpus, note_paper
from ..tables.published import Published
from ..tables.replicas import note_replicas
from ..tables.run_notes import note_context, note_validity
from ..tables.slices import select_whole
from .pooled import pool_profiles, pool_rows
from .run import rows_beside, tabulate_run, tabulate_systems, title_of
from .samples import tabulate_samples

MOST = 5  # headlines of a split
_FAR = 0.1  # between a value by the two profiles: from here on the other one is told
_Beside = tuple[Published | None, str]  # a printed number, and in what ours is on other questions
_Other = tuple[str, list[Note]]  # a value by the other profile, and why it differs
MORE = "All metrics, profiles, slices, settings, the papers' conditions: --verbose."
_PART, _UNVERIFIED = "on all", "unverified"
_ON_ALL = Note(NoteCode.PUBLISHED_SOURCE, {"kind": "part"})


def show_run(result: Result, profiles: Sequence[str], labels: str = "en", verbose: bool = False) -> list[Grid]:
    """Make what a terminal shows of a run: its summary, or all its tables; arguments as of `tabulate_run`."""
    if verbose:
        return tabulate_run(result, profiles, labels)
    grid = summarise_run(result, profiles[0])
    grid.notes.append(MORE)
    systems = tabulate_systems(result, profiles) if result.run.options.get("ratings") else []
    return [grid, *systems, *tabulate_samples(result, profiles[0], title_of(result))]


def pick_headlines(scores: Sequence[Score], profile: str) -> list[Score]:
    """Pick the rows over all items that a summary shows, the most telling of each split first.

    None rests on a phrase for want of the judge on whom the metric rests: tables of papers show none of these either.
    """
    by_phrase = find_by_phrase(scores)
    rows = [row for row in select_whole(scores) if row.profile == profile and row.ran]
    rows = [row for row in rows if row.place not in by_phrase]
    picked: list[Score] = []
    for (benchmark, *_), group in groupby(rows, key=lambda row: (row.key.benchmark, row.key.config, row.key.split)):
        here = list(group)
        by_name = {row.record.name: row for row in here}
        first = [by_name[name] for name in load(benchmark).headlines if name in by_name]
        picked += (first or here)[:MOST]
    return picked


def headline_grid(result: Result, profile: str) -> Grid:
    """Make the table of a run's headlines: value, interval and how many items were scored."""
    rows = pick_headlines(result.scores, profile)
    splits = {row.key.split for row in rows}
    many = len(splits) > 1

    def label(row: Score) -> str:
        return f"{row.key.split}/" * many + row.label

    lines = [_mark_line(label(row), row) for row in rows]
    title = title_of(result, "" if many else "".join(splits))
    every = (*pool_rows(result, rows, profile), *rows)
    far = {label(row): told for row in every if (told := _tell_other(result, row))}
    notes = _note_other(far, profile)
    return Grid(title, "metric", ["value", "95% interval", "n"], lines, [*note_validity([result]), *notes])


def _tell_other(result: Result, row: Score) -> _Other | None:
    """Return a rate's value by the other profile, and why it differs, where it is far from a row's; None elsewhere.

    Where items failed, which one profile leaves out, every headline that this moves is told.
    """
    place = attrgetter("key.split", "key.metric", "key.key")
    others = select_whole(result.scores)
    if is_whole(row.key.split):
        others = pool_profiles(result, others)
    for other in others:
        if place(other) == place(row) and other.profile != row.profile and row.record.unit == RATE:
            mine, theirs = (None if one.status is Status.INVALID else one.value for one in (row, other))
            failed = any({*one.counts.unscored} & {*FAILED} or one.counts.left_out for one in (row, other))
            far = SHOWN if failed else _FAR - 1e-9  # 1.0 - 0.9 is a little less
            if mine is not None and theirs is not None and abs(mine - theirs) >= far:
                return format_value(theirs, RATE, other.n), explain_profiles([(row, other)])
    return None


def _note_other(far: Mapping[str, _Other], profile: str) -> list[Note]:
    """Say which headlines are far from their values by the other profile, and why they are."""
    other = next(name for name in PROFILES if name != profile)
    values = [f"{label} {value}" for label, (value, _) in far.items()]
    reasons = [why for _, told in far.values() for why in told]
    reasons = [why for at, why in enumerate(reasons) if why not in reasons[:at]]
    return [Note(NoteCode.OTHER_PROFILE, {"profile": other, "values": values}), *reasons] if far else []


def headline_cells(row: Score) -> list[Cell]:
    """Make the cells of a headline."""
    cell = value_cell(row)
    share = row.record.range == (0, 1)
    return [Cell(cell.text, figure=cell.figure if share else None), Cell(cell.sub or NOTHING), Cell(items_of(row))]


def pool_lines(result: Result, rows: Sequence[Score], profile: str) -> list[Line]:
    """Make lines of the headlines that a run of several splits has over all of them."""
    pooled = pool_rows(result, rows, profile)
    return [_mark_line(f"{row.key.split}/{row.label}", row) for row in pooled]


def _mark_line(label: str, row: Score) -> Line:
    """Make a line of a headline with what nobody may overlook of it."""
    value, *rest = headline_cells(row)
    return Line(label, [mark_cell(value, row), *rest])


def summarise_run(result: Result, profile: str) -> Grid:
    """Make the summary of a run: its headlines, and what nobody may overlook."""
    rows = pick_headlines(result.scores, profile)
    grid = headline_grid(result, profile)
    run = result.run
    # The papers' values are those of their own code.
    printed = rows_beside(result) if profile == "official" else []
    best = [_find_best(printed, row) for row in rows]
    mark = _mark_printed(run)
    pooled = pool_lines(result, rows, profile)
    if any(best):
        grid.columns.append("best published")
        for line, cell in zip(grid.lines, _best_cells([(one, mark) for one in best]), strict=True):
            line.cells.append(cell)
        for line in pooled:
            line.cells.append(Cell(""))
    grid.lines[:0] = pooled
    hidden = any(row.interval and (row.n or 0) < FEW for row in rows)
    grid.notes += [
        note_units(rows, profile),
        *[INTERVALS] * hidden,
        *note_context([result], [[*rows, *(row for row in select_whole(result.scores) if not row.ran)]], profile),
        *note_beside([run]),
        *note_judges([result], profile),
    ]
    if any(best):
        grid.notes += [_ON_ALL] * (mark == _PART)
        grid.notes += [*note_paper(run.benchmark, list(filter(None, best))), *note_corpus([run])]
    grid.notes[:0] = note_replicas([result], profile, alone=True)
    return grid


def _mark_printed(run: RunRecord) -> str:
    """Return what stands behind a printed number beside a run on fewer questions, or on data that may be others."""
    return _UNVERIFIED if run.whose is Provenance.UNVERIFIED else _PART * is_part(run)


def _find_best(printed: Iterable[Published], row: Score) -> Published | None:
    """Find the best printed number of a metric, where one end of it is the better one; none beside what is marked."""
    direction = row.record.direction
    place = row.key.split, row.key.metric, row.key.key
    compared = direction != "none" and row.status is not Status.UNTRUSTED_JUDGE
    here = [one for one in printed if (one.split, one.module, one.key) == place and compared]
    return (min if direction == "lower" else max)(here, key=attrgetter("value"), default=None)


def _best_cells(best: Sequence[_Beside]) -> list[Cell]:
    """Make a column of printed numbers, points under points, each before the model that has it."""
    found = [one for one, _ in best if one]
    lines = [Line("", [Cell(one.printed + "?" * one.doubtful)], "published") for one in found]
    aligned = [cell.text for (cell,) in align_cells(Grid("", "", [""], lines))]
    numbers = iter(f"{text:>{max(map(len, aligned))}}" for text in aligned)
    told = [", ".join(filter(None, [f"{next(numbers)} {one.model}", mark])) if one else "" for one, mark in best]
    width = max(map(len, told))
    figures = [figure_of(one.value) if one else None for one, _ in best]
    return [Cell(f"{text:<{width}}" if text else "", "", figure) for text, figure in zip(told, figures, strict=True)]
