"""One summary of one system's runs of several tasks, as of the logs of a harness; what is said of all is said once."""

from collections.abc import Sequence
from dataclasses import replace

from quadrag.hub.record import hub_record

from ..judges.notes import note_judges
from ..results.note import Note, group_notes
from ..results.run import Result
from ..tables.grid import Cell, Grid, Line
from .run import name_run
from .summary import MORE, show_run, summarise_run


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
    configs = [result.run.config for result in results]
    known = hub_record(results[0].run.benchmark).rows
    tasks = []
    for config, splits in zip(configs, (result.run.splits for result in results), strict=True):
        # A config's name alone stands for all its splits, or for the first.
        another = len(splits) < len(known[config]) and splits[:1] != [*known[config]][:1]
        tasks.append(f"{config} {' '.join(splits)}" if configs.count(config) > 1 or another else config)
    grids = [summarise_run(result, profile) for result in results]
    columns = max((grid.columns for grid in grids), key=len)
    lines: list[Line] = []
    told: list[tuple[str, Note]] = []
    for task, result, grid in zip(tasks, results, grids, strict=True):
        for line in grid.lines:
            cells = [*line.cells, *[Cell("")] * (len(columns) - len(line.cells))]
            lines.append(replace(line, label=f"{task}: {line.label}", cells=cells))
        of_judges = note_judges([result], profile)
        told += [(task, note) for note in grid.notes if isinstance(note, Note) and note not in of_judges]
    notes = group_notes(told, tasks)
    run = results[0].run
    names = [name_run(result.run) for result in results]
    title = f"{run.benchmark}, {min(names, key=len)}"
    return Grid(title, "task: metric", columns, lines, [*notes, *note_judges(results, profile)])
