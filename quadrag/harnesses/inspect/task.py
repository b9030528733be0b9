"""A task of Inspect from a config of ours and the settings that came with ``-T``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inspect_ai import Task  # type: ignore[import-not-found]  # the types are checked without it
from inspect_ai._util.error import PrerequisiteError  # type: ignore[import-not-found]  # what it tells in one line
from inspect_ai.dataset import MemoryDataset  # type: ignore[import-not-found]
from inspect_ai.model import GenerateConfig  # type: ignore[import-not-found]
from inspect_ai.solver import generate  # type: ignore[import-not-found]

from quadrag import __version__
from quadrag.baselines.benchmark import load
from quadrag.data import SAMPLE
from quadrag.errors import QuadragError
from quadrag.harnesses.inspect.samples import sample
from quadrag.harnesses.inspect.scorers import opened, scorers_of

_PATHS = ("data_dir", "prompts", "retrieved")


def examined(benchmark: str, config: str, settings: Mapping[str, Any]) -> Any:
    """Make the task of a config.

    An item that fails is scored too, where the user lets it pass (``--no-fail-on-error``), so that it counts.

    Raises:
        PrerequisiteError: as `QuadragError`, which Inspect would show as a crash: a setting is unknown or cannot be
            had, or data are lacking.
    """
    try:
        settings = _absolute(benchmark, settings)
        examination, _ = opened(benchmark, config, settings)
        scorers = scorers_of(benchmark, config, settings)
    except QuadragError as error:
        raise PrerequisiteError(str(error)) from None
    questions = enumerate(examination.questions)
    return Task(
        dataset=MemoryDataset([sample(examination, *each) for each in questions], name=f"{benchmark} {config}"),
        solver=generate(),
        scorer=scorers,
        config=GenerateConfig(temperature=examination.benchmark.TEMPERATURE),
        score_on_error=True,
        metadata={"quadrag": __version__, "profile": examination.profile, "split": examination.questions[0].split},
    )


def _absolute(benchmark: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings that name the same files wherever they are read.

    While it makes a task from a file, Inspect is in the file's folder, and the user's own is known by the shell alone.
    """
    here = Path.cwd()
    if here == Path(__file__).parent and "PWD" in os.environ:
        here = Path(os.environ["PWD"])
    options = load(benchmark).OPTIONS
    found = dict(settings)
    for name, value in settings.items():
        named = name in _PATHS or (name in options and options[name].check is not None)
        if named and isinstance(value, str) and not (name == "data_dir" and value == SAMPLE):
            path = here / Path(value).expanduser()
            found[name] = str(path) if name in _PATHS or path.exists() else value
    return found
