"""Which files of answers are by one system: the logs of several tasks that a harness ran on one model."""

from collections.abc import Sequence
from pathlib import Path

from ..core.result import Result
from ..runs.files.makers import Maker, find_maker
from ..tables.folded import fold_names

Scored = Sequence[tuple[Path, Result]]
Systems = list[tuple[str, list[Result]]]


def gather_systems(scored: Scored) -> Systems:
    """Put the results of one model's logs together, in their order; of any other file they stand alone.

    A model that was asked a task again is several systems: one has the last log of each task, one those before it, and
    so on, the earliest first. Each is named by the time of day of its last log, too.

    Args:
        scored: the files with what they came to.

    Returns:
        What each system is called, a model or a file, and its results.
    """
    again = _find_again(scored)
    found: dict[tuple[str, int], list[tuple[Maker | None, Result]]] = {}
    for file, result in scored:
        maker = find_maker(file)
        times = again.get(maker.model, {}) if maker else {}
        before = sum(time > maker.time for time in times.get(_place(result), [])) if maker else 0
        found.setdefault((maker.model if maker else str(file), before), []).append((maker, result))
    models = [*dict.fromkeys(model for model, _ in found)]
    systems = sorted(found.items(), key=lambda one: (models.index(one[0][0]), -one[0][1]))
    return [
        (_name_by_time(made) if model in again else model, [result for _, result in made])
        for (model, _), made in systems
    ]


def tell_again(scored: Scored) -> list[str]:
    """Say which models were asked a task more than once, and how their logs are shown."""
    told = []
    for model, places in _find_again(scored).items():
        tasks = [" ".join(place) for place in places]
        which = fold_names([task for task, times in zip(tasks, places.values(), strict=True) if len(times) > 1], tasks)
        told.append(f"{model} was asked {which} more than once: its logs stand side by side, named by their time")
    return told


def _find_again(scored: Scored) -> dict[str, dict[tuple[str, ...], list[str]]]:
    """Return by model and task when it was asked, of the models that were asked one again."""
    found: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for file, result in scored:
        if maker := find_maker(file):
            found.setdefault(maker.model, {}).setdefault(_place(result), []).append(maker.time)
    return {model: places for model, places in found.items() if any(len(times) > 1 for times in places.values())}


def _name_by_time(made: Sequence[tuple[Maker | None, Result]]) -> str:
    """Name a model by its last log's time too: 2026-01-31T11-58-24.198733, 2026-01-31T11:58:24+00:00 as 11:58:24."""
    last = max((maker for maker, _ in made if maker), key=lambda maker: maker.time)
    return f"{last.model} {last.time[11:19].replace('-', ':')}"


def _place(result: Result) -> tuple[str, ...]:
    return (result.run.inputs.config, *result.run.inputs.splits)
