"""Runs compared: of two the difference of each metric and its verdict, of more each run's difference from the first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from quadrag.errors import QuadragError
from quadrag.metric_record import metric_record, show_key
from quadrag.stats import Pair

from ...judges.notes import note_judges
from ...results.check import check_lacking
from ...results.note import Level, Note, NoteCode
from ...results.run import Result
from ...results.score import ALL, Score, Status, find_by_phrase
from ...tables.cells import ALIKE, INVALID, NOTHING, mark_cell, value_cell, write_number
from ...tables.grid import Cell, Figure, Grid, Line, Loud, Verdict, level_of
from ...tables.names import is_whole
from ...tables.notes import INTERVALS, note_lower, note_units
from ...tables.slices import select_whole
from ..pooled import pool_rows
from ..run import tabulate_matrices
from ..summary import pick_headlines
from .names import CORNER, Place, label_place, name_columns, name_difference, name_places
from .pairs import (
    Changes,
    Compared,
    adjust,
    compare_each,
    count_changes,
    has_better,
    is_lower,
    list_places,
    note_judges_apart,
    pair_results,
    pick_places,
    pool_each,
    pool_splits,
    shape_of,
)
from .said import (
    BETTER,
    EQUAL,
    TOO_FEW,
    WORSE,
    find_lead,
    find_verdict,
    note_length,
    note_odd,
    note_profiles_apart,
    note_same_answers,
    tell_changes,
    tell_headline,
    tell_missing,
    tell_rule,
    tell_runs,
    verdict_cells,
)

_APART = "Nothing to compare: the two have no metric of a split in common."
_DECIDED = {BETTER: "↑", WORSE: "↓"}  # behind a value that is so than the first run's
Runs = Sequence[tuple[str, Result]]


class Side(NamedTuple):
    """What a run came to by a metric, its row and what is shown of it, and what it differs by from the first one."""

    row: Score | None
    shown: Cell
    pair: Pair | None


class _Rows(NamedTuple):
    """Which metrics runs are compared by, and their rows of scores.

    Attributes:
        heads: the headlines.
        tables: of each run its rows, by place and slice.
        places: those that stand in a table, in its order.
        lacking: the rows of those that ran in no run.
    """

    heads: list[Place]
    tables: list[dict[tuple[Place, str], Score]]
    places: list[tuple[Place, str]]
    lacking: list[Score]


def refuse_same(names: Sequence[str]) -> None:
    """Refuse to compare a folder, or a file, with itself, however it is spelled.

    Raises:
        QuadragError: it is named twice.
    """
    for one, other in combinations(names, 2):
        if Path(one).resolve() == Path(other).resolve():
            twice = f"{one} is named twice" if one == other else f"{one} and {other} are the same"
            raise QuadragError(f"nothing to compare: {twice}; name another one")


def refuse_apart(runs: Sequence[tuple[str, Sequence[Result]]]) -> None:
    """Refuse to compare runs of different benchmarks, or runs of which no two have a split in common.

    Raises:
        QuadragError: they are such runs.
    """
    made = [[result.run for result in results] for _, results in runs]
    places = [{(one.config, split) for one in inputs for split in one.splits} for inputs in made]
    mixed = len({one.benchmark for inputs in made for one in inputs}) > 1
    if mixed or all(one.isdisjoint(other) for one, other in combinations(places, 2)):
        named = []
        for called, inputs in zip(name_columns([name for name, _ in runs]), made, strict=True):
            tasks: dict[str, dict[str, None]] = {}
            for one in inputs:
                task = f"{one.config} {one.splits[0]}" if len(one.splits) == 1 else one.config
                tasks.setdefault(one.benchmark, {})[task] = None
            named.append(f"{called} is {' and '.join(' '.join((of, ', '.join(here))) for of, here in tasks.items())}")
        several = any(len({one.benchmark for one in inputs}) > 1 for inputs in made)
        named += ["name their folders of one benchmark"] * several
        raise QuadragError(f"nothing to compare: {'; '.join(named)}")


def tabulate_several(runs: Runs, profile: str = "official", every: bool = True, labels: str = "en") -> list[Grid]:
    """Compare named runs; the others are compared with the first one that has a value.

    Args:
        runs: two or more, of one benchmark.
        profile: ``official`` or ``corrected``.
        every: all metrics and settings, of two runs their matrices too; else the headlines, and what differs.
        labels: of a matrix, ``en`` or ``zh``.
    """
    if len(runs) == 2:
        changes = tabulate_changes(runs, profile, labels) if every else []
        return [compare_two(runs, profile, every, counted=not every), *changes]
    results = [result for _, result in runs]
    base = find_base(results, profile)
    ordered = [runs[base], *runs[:base], *runs[base + 1 :]]
    notes = _note_several(ordered, profile, every)
    if every:
        found = _pick_rows(results, profile, every)
        values = _lay_out(runs, found)
        values.notes += [note for note in notes if level_of(note) is Level.WARNING]
        return [values, _tabulate_differences(ordered, profile, [note for note in notes if note not in values.notes])]
    lead, *rest = _line_up(ordered, profile)
    alarms = [note for note in notes if level_of(note) is Level.WARNING]
    lead.notes[:0] = alarms
    (rest or [lead])[-1].notes += [note for note in notes if note not in alarms]
    return [lead, *rest]


def find_base(results: Sequence[Result], profile: str) -> int:
    """Find the first run that has a value by the first metric with a better end that any two have a value by."""
    for place in filter(has_better, pick_places(results, profile)):
        rows = [_index(one, profile, False).get(place) for one in results]
        there = [
            at
            for at, row in enumerate(rows)
            if row and row.value is not None and row.status is not Status.UNTRUSTED_JUDGE
        ]
        if len(there) > 1:
            return there[0]
    return 0


def _group(told: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    found: dict[str, dict[str, None]] = {}
    for name, note in told:
        found.setdefault(note, {})[name] = None
    return [(note, list(names)) for note, names in found.items()]


def _note_several(runs: Runs, profile: str, every: bool) -> list[Any]:
    """List what is to be known of three runs or more, all but the first compared with it."""
    results = [result for _, result in runs]
    first, *others = results
    base, *names = name_columns([name for name, _ in runs])
    heads = pick_places(results, profile)
    compared = compare_each(first, others, heads, profile)
    pooled = pool_each(first, others, heads, compared, profile)
    labels = name_places([*{place: None for whole in pooled for place in whole}, *heads])
    said: list[tuple[str, str]] = []
    every_pair: list[Compared] = []
    for name, pairs, whole, other in zip(names, compared, pooled, others, strict=True):
        seen = {place: one.compared for place, one in whole.items()} | pairs
        every_pair += seen.values()
        lacking = tell_missing(first, other, heads, pairs, profile, (base, name))
        notes = [*note_judges_apart(first, other), *note_length(first, other, seen)]
        notes += note_profiles_apart(seen, profile, name, labels)
        said += [(name, note) for note in (*notes, *(one for one in lacking if not isinstance(one, Loud)))]
    rows = [row for one in results for row in select_whole(one.scores) if row.place in heads]
    return [
        *(type(note)(f"{name_difference((base, ', '.join(of)))}: {note}") for note, of in _group(said)),
        *note_same_answers([base, *names], results),
        *note_odd(list(zip([base, *names], results, strict=True))),
        note_units(rows, profile),
        *tell_rule(every_pair),
        *note_lower(place[2:] for place in heads),
        *tell_runs(runs, every),
        *note_judges(results, profile),
        INTERVALS,
        Note(NoteCode.TESTS),
    ]


def compare_two(runs: Runs, profile: str = "official", every: bool = False, counted: bool = False) -> Grid:
    """Compare two named runs: a line that says which is better, the differences, what these cannot say.

    Args:
        runs: name and result of each.
        profile: the one shown.
        every: all metrics and settings; else the headlines, and the settings that differ.
        counted: under each value stands on how many questions its run is better, not its interval; else a note says it.
    """
    names = [name for name, _ in runs]
    columns = name_columns(names)
    first, second = (result for _, result in runs)
    found = _pick_rows([first, second], profile, every)
    (compared,) = compare_each(first, [second], found.heads, profile)
    pooled = pool_splits(first, second, found.heads, compared, profile)
    told = {place: one.compared for place, one in pooled.items()} | compared
    labels = name_places([*pooled, *found.heads])
    others = [(place, part) for place, part in found.places if part != ALL or place not in found.heads]
    rest = _pair_others(first, second, others, profile)
    changes = {place: counts for place in found.heads if (counts := count_changes(first, second, place, profile))}
    lines = []
    for place, one in pooled.items():
        values = _put_under([Cell(value) for value in one.show(place)], one.changes if counted else None)
        lines.append(Line(label_place(place), [*values, *verdict_cells(place, one.compared.pair)]))
    for line, (place, part) in zip(_lay_out(runs, found).lines, found.places, strict=True):
        drawn = (place, part) not in rest
        pair = compared[place].pair if drawn and place in compared else rest.get((place, part))
        values = _put_under(line.cells, changes.get(place) if drawn else None) if counted else line.cells
        difference, verdict = verdict_cells(place, pair)
        rows = filter(None, (table.get((place, part)) for table in found.tables))
        if pair and any(row.status is Status.UNTRUSTED_JUDGE for row in rows):
            difference = replace(difference, text=difference.text + ALIKE, figure=None)
        if not drawn:  # the headlines alone stand in a chart
            difference = replace(difference, figure=None)
        lines.append(replace(line, cells=[*(replace(cell, figure=None) for cell in values), difference, verdict]))
    # What is over all splits of a config stands before these, under one heading.
    places = [*pooled, *(place for place, _ in found.places)]
    configs = list(dict.fromkeys(place[0] for place in places))
    lines = [lines[at] for at in sorted(range(len(lines)), key=lambda at: configs.index(places[at][0]))]
    shown = [row for at in found.places for table in found.tables if (row := table.get(at))]
    missing = tell_missing(first, second, found.heads, compared, profile, columns)
    common = any(all((place, ALL) in table for table in found.tables) for place in found.heads)
    # A verdict on other metrics must not hide what is invalid, or the one that tells most.
    hidden = missing[:1] if common and found.heads[0] not in compared else []
    ahead = [one for one in missing if one in hidden or isinstance(one, Loud)]
    headline = tell_headline(told, profile, columns, labels) if common else _APART
    lead = find_lead(told)
    if lead and any(
        table[lead, ALL].status is Status.UNTRUSTED_JUDGE for table in found.tables if (lead, ALL) in table
    ):
        headline += f" But the verdicts behind it are in doubt ({ALIKE})."
    shared = sorted({one.pair.n for one in compared.values()})
    span = " to ".join(dict.fromkeys(map(str, (*shared[:1], *shared[-1:]))))
    notes = [
        *map(Verdict, filter(None, [*ahead, headline])),
        *note_judges_apart(first, second),
        *note_profiles_apart(told, profile, columns[1], labels),
        *note_length(first, second, told),
        *note_odd(list(zip(columns, (first, second), strict=True))),
        *note_same_answers(columns, [first, second]),
        *(one for one in missing if one not in ahead),
        note_units(shown, profile),
        *tell_rule(told.values()),
        *[f"Questions scored in both: {span}."] * bool(shared),
        *note_lower(place[2:] for place, _ in found.places),
        *([] if counted else tell_changes(changes | {at: one.changes for at, one in pooled.items()}, columns)),
        *_note_phrases([first, second], found),
        *tell_runs(runs, every),
        *_tell_lacking(found),
        *note_judges([first, second], profile),
        INTERVALS,
        Note(NoteCode.TESTS),
    ]
    heads = [*columns, "difference", "verdict"]
    return Grid(f"Comparison: {name_difference(columns)}", CORNER, heads, lines, notes, "forest", names=columns)


def _put_under(cells: Sequence[Cell], counts: Changes | None) -> list[Cell]:
    """Put under the values of two runs on how many questions each is better, or nothing."""
    subs = [f"{n} better" for n in (counts.worse, counts.better)] if counts else ["", ""]
    return [replace(cell, sub=sub) for cell, sub in zip(cells, subs, strict=True)]


def _note_phrases(results: Sequence[Result], found: _Rows) -> list[str]:
    """Say which metrics rest on a phrase for want of a judge."""
    both = zip(found.tables, (find_by_phrase(one.scores) for one in results), strict=True)
    by_phrase = [{at for at in table if at[0] in places} for table, places in both]
    rests = dict.fromkeys(show_key(*at[0][2:]) for at in found.places if any(at in one for one in by_phrase))
    return [f"No judge was asked: {', '.join(rests)} rests on what a phrase finds."] * bool(rests)


def _pick_rows(results: Sequence[Result], profile: str, every: bool) -> _Rows:
    """Pick what runs are compared by: their headlines or, below those of each config, all metrics."""
    tables = [_select(one.scores, profile) for one in results]
    by_phrase = [find_by_phrase(one.scores) for one in results]
    judged = {place for table, rests in zip(tables, by_phrase, strict=True) for place, _ in table if place not in rests}
    tables = [  # what a phrase finds stands beside nothing that a judge found
        {at: row for at, row in table.items() if at[0] not in rests or at[0] not in judged}
        for table, rests in zip(tables, by_phrase, strict=True)
    ]
    heads = pick_places(results, profile)
    places = dict.fromkeys((place, ALL) for place in heads)
    if every:
        places |= dict.fromkeys(place for table in tables for place in table)
        configs = list(dict.fromkeys(place[0] for place, _ in places))
        places = dict.fromkeys(sorted(places, key=lambda one: configs.index(one[0][0])))
    known = dict.fromkeys([*places, *(at for table in tables for at in table)])
    found = {at: [row for table in tables if (row := table.get(at))] for at in known}
    lacking = {at: rows for at, rows in found.items() if all(not row.ran for row in rows)}
    there = [at for at in places if at not in lacking]
    return _Rows(heads, tables, there, [row for rows in lacking.values() for row in rows])


def _select(scores: Sequence[Score], profile: str) -> dict[tuple[Place, str], Score]:
    """Select the rows over all items and the means over groups, by their places."""
    rows = [row for row in scores if row.slice == ALL or row.slice.startswith("macro:")]
    return {(row.place, row.slice): row for row in rows if row.profile == profile}


def _tell_lacking(found: _Rows) -> list[Note]:
    """Say which metrics ran in no run."""
    whole = [row for row in found.lacking if row.slice == ALL]
    return [*check_lacking(whole)]


def _lay_out(runs: Runs, found: _Rows) -> Grid:
    """Lay out the values of runs side by side."""
    columns = name_columns([name for name, _ in runs])
    lines: list[Line] = []
    last = None
    for place, part in found.places:
        cells = [value_cell(table.get((place, part))) for table in found.tables]
        if part != ALL or place not in found.heads:
            cells = [replace(cell, figure=None) for cell in cells]
        over = part.replace("macro:", ", macro over ") if part != ALL else ""
        lines.append(Line(f"{label_place(place)}{over}", cells, rule=last not in (None, place[0])))
        last = place[0]
    return Grid("Comparison", CORNER, list(columns), lines, [], "runs", names=columns)


def _pair_others(
    first: Result, second: Result, others: Sequence[tuple[Place, str]], profile: str
) -> dict[tuple[Place, str], Pair | None]:
    """Pair what is no headline: metrics are adjusted together, and apart from them means over groups."""
    found: dict[tuple[Place, str], Pair | None] = {}
    for macro in (False, True):
        some = [(place, part) for place, part in others if (part != ALL) == macro]
        pairs = [pair_results(first, second, place, profile, part.partition(":")[2] or None) for place, part in some]
        by_place = dict(zip(some, pairs, strict=True))
        found |= adjust(by_place, lambda at: shape_of(first, second, at[0], profile, at[1]))[0]
    return found


def difference_cells(place: Place, pair: Pair | None) -> list[Cell]:
    """Make the cells of a difference: it, its interval, over how many questions, p and verdict."""
    if pair is None:
        return [Cell(NOTHING)] * 5
    difference, verdict = verdict_cells(place, pair)
    p = verdict.sub.removeprefix("Holm ").removeprefix("p ") or NOTHING
    return [
        Cell(difference.text, figure=difference.figure),
        *map(Cell, (difference.sub or NOTHING, str(pair.n), p, verdict.text)),
    ]


def _head_differences(pairs: Sequence[Pair | None]) -> list[str]:
    """Return the heads of such cells; p is named after Holm's rule where that raises one."""
    raised = any(pair and pair.p_holm is not None and pair.p_holm > pair.p for pair in pairs)
    return ["difference", "its interval", "n", "p (Holm)" if raised else "p", "verdict"]


