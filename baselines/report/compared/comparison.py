"""Runs compared metric by metric; of two, with the paired difference: the one number that is computed here."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quadrag.metric_record import show_key
from quadrag.stats import Pair

from ...core.benchmark import load
from ...core.result import Result
from ...core.settings import NONE
from ...scoring.rows import ALL
from ...scoring.validity import is_invalid
from ...tables.cells import NOTHING, Row, value_cell
from ...tables.grid import Alarm, Cell, Detail, Form, Grid, Line, Verdict
from ...tables.names import keep_name
from ...tables.notes import INTERVALS, TESTS, name_units, note_keys, note_not_run
from ...tables.paper import load_tables
from ...tables.run_notes import list_settings, note_partial, note_runs
from ..run import name_run
from .errors import tell_errors
from .family import adjust
from .names import PLACE, name_columns, name_difference, tell_apart
from .overall import pool_splits
from .pairs import Place, compare_each, pair_cell, pair_results, pick_places, place_of, shape_of
from .shared import tell_judges
from .words import tell_changes, tell_holm, tell_missing, tell_pairs, tell_same, tell_slices, tell_star

_FEW = 3  # runs whose columns are headed by their names
_WIDE = 10  # characters of a column's head


def merge_runs(results: Sequence[Result]) -> Result:
    """Put the runs of one campaign together; where a config ran several times, splits say how they were answered."""
    ran = Counter(result.run.inputs.config for result in results)

    def how(result: Result) -> str:
        inputs = result.run.inputs
        if ran[inputs.config] == 1 or inputs.retriever == load(inputs.benchmark).default_retriever:
            return ""
        return f" ({'no documents' if inputs.retriever == NONE else inputs.retriever})"

    def name_splits(result: Result, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        return [row | {"split": row["split"] + how(result)} for row in rows]

    return Result(
        results[0].run,
        [row for result in results for row in name_splits(result, result.scores)],
        [row for result in results for row in name_splits(result, result.items)],
        stopped="; ".join(result.stopped for result in results if result.stopped) or None,
        asked={
            (config, split + how(result), name): one
            for result in results
            for (config, split, name), one in result.asked.items()
        },
        certificates=results[0].certificates,
        texts={
            ((config, split + how(result), name), sample): text
            for result in results
            for ((config, split, name), sample), text in result.texts.items()
        },
    )


def compare_runs(runs: Sequence[tuple[str, Result]], profile: str = "official", every: bool = True) -> Grid:
    """Compare named runs; of two over the same questions, the paired difference with its interval stands beside.

    Args:
        runs: name and result of each.
        profile: the one shown.
        every: all metrics and settings; else the headlines, and the settings that differ.
    """
    columns = name_columns([name for name, _ in runs])
    results = [result for _, result in runs]
    tables = [_select(one.scores, profile) for one in results]
    pair = len(runs) == 2
    lines: list[Line] = []
    shown: list[Row] = []
    shared: dict[str, int] = {}
    last = None
    places = pick_places(results, profile)
    compared = compare_each(results[0], results[1:], places, profile)[0] if pair else {}
    pooled = pool_splits(results[0], results[1], places, compared, profile) if pair else {}
    for place, one in pooled.items():
        cells = [*map(Cell, one.show(place)), pair_cell(one.compared.pair, place)]
        lines.append(Line(f"{place[0]} {place[1]}: {show_key(*place[2:])}", cells))
    rows_of = dict.fromkeys((place, ALL) for place in places)
    if every:  # below the headlines of each config all others
        rows_of |= dict.fromkeys(place for table in tables for place in table)
        configs = list(dict.fromkeys(place[0] for place, _ in rows_of))
        rows_of = dict.fromkeys(sorted(rows_of, key=lambda one: configs.index(one[0][0])))
    found = {at: [row for table in tables if (row := table.get(at))] for at in rows_of}
    lacking = {at: rows for at, rows in found.items() if all("not_run" in row for row in rows)}
    rows_of = {at: None for at in rows_of if at not in lacking}
    others = [(place, part) for place, part in rows_of if part != ALL or place not in places]
    rest = _pair_others(results[0], results[1], others, profile) if pair else {}
    for place, part in rows_of:
        config, split, metric, key = place
        rows = [table.get((place, part)) for table in tables]
        shown += filter(None, rows)
        cells = [value_cell(row) for row in rows]
        drawn = part == ALL and place in places
        if pair or not drawn:
            cells = [replace(cell, figure=None) for cell in cells]
        if pair:
            paired = compared[place].pair if drawn and place in compared else rest.get((place, part))
            cell = pair_cell(paired, place) if paired else Cell(NOTHING)
            cells.append(cell if drawn else replace(cell, figure=None))
            shared[f"{config} {split}"] = max(paired.n if paired else 0, shared.get(f"{config} {split}", 0))
        over = part.replace("macro:", ", macro over ") if part != ALL else ""
        lines.append(Line(f"{config} {split}: {show_key(metric, key)}{over}", cells, rule=last not in (None, config)))
        last = config
    notes: list[str] = []
    if pair:
        overall = {place: one.compared for place, one in pooled.items()}
        told = [*tell_pairs(overall | compared, profile, columns), *tell_holm(compared.values(), any(rest.values()))]
        notes += [
            *tell_judges(*results),
            *tell_errors(results[0], results[1], compared, profile),
            *tell_same(*results),
            *map(Verdict, told),
        ]
        notes += tell_missing(results[0], results[1], places, compared, profile, columns)
        notes += tell_changes(results[0], results[1], compared, profile, columns)
        notes += tell_slices(results[0], results[1], compared, profile, columns)
    told_of = tell_once(zip(columns, results, strict=True))
    notes += [Alarm(f"{', '.join(where)}: {note}") for note, where in told_of.items()]
    settings = [list_settings(result.run.inputs) for result in results]
    said = [[note for note in note_runs([result.run]) if every or not isinstance(note, Detail)] for result in results]
    of_all = [note for note in said[0] if all(note in theirs for theirs in said)]
    for column, (name, result), ours, mine in zip(columns, runs, settings, said, strict=True):
        told = ["Ours on: the data below."] if mine[0] in of_all else []
        told += [note for note in mine if note not in of_all]
        own = [part for part in ours if not every and not all(part in theirs for theirs in settings)]
        told += [f"Settings of its own: {'; '.join(own)}."] if own else []
        who = ", ".join(dict.fromkeys([keep_name(name), name_run(result.run)]))
        who = who if who == column else f"{column}: {who}"
        notes.append(f"{who}; {' '.join(told).removeprefix('Ours ')}")
    notes += of_all
    notes += [f"{name_units(shown)}, {profile} profile, {INTERVALS}.", *note_keys(shown)]
    not_run = [row for rows in lacking.values() for row in rows if row.get("slice", ALL) == ALL]
    notes += note_not_run(load_tables(results[0].run.inputs.benchmark), not_run)
    own_names = tell_apart([name for name, _ in runs])
    names = [column if column == own else f"{column} {own}" for column, own in zip(columns, own_names, strict=True)]
    heads = [name.replace(" ", "\n", 1) for name in names] if _FEW >= len(runs) > 2 else list(columns)
    if pair:
        difference = name_difference(columns)
        heads.append(difference if len(difference) < _WIDE else difference.replace(" - ", "\n- "))
        star = tell_star(compared.values())
        notes.append(f"{difference}: on questions scored in both; {star}; –: nothing to pair.")
        notes.append(Detail(TESTS))
        if any(shared.values()) or not any(map(is_invalid, shown)):
            notes.append(f"Questions scored in both: {_count_shared(shared)}.")
    form: Form = "forest" if pair else "runs"
    return Grid("Comparison", PLACE, heads, lines, notes, form, names=names)


def tell_once(runs: Iterable[tuple[str, Result]]) -> dict[str, list[str]]:
    """Return what is partial, invalid, failed or odd of named runs, each with the names of those that it is of."""
    found: dict[str, list[str]] = {}
    for name, result in runs:
        for note in note_partial([result]):
            found.setdefault(note, []).append(name)
    return found


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


def _count_shared(shared: Mapping[str, int]) -> str:
    """Say how many questions runs share, by split where these differ."""
    if len(set(shared.values())) > 1:
        return ", ".join(f"{place} {n}" for place, n in shared.items())
    return f"{next(iter(shared.values()), 0) or 'none'}{' of every split' * (len(shared) > 1 and any(shared.values()))}"
