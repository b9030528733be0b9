"""All tables of runs, as a page has them: of one run, of one campaign or several benchmarks, of runs compared."""

from collections.abc import Sequence
from pathlib import Path

from quadrag.catalogue import configs
from quadrag.results.run import PROFILES, Run
from quadrag.run.finished import refuse_repeated_tasks

from .comparison import refuse_apart, tabulate_comparison
from .merged import merge_runs
from .paper import show_paper
from .run_tables import tabulate_run
from .table import Table

Runs = Sequence[tuple[str, Sequence[Run]]]  # name of each, and what it came to


def tabulate_all(
    runs: Runs, profiles: Sequence[str] = PROFILES, labels: str = "en", verbose: bool = False
) -> list[Table]:
    """Make the tables of runs; several are compared with the first.

    Args:
        runs: the runs.
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
    for benchmark in dict.fromkeys(result.record.benchmark for result in results):
        ours = [result for result in results if result.record.benchmark == benchmark]
        grids += show_paper(benchmark, ours, profiles, labels, verbose)
    return grids


def compare_all(runs: Runs, profile: str, every: bool = True) -> list[Table]:
    """Make the table of runs beside each other, of each benchmark one; errors as of `merge_all`."""
    return [tabulate_comparison(merged, profile, every) for merged in merge_all(runs)]


def merge_all(runs: Runs) -> list[list[tuple[str, Run]]]:
    """Make one result of each of several runs, to be compared; where all are of the same benchmarks, of each of these.

    Raises:
        QuadragError: they are of several benchmarks, no two share a split, or one holds a task twice.
    """
    held = [dict.fromkeys(result.record.benchmark for result in parts) for _, parts in runs]
    groups = [list(runs)]
    if all(one.keys() == held[0].keys() for one in held):
        groups = [
            [(name, [one for one in parts if one.record.benchmark == benchmark]) for name, parts in runs]
            for benchmark in held[0]
        ]
    for group in groups:
        refuse_apart(group)
        for name, parts in group:
            refuse_repeated_tasks(name, parts)
    return [[(name, merge_runs(parts)) for name, parts in group] for group in groups]


def gather_systems(scored: Sequence[tuple[Path, Run]]) -> list[tuple[str, list[Run]]]:
    """Put the results of one model's logs in a folder together, in the order of its tasks; of other files each alone.

    Args:
        scored: the files, as they are to be named, with what they came to.

    Returns:
        What each system is called, a model or a file, and its results.
    """
    systems: dict[tuple[Path, str], list[Run]] = {}
    for file, result in scored:
        place = (file.parent, result.record.llm) if result.record.log else (file, str(file))
        systems.setdefault(place, []).append(result)
    models = [model for _, model in systems]

    def rank(result: Run) -> int:
        return list(configs(result.record.benchmark)).index(result.record.config)

    return [
        (model if models.count(model) == 1 else str(folder), sorted(results, key=rank))
        for (folder, model), results in systems.items()
    ]
