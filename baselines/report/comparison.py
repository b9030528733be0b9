"""Runs compared metric by metric; of two, with the paired difference: the one number that is computed here."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from quadrag.metric_record import metric_record, show_key
from quadrag.records import Key
from quadrag.stats import Pair, paired_difference

from ..core.benchmark import load
from ..core.result import Result
from ..core.settings import NONE
from ..scoring.rows import items_of
from ..tables.cells import NOTHING, Row, difference_cell, value_cell
from ..tables.grid import Alarm, Cell, Detail, Grid, Line
from ..tables.notes import INTERVALS, list_settings, name_units, note_partial, note_runs
from ..tables.slices import select_whole
from .run import name_run
from .summary import pick_headlines

Place = tuple[str, str, str, str]  # config, split, metric, key
_FEW, _WIDE = 3, 16  # runs whose columns are headed by their names, and characters of a name


def merge_runs(results: Sequence[Result]) -> Result:
    """Put the runs of one campaign together; where a config ran several times, splits say how they were answered."""
    ran = Counter(result.run.inputs.config for result in results)

    def name_splits(result: Result, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        inputs = result.run.inputs
        if ran[inputs.config] == 1 or inputs.retriever == load(inputs.benchmark).default_retriever:
            return list(rows)
        how = "no documents" if inputs.retriever == NONE else inputs.retriever
        return [row | {"split": f"{row['split']} ({how})"} for row in rows]

    return Result(
        results[0].run,
        [row for result in results for row in name_splits(result, result.scores)],
        [row for result in results for row in name_splits(result, result.items)],
        stopped="; ".join(result.stopped for result in results if result.stopped) or None,
        certificates=results[0].certificates,
    )


def compare_runs(runs: Sequence[tuple[str, Result]], profile: str = "official", every: bool = True) -> Grid:
    """Compare named runs; of two over the same questions, the paired difference with its interval stands beside.

    Args:
        runs: name and result of each.
        profile: the one shown.
        every: all metrics and settings; else the headlines, and the settings that differ.
    """
    columns = name_columns(len(runs))
    results = [result for _, result in runs]
    tables = [{_place(row): row for row in select_whole(one.scores) if row["profile"] == profile} for one in results]
    pair = len(runs) == 2
    lines: list[Line] = []
    shared: dict[str, int] = {}
    last = None
    places = [_place(row) for one in results for row in pick_headlines(one.scores, profile)]
    for place in dict.fromkeys(place for table in tables for place in table) if every else dict.fromkeys(places):
        config, split, _, key = place
        cells = [value_cell(table.get(place)) for table in tables]
        if pair:
            cell, n = _difference(results, place, profile)
            cells.append(cell)
            shared[f"{config} {split}"] = max(n, shared.get(f"{config} {split}", 0))
        lines.append(Line(f"{config} {split}: {show_key(place[2], key)}", cells, rule=last not in (None, config)))
        last = config
    notes: list[str] = []
    settings = [list_settings(result.run.inputs) for result in results]
    for column, (name, result), ours in zip(columns, runs, settings, strict=True):
        notes += [Alarm(f"{column}: {note}") for note in note_partial([result])]
        told = [note for note in note_runs([result.run]) if every or not isinstance(note, Detail)]
        own = [part for part in ours if not every and not all(part in theirs for theirs in settings)]
        told += [f"Settings of its own: {'; '.join(own)}."] if own else []
        notes.append(f"{column}: {name}, {name_run(result.run)}; {' '.join(told).removeprefix('Ours ')}")
    units = name_units(row for table in tables for row in table.values())
    notes.append(f"{units}, {profile} profile, {INTERVALS}.")
    heads = [f"{column}\n{_shorten(name)}" for column, (name, _) in zip(columns, runs, strict=True)]
    heads = heads if len(runs) <= _FEW else columns
    if pair:
        heads.append("B - A")
        notes.append(
            "B - A: paired bootstrap on questions scored in both; * excludes zero; – not in both, or other questions."
        )
        counts = ", ".join(f"{place} {n}" for place, n in shared.items())
        notes.append(f"Questions scored in both: {counts}.")
    return Grid("Comparison", "config, split: metric", heads, lines, notes)


def _shorten(name: str) -> str:
    """Return the last part of a run's name, for a column's head."""
    last = name.rstrip("/").rsplit("/", 1)[-1]
    return last if len(last) <= _WIDE else f"…{last[1 - _WIDE :]}"


def name_columns(count: int) -> list[str]:
    """Name the columns of so many runs: by letters, as far as these go."""
    return [chr(ord("A") + rank) if count <= 26 else str(rank) for rank in range(count)]


def pair_results(first: Result, second: Result, place: Place, profile: str = "official") -> Pair | None:
    """Pair two runs on the questions that both have and scored; None where nothing can be paired, or one is invalid.

    They are the same questions where their ids, texts and gold agree; where a folder does not say so, the runs must
    have the same ids.

    Args:
        first: a run.
        second: another one of the same benchmark.
        place: config, split, metric and key.
        profile: ``official`` or ``corrected``.
    """
    if any(_is_invalid(result, place, profile) for result in (first, second)):
        return None
    config, split, metric, key = place
    sides = []
    for result, other in ((first, second), (second, first)):
        rows = [row for row in result.items if (row["config"], row["split"]) == (config, split)]
        items = items_of(rows, f"{metric}.{key}", profile)
        if first.digests and second.digests:
            items = [one for one in items if _same(result.digests, other.digests, one.question)]
        sides.append(items)
    record = metric_record(metric).key(key)
    return paired_difference(*sides, profile=profile, worst=record.worst) if all(sides) else None


def _is_invalid(result: Result, place: Place, profile: str) -> bool:
    """Whether too many items of a metric failed, so that its value is not shown."""
    marked = [row for row in select_whole(result.scores) if "figure" in row and row["profile"] == profile]
    return place in [(row["config"], row["split"], row["metric"], row["key"]) for row in marked]


def _same(here: Mapping[Key, str], there: Mapping[Key, str], question: Any) -> bool:
    return question in there and here.get(question) == there[question]


def _difference(results: Sequence[Result], place: Place, profile: str) -> tuple[Cell, int]:
    """Return the cell of a difference, and on how many questions it is."""
    pair = pair_results(results[0], results[1], place, profile)
    if pair is None:
        return Cell(NOTHING), 0
    return pair_cell(pair, place), pair.n


def pair_cell(pair: Pair, place: Place) -> Cell:
    """Make the cell of a paired difference."""
    return difference_cell(*pair, metric_record(place[2]).key(place[3]).unit)


def _place(row: Row) -> Place:
    return (row["config"], row["split"], row["metric"], row["key"])
