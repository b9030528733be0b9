"""Which files of answers are by one system: the logs of several tasks that a harness ran on one model."""

from collections.abc import Sequence
from pathlib import Path

from quadrag.catalogue import configs

from ..results.run import Result


def gather_systems(scored: Sequence[tuple[Path, Result]]) -> list[tuple[str, list[Result]]]:
    """Put the results of one model's logs in a folder together, in the order of its tasks; of other files each alone.

    Args:
        scored: the files, as they are to be named, with what they came to.

    Returns:
        What each system is called, a model or a file, and its results.
    """
    systems: dict[tuple[Path, str], list[Result]] = {}
    for file, result in scored:
        place = (file.parent, result.run.llm) if result.run.log else (file, str(file))
        systems.setdefault(place, []).append(result)
    models = [model for _, model in systems]
    return [
        (model if models.count(model) == 1 else str(folder), sorted(results, key=_rank))
        for (folder, model), results in systems.items()
    ]


def _rank(result: Result) -> int:
    return list(configs(result.run.benchmark)).index(result.run.config)