def _tabulate_differences(runs: Runs, profile: str, notes: list[str]) -> Grid:
    """Tabulate the paired differences of all runs from the first by every metric."""
    base, *names = name_columns([name for name, _ in runs])
    lines: list[Line] = []
    pairs: list[Pair | None] = []
    for place, (_, *sides) in find_sides([result for _, result in runs], profile, every=True).items():
        label = label_place(place)
        for name, side in zip(names, sides, strict=True):
            if side.pair:
                lines.append(Line(label, [Cell(name), *difference_cells(place, side.pair)]))
                pairs.append(side.pair)
                label = ""
    return Grid(f"Differences from {base}", CORNER, ["", *_head_differences(pairs)], lines, notes, "forest")


def _line_up(runs: Runs, profile: str) -> list[Grid]:
    """Make the table of the headline that tells runs apart, the best first, and one of the others' values."""
    columns = name_columns([name for name, _ in runs])
    found = find_sides([result for _, result in runs], profile)
    found = {place: sides for place, sides in found.items() if any(side.row for side in sides)}
    lead = find_told(found)
    order = _rank(lead, found[lead])
    lines = []
    for at in order:
        side = found[lead][at]
        cells = [side.shown, *(Cell(one.text) for one in difference_cells(lead, side.pair))]
        if side.row is None or side.row.value is None:
            cells[-1] = Cell(INVALID if side.shown.text == INVALID else "not compared")
        lines.append(Line(columns[at], cells))
    title = f"Differences from {columns[0]}, {lead[0]} {lead[1]} {show_key(*lead[2:])}"
    heads = ["value", *_head_differences([side.pair for side in found[lead]])]
    first = Grid(title, "run", heads, lines, [], names=columns)
    rest = {place: sides for place, sides in found.items() if place != lead}
    if not rest:
        return [first]
    labels = name_places(rest)
    marked = f"Marked ↑: better than {columns[0]}, ↓: worse."
    values = [Line(columns[at], [_mark_decided(place, sides[at]) for place, sides in rest.items()]) for at in order]
    return [first, Grid("Other metrics", "run", list(labels.values()), values, [marked])]


