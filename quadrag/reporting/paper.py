"""The tables of a paper, in its layout, with our rows beside its: of a campaign's runs, and of a sweep's."""

from collections.abc import Sequence
from dataclasses import replace

from quadrag.judges.notes import note_judges
from quadrag.results.note import Note
from quadrag.results.run import PROFILES, Run

from .cells import ALIKE
from .lines import UNDER
from .notes import explain_lines
from .paper_tables import load_tables
from .replicas import head_replaced, mark_replicas, note_replicas
from .run_tables import tabulate_run, tabulate_scores, title_of
from .samples import tabulate_samples
from .table import NOTHING, Cell, Table


def show_paper(
    benchmark: str, results: Sequence[Run], profiles: Sequence[str], labels: str = "en", verbose: bool = False
) -> list[Table]:
    """Make what a terminal shows of several runs: the tables of the paper, or those of every run's scores as well.

    Args:
        benchmark: its name.
        results: of the runs.
        profiles: the first is shown; of two, the second where it differs.
        labels: of a matrix, ``en`` or ``zh``.
        verbose: all metrics and slices too.
    """
    grids = tabulate_paper(benchmark, results, profiles)
    for result in results if verbose else ():
        scores, parts = tabulate_scores(result, profiles, labels)
        grids += [scores, *parts]
    return note_once(grids)


def note_once(grids: Sequence[Table]) -> list[Table]:
    """Return tables each of whose notes stands under the first table alone that has it."""
    noted: list[Note | str] = []
    own = []
    for grid in grids:
        own.append(replace(grid, notes=[note for note in grid.notes if note not in noted]))
        noted += own[-1].notes
    return own


def tabulate_paper(benchmark: str, results: Sequence[Run], profiles: Sequence[str] = PROFILES) -> list[Table]:
    """Make the tables of a benchmark's paper; without any of its own, a plain table of each run.

    Runs of a recipe some of whose settings were replaced have tables of their own, headed so.

    Raises:
        QuadragError: the runs cannot stand in one table.
    """
    tabulate = load_tables(benchmark).tabulate
    if tabulate is None:
        return [grid for result in results for grid in tabulate_run(result, profiles)]
    grids = []
    for head in dict.fromkeys(head_replaced(result.record) for result in results):
        group = [replace(one, scores=one.whole()) for one in results if head_replaced(one.record) == head]
        made = [replace(grid, title=head + grid.title) for grid in tabulate(group, profiles)]
        made = [mark_replicas(_clear_printed(grid), group, profiles[0]) for grid in made]
        rows = [replace(row, of=str(at)) for at, result in enumerate(group) for row in result.scores]
        for grid in made:
            grid.notes += explain_lines(grid.rows, rows)
        made[0].notes.append(UNDER)
        made[0].notes[:0] = note_replicas(group, profiles[0])  # above what is said of its row's mark
        made[-1].notes += note_judges(group, profiles[0])
        grids += made
    return grids + [grid for one in results for grid in tabulate_samples(one, profiles[0], title_of(one))]


def _clear_printed(grid: Table) -> Table:
    """Return a table without printed numbers in columns where all of ours rest on verdicts that say nothing."""
    ours = [line.cells for line in grid.rows if line.kind == "ours" and not line.label.startswith("  ")]
    columns = [[cell.text for cell in column if cell.text not in ("", NOTHING)] for column in zip(*ours, strict=True)]
    marked = [bool(texts) and all(text.endswith(ALIKE) for text in texts) for texts in columns]
    lines = [
        replace(line, cells=[Cell(NOTHING) if bad else cell for cell, bad in zip(line.cells, marked, strict=True)])
        if line.kind == "published"
        else line
        for line in grid.rows
    ]
    return replace(grid, rows=lines) if any(marked) else grid
