"""Runs compared metric by metric: of two with the difference of each and its verdict, of more side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from quadrag.metric_record import show_key
from quadrag.stats import Pair

from ...core.result import Result
from ...scoring.rows import ALL
from ...scoring.validity import find_by_phrase, is_alike
from ...tables.cells import ALIKE, Row, value_cell
from ...tables.grid import Cell, Detail, Grid, Line, Verdict
from ...tables.names import keep_name
from ...tables.notes import INTERVALS, TESTS, name_units, note_directions, note_keys, note_not_run
from ...tables.paper import load_tables
from .names import (
    CORNER,
    FEW_RUNS,
    TERMINAL,
    Place,
    head_two,
    label_place,
    name_columns,
    name_difference,
    name_lines,
    name_places,
    tell_apart,
)
from .paired.counts import Changes, count_changes
from .paired.family import adjust
from .paired.overall import pool_splits
from .paired.pairs import compare_each, pair_results, pick_places, place_of, shape_of
from .paired.shared import tell_judges
from .said.errors import tell_errors
from .said.runs import tell_alarms, tell_runs
from .said.slices import tell_slices
from .said.verdict import find_lead, tell_headline, verdict_cells
from .said.words import (
    tell_beside,
    tell_changes,
    tell_elsewhere,
    tell_length,
    tell_missing,
    tell_over,
    tell_rule,
    tell_same,
)

_APART = "Nothing to compare: the two have no metric of a split in common."


class _Rows(NamedTuple):
    """Which metrics runs are compared by, and their rows of scores.

    Attributes:
        heads: the headlines.
        tables: of each run its rows, by place and slice.
        places: those that stand in a table, in its order.
        lacking: the rows of those that ran in no run.
    """

    heads: list[Place]
    tables: list[dict[tuple[Place, str], Row]]
    places: list[tuple[Place, str]]
    lacking: list[Row]


def compare_runs(runs: Sequence[tuple[str, Result]], profile: str = "official", every: bool = True) -> Grid:
    """Compare named runs; of two over the same questions, the paired difference and its verdict stand beside.

    Args:
        runs: name and result of each.
        profile: the one shown.
        every: all metrics and settings; else the headlines, and the settings that differ.
    """
    results = [result for _, result in runs]
    found = _pick_rows(results, profile, every)
    if len(runs) == 2:
        grid = compare_two(runs, profile, every, counted=not every)
        columns = name_columns([name for name, _ in runs])
        grid.notes += tell_slices(results[0], results[1], found.heads, profile, columns[1])
    else:
        grid = _lay_out(runs, found)
    shown = [row for at in found.places for table in found.tables if (row := table.get(at))]
    names = [name for name, _ in runs]
    known = {*name_columns(names), *(name for name in names if f"= {keep_name(name)}" in grid.title)}
    known |= {*tell_apart(names)} if len(names) > 2 and (len(names) <= FEW_RUNS or not every) else set()
    grid.notes += [] if len(runs) == 2 else [_tell_units(found, profile)]
    both = zip(found.tables, (find_by_phrase(one.scores) for one in results), strict=True)
    by_phrase = [{at for at in table if at[0] in places} for table, places in both]
    rests = dict.fromkeys(show_key(*at[0][2:]) for at in found.places if any(at in one for one in by_phrase))
    grid.notes += [f"No judge was asked: {', '.join(rests)} rests on what a phrase finds."] * bool(rests)
    grid.notes += [*tell_runs(runs, every, known), INTERVALS, *note_keys(shown)]
    grid.notes += _tell_lacking(results[0], found) if len(runs) != 2 else []
    grid.notes += [Detail(TESTS)] * (len(runs) == 2)
    return grid


def compare_two(
    runs: Sequence[tuple[str, Result]],
    profile: str = "official",
    every: bool = False,
    room: int = TERMINAL,
    counted: bool = False,
) -> Grid:
    """Compare two named runs: a line that says which is better, the differences, what these cannot say.

    Arguments as of `compare_runs`; `room` as of `head_two`. Where `counted`, under each value stands on how many
    questions its run is better, in place of the value's own interval; else a note says it.
    """
    names = [name for name, _ in runs]
    columns = name_columns(names)
    first, second = (result for _, result in runs)
    found = _pick_rows([first, second], profile, every)
    (compared,) = compare_each(first, [second], found.heads, profile)
    pooled = pool_splits(first, second, found.heads, compared, profile)
    overall = {place: one.compared for place, one in pooled.items()}
    others = [(place, part) for place, part in found.places if part != ALL or place not in found.heads]
    labels = name_places([*overall, *found.heads])
    rest = _pair_others(first, second, others, profile)
    changes = {place: counts for place in found.heads if (counts := count_changes(first, second, place, profile))}
    gains = {(place, ALL): counts for place, counts in changes.items()}
    lines = []
    for place, one in pooled.items():
        values = _put_under([Cell(value) for value in one.show(place)], one.changes if counted else None)
        lines.append(Line(label_place(place), [*values, *verdict_cells(place, one.compared.pair)]))
    for line, at in zip((laid := _lay_out(runs, found)).lines, found.places, strict=True):
        drawn = at not in rest
        pair = compared[at[0]].pair if drawn and at[0] in compared else rest.get(at)
        values = _put_under(line.cells, gains.get(at)) if counted else line.cells
        cells = [*values, *verdict_cells(at[0], pair)]
        difference = len(line.cells)
        if pair and any(map(is_alike, filter(None, (table.get(at) for table in found.tables)))):
            cells[difference] = replace(cells[difference], text=cells[difference].text + ALIKE, figure=None)
        lines.append(
            replace(
                line,
                cells=[
                    replace(one, figure=one.figure if drawn and n == difference else None)
                    for n, one in enumerate(cells)
                ],
            )
        )
    # What is over all splits of a config stands before these, under one heading.
    places = [*pooled, *(place for place, _ in found.places)]
    configs = list(dict.fromkeys(place[0] for place in places))
    order = sorted(range(len(lines)), key=lambda at: configs.index(places[at][0]))
    lines = [lines[at] for at in order]
    shown = [place[2:] for place, _ in found.places]
    missing = tell_missing(first, second, found.heads, compared, profile, columns)
    common = [place for place in found.heads if all((place, ALL) in table for table in found.tables)]
    hidden = missing[:1] if common and found.heads[0] not in compared else []  # of the metric that tells most
    ahead = [one for one in missing if one in hidden or "INVALID" in one]  # which a verdict on others must not hide
    headline = tell_headline(overall | compared, profile, columns, labels) if common else [_APART]
    elsewhere = [] if every else tell_elsewhere(first, second, found.heads, overall | compared, profile)
    lead = find_lead(overall | compared)
    if lead and any(is_alike(table[lead, ALL]) for table in found.tables if (lead, ALL) in table):
        headline[0] += f" But the verdicts behind it are in doubt ({ALIKE})."
    notes: list[str] = [*map(Verdict, [*ahead, *headline, *elsewhere])]
    notes += [
        *tell_judges(first, second),
        *tell_errors(first, second, {place: one.pair for place, one in compared.items()}, profile),
    ]
    notes += tell_length(first, second, overall | compared)
    notes += tell_alarms(zip(columns, (first, second), strict=True))
    notes += [*tell_same(first, second), *tell_beside(overall | compared, profile, columns, labels)]
    notes += tell_over(compared.values())
    notes += [one for one in missing if one not in ahead]
    rule = tell_rule([*overall.values(), *compared.values()], any(rest.values()))
    rounded = ["Differences are taken before rounding."] * any(map(_is_rounded, lines))
    notes += [" ".join([_tell_units(found, profile), *rule, *rounded])]
    notes += [*note_directions(shown), *_tell_shared({place: one.pair for place, one in compared.items()})]
    if not every:  # over all splits, where that is known
        changes = {at: one.changes for at, one in pooled.items()} | {
            at: one for at, one in changes.items() if (at[0], *at[2:]) not in {(up[0], *up[2:]) for up in pooled}
        }
    notes += [] if counted else tell_changes(changes, columns)
    notes += _tell_lacking(first, found)
    heads, legend = head_two(names, labels.values(), room)
    title = f"Comparison: {name_difference(columns)}{legend}"
    return Grid(title, CORNER, [*heads, "difference", "verdict"], lines, notes, "forest", names=laid.names)


def _is_rounded(line: Line) -> bool:
    """Whether a difference is another one than that of the values beside it as they are written."""
    try:
        first, second, difference = (float(cell.text) for cell in line.cells[:3])
    except ValueError:  # one has no value, or a mark
        return False
    return 0.05 < abs(second - first - difference) < 0.15  # beyond it is over other questions


def _put_under(cells: Sequence[Cell], counts: Changes | None) -> list[Cell]:
    """Put under the values of two runs on how many questions each is better, or nothing."""
    subs = [f"{n} better" for n in (counts.worse, counts.better)] if counts else ["", ""]
    return [replace(cell, sub=sub) for cell, sub in zip(cells, subs, strict=True)]


def _tell_units(found: _Rows, profile: str) -> str:
    rows = [row for at in found.places for table in found.tables if (row := table.get(at))]
    return f"{name_units(rows)}, {profile} profile."


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
    lacking = {at: rows for at, rows in found.items() if all("not_run" in row for row in rows)}
    there = [at for at in places if at not in lacking]
    return _Rows(heads, tables, there, [row for rows in lacking.values() for row in rows])


def _tell_lacking(first: Result, found: _Rows) -> list[str]:
    """Say which metrics ran in no run."""
    whole = [row for row in found.lacking if row.get("slice", ALL) == ALL]
    return note_not_run(load_tables(first.run.inputs.benchmark), whole)


def _lay_out(runs: Sequence[tuple[str, Result]], found: _Rows) -> Grid:
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
    names = name_lines([name for name, _ in runs])
    heads = [name.replace(" ", "\n", 1) for name in names] if len(runs) <= FEW_RUNS else list(columns)
    notes = tell_alarms(zip(columns, (result for _, result in runs), strict=True))
    return Grid("Comparison", CORNER, heads, lines, [*notes], "runs", names=names)


def _pair_others(
    first: Result, second: Result, others: Sequence[tuple[Place, str]], profile: str
) -> dict[tuple[Place, str], Pair | None]:
    """Pair what is no headline: metrics are adjusted together, and apart from them means over groups."""
    found: dict[tuple[Place, str], Pair | None] = {}
    for macro in (False, True):
        some = [(place, part) for place, part in others if (part != ALL) == macro]
        pairs = [pair_results(first, second, place, profile, part.partition(":")[2] or None) for place, part in some]
        found |= adjust(dict(zip(some, pairs, strict=True)), lambda at: shape_of(first, second, at[0], profile, at[1]))[
            0
        ]
    return found


def _select(scores: Sequence[dict[str, Any]], profile: str) -> dict[tuple[Place, str], Row]:
    """Select the rows over all items and the means over groups, by their places."""
    rows = [row for row in scores if row.get("slice", ALL) == ALL or row["slice"].startswith("macro:")]
    return {(place_of(row), row.get("slice", ALL)): row for row in rows if row["profile"] == profile}


def _tell_shared(pairs: Mapping[Place, Pair]) -> list[str]:
    """Say how many questions runs share, by split where these differ."""
    shared: dict[tuple[str, str], int] = {}
    for place, pair in pairs.items():
        shared[place[:2]] = max(pair.n, shared.get(place[:2], 0))
    if len({*shared.values()}) > 1:
        several = len({config for config, _ in shared}) > 1
        told = (f"{f'{config} ' * several}{split} {n}" for (config, split), n in shared.items())
        return [f"Questions scored in both: {', '.join(told)}."]
    many = " of every split" * (len(shared) > 1)
    return [f"Questions scored in both: {n}{many}." for n in {*shared.values()}]