def _mark_decided(place: Place, side: Side) -> Cell:
    verdict = find_verdict(place, side.pair) if side.pair else ""
    return Cell(side.shown.text + _DECIDED.get(verdict, ""))


def _rank(place: Place, sides: Sequence[Side]) -> list[int]:
    """Rank runs by their values, the best first."""
    sign = 1 if is_lower(place) else -1
    values = [side.row.value if side.row else None for side in sides]
    return sorted(range(len(sides)), key=lambda at: (values[at] is None, sign * (values[at] or 0)))


def find_told(found: Mapping[Place, Sequence[Side]]) -> Place:
    """Find the metric that tells runs apart: the first with a better end that some run differs by, or else is compared.

    Args:
        found: by place what the runs came to.
    """

    def rank(place: Place) -> int:
        verdicts = {find_verdict(place, side.pair) for side in found[place] if side.pair}
        return 0 if verdicts - {EQUAL, TOO_FEW, ""} else 1 if verdicts - {""} else 2

    return min(found, key=rank)


def find_sides(results: Sequence[Result], profile: str, every: bool = False) -> dict[Place, list[Side]]:
    """Find what each run came to by each headline, of several splits over all of them first; or by `every` metric."""
    first, *others = results
    heads = pick_places(results, profile)
    rest = [place for place in list_places(results, profile) if place not in heads] if every else []
    pairs: list[dict[Place, Compared]] = [{} for _ in others]  # of each of the others, those over all splits first
    for places in (heads, rest):
        compared = compare_each(first, others, places, profile)
        pooled = pool_each(first, others, places, compared, profile)
        for own, whole, here in zip(pairs, pooled, compared, strict=True):
            own |= {place: one.compared for place, one in whole.items()} | here
    found: dict[Place, list[Side]] = {}
    rows = [_index(result, profile, every) for result in results]
    overall = dict.fromkeys(place for own in pairs for place, one in own.items() if one.splits)
    # Over all splits a first run without a value hides no other's.
    overall |= dict.fromkeys(
        place for one in rows for place in one if is_whole(place[1]) and _is_lost(first, place, profile)
    )
    for place in [*overall, *heads, *rest]:
        found[place] = []
        for result, row, own in zip(results, (one.get(place) for one in rows), ({}, *pairs), strict=True):
            cell = replace(value_cell(row), sub="")
            if place in overall:
                cell = mark_cell(cell, row) if row else Cell(INVALID if _is_lost(result, place, profile) else NOTHING)
            if metric_record(place[2]).key(place[3]).range != (0, 1):
                cell = replace(cell, figure=None)  # a notebook draws it as a bar to 100
            found[place].append(Side(row, cell, own[place].pair if row and place in own else None))
    return found


