"""The tables of a paper, in its layout, with our rows beside its: of a campaign's runs, and of a sweep's."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..certify.notes import note_judges
from ..core.result import PROFILES, Result
from ..tables.grid import Grid
from ..tables.notes import head_replaced
from ..tables.paper import load_tables
from ..tables.slices import select_whole
from .run import tabulate_run, title_of
from .samples import tabulate_samples


def tabulate_paper(benchmark: str, results: Sequence[Result], profiles: Sequence[str] = PROFILES) -> list[Grid]:
    """Make the tables of a benchmark's paper; without any of its own, a plain table of each run.

    Runs of a recipe some of whose settings were replaced have tables of their own, headed so.

    Raises:
        QuadragError: the runs cannot stand in one table.
    """
    results = [replace(result, scores=select_whole(result.scores)) for result in results]
    tabulate = load_tables(benchmark).tabulate
    if tabulate is None:
        return [grid for result in results for grid in tabulate_run(result, profiles)]
    grids = []
    for head in dict.fromkeys(head_replaced(result.run) for result in results):
        group = [result for result in results if head_replaced(result.run) == head]
        grids += [_mark_rows(replace(grid, title=head + grid.title), group) for grid in tabulate(group, profiles)]
        grids[-1].notes += note_judges(group, profiles[0])
    return grids + [grid for one in results for grid in tabulate_samples(one, profiles[0], title_of(one))]


def _mark_rows(grid: Grid, results: Sequence[Result]) -> Grid:
    """Mark the printed rows that recipes replicate, where it is not all of them."""
    runs = [result.run for result in results]
    rows = [run.row for run in runs if run.row and not run.replaced and "changed" not in run.row]
    printed = [line for line in grid.lines if line.kind == "published"]
    marked = [line for line in printed if any(_is_row(line.label.strip(), row) for row in rows)]
    if not marked or len(marked) == len(printed):
        return grid
    lines = [replace(line, label=f"{line.label}<") if line in marked else line for line in grid.lines]
    return replace(grid, lines=lines, notes=[*grid.notes, "<: the published row that the recipe replicates."])


def _is_row(label: str, row: Mapping[str, str]) -> bool:
    """Whether a line is of a recipe's row: it is named by it, or, where a row has a language, the recipe is by it."""
    named, words = row.get("row", "").split(), re.split("[, ]+", label)
    return bool(named) and (row["recipe"].endswith(f"-{'-'.join(words)}") or set(named) <= set(words))
