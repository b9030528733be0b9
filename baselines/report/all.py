"""All tables of runs, as a page has them: of one run, of one campaign or several benchmarks, of runs compared."""

from collections.abc import Sequence

from ..results.run import PROFILES, Result
from ..runs.finished import refuse_repeated_tasks
from ..tables.grid import Grid, Verdict
from .comparison import refuse_apart, tabulate_comparison
from .merged import merge_runs
from .paper import show_paper
from .run import tabulate_run


def tabulate_all(
    runs: Sequence[tuple[str, Sequence[Result]]],
    profiles: Sequence[str] = PROFILES,
    labels: str = "en",
    verbose: bool = False,
) -> list[Grid]:
    """Make the tables of runs.

    Args:
        runs: name of each, and what it came to; several are compared with the first.
        profiles: those shown; of runs compared, the first.
        labels: of a matrix, ``en`` or ``zh``.
        verbose: of a campaign, the scores of every run below the paper's tables.

    Raises:
        QuadragError: the runs cannot be compared.
    """
    results = [result for _, parts in runs for result in parts]
    if len(runs) > 1:
        return compare_all(runs, profiles[0])
    if len(results) == 1:
        return tabulate_run(results[0], profiles, labels, every=True)
    grids = []
    for benchmark in dict.fromkeys(result.run.benchmark for result in results):
        ours = [result for result in results if result.run.benchmark == benchmark]
        grids += show_paper(benchmark, ours, profiles, labels, verbose)
    return grids


def compare_all(runs: Sequence[tuple[str, Sequence[Result]]], profile: str, every: bool = True) -> list[Grid]:
    """Make the table of runs beside each other, of each benchmark one; errors as of `merge_all`."""
    groups = merge_all(runs)
    grids = [tabulate_comparison(merged, profile, every) for merged in groups]
    for grid, ((_, first), *_) in zip(grids, groups, strict=True):
        grid.notes[:0] = [head_benchmark(first.run.benchmark)] * (len(groups) > 1)
    return grids


def head_benchmark(benchmark: str) -> Verdict:
    """Return what stands above the tables of one of several benchmarks."""
    return Verdict(f"== {benchmark}")


def merge_all(runs: Sequence[tuple[str, Sequence[Result]]]) -> list[list[tuple[str, Result]]]:
    """Make one result of each of several runs, to be compared; where all are of the same benchmarks, of each of these.

    Raises:
        QuadragError: they are of several benchmarks, no two share a split, or one holds a task twice.
    """
    held = [dict.fromkeys(result.run.benchmark for result in parts) for _, parts in runs]
    groups = [list(runs)]
    if all(one.keys() == held[0].keys() for one in held):
        groups = [
            [(name, [one for one in parts if one.run.benchmark == benchmark]) for name, parts in runs]
            for benchmark in held[0]
        ]
    for group in groups:
        refuse_apart(group)
        for name, parts in group:
            refuse_repeated_tasks(name, parts)
    return [[(name, merge_runs(parts)) for name, parts in group] for group in groups]
