"""Which files of answers are by one system: the logs of several tasks that a harness ran on one model."""

from collections.abc import Sequence
from pathlib import Path

from ..core.result import Result
from ..runs.files.makers import Maker, find_maker

Systems = list[tuple[str, list[Result]]]


def gather_systems(scored: Sequence[tuple[Path, Result]]) -> Systems:
    """Put the results of one model's logs together, in their order; of any other file they stand alone.

    A model that was asked a task again is a system for each time of the day, named by it too.

    Args:
        scored: the files with what they came to.

    Returns:
        What each system is called, a model or a file, and its results.
    """
    made = [find_maker(file) for file, _ in scored]
    places = [(made_by.model, *_place(one)) for made_by, (_, one) in zip(made, scored, strict=True) if made_by]
    again = {model for model, *place in places if places.count((model, *place)) > 1}
    found: dict[str, list[Result]] = {}
    for maker, (file, result) in zip(made, scored, strict=True):
        name = str(file) if maker is None else _name_again(maker) if maker.model in again else maker.model
        found.setdefault(name, []).append(result)
    return list(found.items())


def _name_again(maker: Maker) -> str:
    """Name a model by the time too, of ``2026-01-31T11-58-24.198733`` or ``2026-01-31T11:58:24+00:00`` as 11:58:24."""
    return f"{maker.model} {maker.time[11:19].replace('-', ':')}"


def _place(result: Result) -> tuple[str, ...]:
    return (result.run.inputs.config, *result.run.inputs.splits)
