"""The tasks of Inspect: one for every config that holds questions, under its name, as ``rgb_noise_robustness_en``."""
# mypy: allow-untyped-decorators
# Inspect's types are not there where ours are checked.

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inspect_ai import Task, task  # type: ignore[import-not-found]  # the types are checked without it
from inspect_ai._util.error import PrerequisiteError  # type: ignore[import-not-found]  # what it tells in one line
from inspect_ai.dataset import MemoryDataset  # type: ignore[import-not-found]
from inspect_ai.model import GenerateConfig  # type: ignore[import-not-found]
from inspect_ai.solver import generate  # type: ignore[import-not-found]

from quadrag import __version__
from quadrag.baselines.core.benchmark import load
from quadrag.data.builders import SAMPLE
from quadrag.errors import QuadragError
from quadrag.harnesses.inspect.samples import make_sample
from quadrag.harnesses.inspect.scorers import open_marking, scorers_of
from quadrag.harnesses.task_list import ListedTask, all_tasks

_PATHS = ("data_dir", "prompts", "retrieved")


def make_task(benchmark: str, config: str, settings: Mapping[str, Any]) -> Task:
    """Make the task of a config.

    An item that fails is scored too, where the user lets it pass (``--no-fail-on-error``), so that it counts. Inspect
    would show a QuadragError as a crash, and a PrerequisiteError as a line.
    """
    try:
        settings = _absolute(benchmark, settings)
        examination = open_marking(benchmark, config, settings).examination
        scorers = scorers_of(benchmark, config, settings)
    except QuadragError as error:
        raise PrerequisiteError(str(error)) from None
    questions = enumerate(examination.questions)
    return Task(
        dataset=MemoryDataset([make_sample(examination, *each) for each in questions], name=f"{benchmark} {config}"),
        solver=generate(),
        scorer=scorers,
        config=GenerateConfig(temperature=examination.benchmark.temperature),
        score_on_error=True,
        metadata={"quadrag": __version__, "profile": examination.profile, "split": examination.questions[0].split},
    )


@task
def any_config(benchmark: str = "", config: str = "", **settings: Any) -> Task:
    """Any config, by ``-T benchmark=rgb -T config=noise_robustness_en``.

    Inspect loads a file by its path only where it can read a task in it, and those of a loop it cannot read.
    """
    return make_task(benchmark, config, settings)


def _register(listed: ListedTask) -> Any:
    def of_config(**settings: Any) -> Task:
        return make_task(listed.benchmark, listed.config, settings)

    of_config.__doc__ = f"{listed.title}."
    return task(name=listed.name)(of_config)


def _absolute(benchmark: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings that name the same files wherever they are read.

    While it makes a task from a file, Inspect is in the file's folder, and the user's own is known by the shell alone.
    """
    here = Path.cwd()
    if here == Path(__file__).parent and "PWD" in os.environ:
        here = Path(os.environ["PWD"])
    options = load(benchmark).options
    found = dict(settings)
    for name, value in settings.items():
        named = name in _PATHS or (name in options and options[name].check is not None)
        if named and isinstance(value, str) and not (name == "data_dir" and value == SAMPLE):
            path = here / Path(value).expanduser()
            found[name] = str(path) if name in _PATHS or path.exists() else value
    return found


TASKS = {listed.name: _register(listed) for listed in all_tasks()}
