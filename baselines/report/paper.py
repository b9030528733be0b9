"""The tables of a paper, in its layout, with our rows beside its: of a campaign's runs, and of a sweep's."""

from collections.abc import Sequence
from dataclasses import replace

from ..certify.notes import note_judges
from ..core.result import PROFILES, Result
from ..tables.grid import Grid
from ..tables.paper import load_tables
from ..tables.replicas import head_replaced, mark_rows, note_replicas
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
        made = [
            mark_rows(replace(grid, title=head + grid.title), group, profiles[0]) for grid in tabulate(group, profiles)
        ]
        made[0].notes += note_replicas(group, profiles[0])
        made[-1].notes += note_judges(group, profiles[0])
        grids += made
    return grids + [grid for one in results for grid in tabulate_samples(one, profiles[0], title_of(one))]
