"""What runs and their models are called in tables and under them, and whatever is a name among words of ours."""

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from quadrag.results.record import RunRecord
from quadrag.results.run import Run
from quadrag.results.selection import is_whole as is_whole
from quadrag.results.selection import name_whole as name_whole

from .paper_tables import load_tables

Text = TypeVar("Text", bound=str)


def name_model(inputs: RunRecord) -> str:
    """Return the model's name without the folders or the organisation before it, with what served it where told.

    The name that a user gave to a system of one's own stays whole.
    """
    if "contract" in inputs.parameters and "://" not in inputs.llm:
        return inputs.llm
    names = [name.rstrip("/").rsplit("/", 1)[-1] for name in (inputs.llm, inputs.served_as.get("llm", ""))]
    return ", served by ".join(filter(None, names))


def number_of(result: Run) -> str:
    """Return the number behind the system's name that a folder has where a function is measured again, as ``-2``."""
    stem, _, number = (result.folder.name if result.folder else "").rpartition("-")
    inputs = result.record
    again = "contract" in inputs.parameters and stem.endswith(re.sub(r"[^\w.-]", "_", inputs.llm))
    return f"-{number}" if again and number.isdecimal() else ""


def group_notes(told: Iterable[tuple[str, Text]]) -> list[tuple[Text, list[str]]]:
    """Return each note once, in order, with the names of those that it is told of."""
    found: dict[tuple[type[Text], Text], dict[str, None]] = {}
    for name, note in told:
        found.setdefault((type(note), note), {})[name] = None
    return [(note, list(names)) for (_, note), names in found.items()]


def name_apart(results: Sequence[Run]) -> list[str]:
    """Name runs by the model, the config and the splits that they do not share, or by their folders; one has no name.

    A config is called as the paper calls it, where that has a name for it; a model without the folders or the
    organisation before it, unless two are then called alike.
    """
    models = name_models(results)
    ways = [[_name_block(one.record) for one in results], [" ".join(one.record.splits) for one in results]]
    for parts in ([models, ways[0]], [models, *ways]):
        differing = [column for column in parts if len({*column}) > 1]
        names = [" ".join(one) for one in zip(*differing, strict=True)] or [""] * len(results)
        if len(results) == 1 or len({*names}) == len(names):
            return names
    folders = [one.folder.name if one.folder else one.record.config for one in results]
    return [f"{model} {name}" for model, name in zip(models, folders, strict=True)] if len({*models}) > 1 else folders


def name_models(results: Sequence[Run]) -> list[str]:
    """Name the model of each run, without folders or the organisation before it, unless two are then called alike."""
    models = [one.record.llm for one in results]
    short = [
        model if "contract" in one.record.parameters else model.rstrip("/").rsplit("/", 1)[-1]
        for model, one in zip(models, results, strict=True)
    ]
    return short if len({*short}) == len({*models}) else models


def _name_block(run: RunRecord) -> str:
    config = run.config
    return load_tables(run.benchmark).blocks.get((config, run.retriever), config)
