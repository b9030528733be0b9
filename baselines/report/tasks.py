"""One summary of one system's runs of several tasks, as of the logs of a harness; what is said of all is said once."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from quadrag.hub.record import hub_record

from ..certify.notes import note_judges
from ..core.result import Result
from ..core.settings import NONE
from ..tables.folded import fold_names, fold_notes
from ..tables.grid import Alarm, Cell, Grid, Line
from .run import name_run
from .summary import MORE, show_run, summarise_run

_HERE = "\1"  # stands where a note names the place of its task
_LONG = 80  # characters of the names of tasks, of which more are counted
_NAMES = re.compile(r"[\w@]+")
Text = TypeVar("Text", bound=str)


def show_tasks(
    results: Sequence[Result], profiles: Sequence[str], labels: str = "en", verbose: bool = False
) -> list[Grid]:
    """Make what a terminal shows of one system's runs of several tasks; arguments as of `tabulate_run`."""
    if verbose or len(results) == 1:
        return [grid for result in results for grid in show_run(result, profiles, labels, verbose)]
    grid = summarise_tasks(results, profiles[0])
    grid.notes.append(MORE)
    return [grid]


def summarise_tasks(results: Sequence[Result], profile: str) -> Grid:
    """Make one summary of one system's runs of several tasks; a note that is not of all says of which it is."""
    configs = [result.run.inputs.config for result in results]
    known = hub_record(results[0].run.inputs.benchmark).rows
    tasks = [
        f"{config} {' '.join(splits)}" if configs.count(config) > 1 or _is_another(splits, [*known[config]]) else config
        for config, splits in zip(configs, (result.run.inputs.splits for result in results), strict=True)
    ]
    grids = [summarise_run(result, profile) for result in results]
    columns = max((grid.columns for grid in grids), key=len)
    lines: list[Line] = []
    long = False
    for task, grid in zip(tasks, grids, strict=True):
        apart = bool(lines) and (long or len(grid.lines) > 1)  # tasks of one line each stand together
        long = len(grid.lines) > 1
        for place, line in enumerate(grid.lines):
            cells = [*line.cells, *[Cell("")] * (len(columns) - len(line.cells))]
            lines.append(replace(line, label=f"{task}: {line.label}", cells=cells, rule=apart and place == 0))
    run = results[0].run
    places = [" ".join((result.run.inputs.config, *result.run.inputs.splits)) for result in results]
    for result, grid in zip(results, grids, strict=True):
        of_judges = note_judges([result], profile)
        grid.notes = [note for note in grid.notes if note not in of_judges]
    notes = _note_tasks(dict(zip(tasks, grids, strict=True)), places) + note_judges(results, profile)
    named = dict.fromkeys(name_run(result.run) for result in results)
    if len(named) > 1:
        without = [task for task, result in zip(tasks, results, strict=True) if result.run.inputs.retriever == NONE]
        notes.insert(0, f"{fold_names(without, tasks)}: no documents.")
    return Grid(f"{run.inputs.benchmark}, {min(named, key=len)}", "task: metric", columns, lines, notes)


def _is_another(splits: Sequence[str], known: Sequence[str]) -> bool:
    """Whether splits are neither all of a config nor its first, which its name alone stands for."""
    return len(splits) < len(known) and splits[:1] != known[:1]


def _note_tasks(grids: Mapping[str, Grid], places: Sequence[str]) -> list[str]:
    """List what the summaries of tasks say, once each: what is of all of them, then what is of some.

    Where a note names the place of its task, as what is invalid does, those that it is of stand there, else before it.
    """
    tasks = [*grids]
    said = [
        (task, type(note)(f" {note}".replace(f" {place}: ", f" {_HERE}: ")[1:]))
        for (task, grid), place in zip(grids.items(), places, strict=True)
        for note in grid.notes
    ]
    told: list[str] = []
    for note, of in sorted(fold_notes(said, numbers=True), key=lambda one: one[1] != tasks):
        if not of:  # it names them
            told.append(type(note)(note.replace(f"{_HERE}: ", "")))
            continue
        names = places[tasks.index(of[0])] if len(of) == 1 else fold_names(of, tasks)
        if len(names) > _LONG:  # --verbose names all
            names = f"{len(of)} of {len(tasks)} tasks, as {places[tasks.index(of[0])]}"
        keys, others = ({line.label for task in some for line in grids[task].lines} for some in (of, {*tasks} - {*of}))
        if _HERE in note:
            told.append(type(note)(note.replace(_HERE, names)))
        elif of == tasks:
            told.append(_name_each(note))
        elif (keys - others).isdisjoint(_NAMES.findall(note)):  # else it tells by itself which tasks it is of
            told.append(type(note)(f"{fold_names(of, tasks)}: {note}"))
        else:
            told.append(note)
    return told


def _name_each(note: Text) -> Text:
    """Put before a count that all tasks have alike that it is of each."""
    counts = isinstance(note, Alarm) and any(map(str.isdigit, note))
    return type(note)(f"Each task: {note}") if counts else note