def _index(result: Result, profile: str, every: bool) -> dict[Place, Score]:
    """Return the rows of a run by their places, over all splits too, of the headlines or of `every` metric."""
    rows = [row for row in select_whole(result.scores) if row.profile == profile]
    pooled = pool_rows(result, rows if every else pick_headlines(result.scores, profile), profile)
    return {row.place: row for row in (*reversed(rows), *pooled)}


def _is_lost(result: Result, place: Place, profile: str) -> bool:
    """Whether a run has no value by a metric, of a split or over all of them, since too many of its items failed."""
    rows = [row for row in select_whole(result.scores) if row.profile == profile and row.status is Status.INVALID]
    at = {row.place for row in rows}
    return place in at or (is_whole(place[1]) and any((one[0], *one[2:]) == (place[0], *place[2:]) for one in at))


def tabulate_changes(runs: Runs, profile: str = "official", labels: str = "en") -> list[Grid]:
    """Make the matrices of two runs' differences, second minus first; [] where their benchmark has none."""
    before, after = (
        {grid.title.rpartition(", ")[2]: grid for grid in tabulate_matrices(one, profile, labels, every=True)}
        for _, one in runs
    )
    difference = name_difference(name_columns([name for name, _ in runs]))
    return [_subtract(f"{difference}, {name}", grid, after[name]) for name, grid in before.items() if name in after]


def _subtract(title: str, before: Grid, after: Grid) -> Grid:
    there = {
        (line.label, head): cell for line in after.lines for head, cell in zip(after.columns, line.cells, strict=True)
    }
    lines = []
    for line in before.lines:
        if line.label.strip() != "n":
            pairs = zip(before.columns, line.cells, strict=True)
            cells = [_change(cell, there.get((line.label, head))) for head, cell in pairs]
            lines.append(Line(line.label, cells, line.kind, line.rule))
    notes = ["Each run over the questions that it has a value of; the difference in points of percent."]
    return Grid(title, before.corner, before.columns, lines, notes + before.notes[1:], "change")


def _change(cell: Cell, other: Cell | None) -> Cell:
    one, two = cell.figure, other and other.figure
    if not one or not two:
        return Cell(NOTHING if cell.text else "")
    value = two.value - one.value
    n = min(one.n or 0, two.n or 0)
    return Cell(write_number(value, 1, "+"), "" if one.n == two.n else f"n {one.n}, {two.n}", Figure(value, None, n))
