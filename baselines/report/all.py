"""All tables of runs, as a page has them: of one run, of one campaign or several benchmarks, of runs compared."""

from collections.abc import Sequence

from ..results.run import PROFILES, Result
from ..runs.finished import refuse_repeated_tasks
from ..tables.grid import Grid, Verdict
from .compared.comparison import refuse_apart, tabulate_several
from .compared.merged import merge_runs
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
        return compare_all(runs, profiles[0], labels=labels)
    if len(results) == 1:
        return tabulate_run(results[0], profiles, labels, every=True)
    grids = []
    for benchmark in dict.fromkeys(result.run.benchmark for result in results):
        ours = [result for result in results if result.run.benchmark == benchmark]
        grids += show_paper(benchmark, ours, profiles, labels, verbose)
    return grids


def compare_all(
    runs: Sequence[tuple[str, Sequence[Result]]], profile: str, every: bool = True, labels: str = "en"
) -> list[Grid]:
    """Make the tables of runs beside each other; where all are of the same several benchmarks, of one after the other.

    Arguments and errors as of `tabulate_several` and `merge_all`.
    """
    held = [dict.fromkeys(result.run.benchmark for result in parts) for _, parts in runs]
    if len(held[0]) == 1 or any(one.keys() != held[0].keys() for one in held):
        return tabulate_several(merge_all(runs), profile, every, labels)
    grids = []
    for benchmark in held[0]:
        of = [(name, [one for one in parts if one.run.benchmark == benchmark]) for name, parts in runs]
        made = tabulate_several(merge_all(of), profile, every, labels)
        made[0].notes.insert(0, head_benchmark(benchmark))
        grids += made
    return grids


def head_benchmark(benchmark: str) -> Verdict:
    """Return what stands above the tables of one of several benchmarks."""
    return Verdict(f"== {benchmark}")


def merge_all(runs: Sequence[tuple[str, Sequence[Result]]]) -> list[tuple[str, Result]]:
    """Make one result of each of several runs, to be compared.

    Raises:
        QuadragError: they are of several benchmarks, no two share a split, or one holds a task twice.
    """
    refuse_apart(runs)
    for name, parts in runs:
        refuse_repeated_tasks(name, parts)
    return [(name, merge_runs(parts)) for name, parts in runs]
