"""Which files of answers are by one system: the logs of several tasks that a harness ran on one model."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from quadrag.catalogue import configs

from ..core.result import Result
from ..runs.files.logs import Maker, find_maker

Scored = Sequence[tuple[Path, Result]]
Systems = list[tuple[str, list[Result]]]
_Logs = list[tuple[Maker, Result]]


def gather_systems(scored: Scored) -> Systems:
    """Put the results of one model's logs together, in the order of its benchmark's tasks; of other files each alone.

    A model that was asked a task again is several systems, each named by the times of its logs too: the next begins
    with the first log of a task that the one before it has, and logs of one time stay together.

    Args:
        scored: the files with what they came to.

    Returns:
        What each system is called, a model or a file, and its results.
    """
    found: Systems = []
    logs: dict[str, _Logs] = {}
    for file, result in scored:
        if maker := find_maker(file):
            logs.setdefault(maker.model, []).append((maker, result))
        else:
            found.append((str(file), [result]))
    for model, made in logs.items():
        parts = _part_by_time(made)
        for part in parts:
            name = _name_by_time(part) if len(parts) > 1 else model
            found.append((name, sorted((result for _, result in part), key=_rank)))
    return found


def _part_by_time(made: _Logs) -> list[_Logs]:
    """Part a model's logs, the earliest first, where a task is asked again."""
    parts: list[_Logs] = []
    seen: set[tuple[str, ...]] = set()
    for _, group in groupby(sorted(made, key=lambda one: one[0].time), key=lambda one: one[0].time):
        together = list(group)
        places = {(result.run.config, *result.run.splits) for _, result in together}
        if not parts or places & seen:
            parts.append([])
            seen = set()
        parts[-1] += together
        seen |= places
    return parts


def _name_by_time(made: _Logs) -> str:
    """Name a model by the times of its logs too: 2026-01-31T11-58-24.198733, 2026-01-31T11:58:24+00:00 as 11:58:24."""
    times = [maker.time for maker, _ in made]
    ends = dict.fromkeys(one[11:19].replace("-", ":") for one in (min(times), max(times)))
    return f"{made[0][0].model} {'–'.join(ends)}"


def _rank(result: Result) -> int:
    inputs = result.run
    return list(configs(inputs.benchmark)).index(inputs.config)
