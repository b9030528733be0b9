"""What is said where a folder holds no file that several runs read: what they read, what is there, what to type."""

import contextlib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from quadrag import catalogue
from quadrag.data.builders import SAMPLE
from quadrag.data.files import find_files, list_once
from quadrag.errors import QuadragError

from ..core.benchmark import Benchmark, load
from .recipe import read_recipe
from .request import RunRequest

_ORIGINAL = "_original"  # ends a config on the data as they were before the authors revised them
_MOST = 4  # names of files that a line bears


def find_lacking(request: RunRequest, benchmark: Benchmark, configs: Iterable[str]) -> dict[str, list[str]]:
    """Return the files that the user's folder lacks, by config; nothing of a config that can be run.

    Raises:
        QuadragError: there is no such folder, or a file that must be looked into is broken.
    """
    if not request.data_dir or request.data_dir == SAMPLE:
        return {}
    split = request.split or benchmark.default_split
    found = {name: find_files(benchmark.name, name, request.data_dir, split)[1] for name in dict.fromkeys(configs)}
    return {name: files for name, files in found.items() if files}


def list_without_files(request: RunRequest, recipes: Sequence[str]) -> dict[str, str]:
    """Return why recipes cannot be run, by name: the user's folder lacks the files of all their runs.

    Raises:
        QuadragError: there is no such folder, or a file that must be looked into is broken.
    """
    made = {name: read_recipe(name)[1] for name in recipes}
    runs = {name: [run["config"] for run in recipe["runs"]] for name, recipe in made.items()}
    benchmark = load(next(iter(made.values()))["benchmark"])  # that of the table
    lacking = find_lacking(request, benchmark, (config for configs in runs.values() for config in configs))
    return {
        name: f"{request.data_dir} lacks {_some(list_once({one: lacking[one] for one in configs}))}"
        for name, configs in runs.items()
        if lacking.keys() >= set(configs)
    }


def tell_lacking(request: RunRequest, lacking: Mapping[str, Sequence[str]]) -> str:
    """Say that a folder holds nothing that a recipe, or ``--all``, reads.

    Args:
        request: what was asked for, with the folder.
        lacking: by config, the files that are not there.
    """
    benchmark, folder = request.named_benchmark(), str(request.data_dir)
    wanted = list(dict.fromkeys(name for names in lacking.values() for name in names))
    old = all(config.endswith(_ORIGINAL) for config in lacking)
    data = "original data, from before their revision: " if old else ""
    there = {config: _find(benchmark, config, folder) for config in catalogue.configs(benchmark)}
    other = [name for name in lacking if there.get(_other_version(name))]
    paths = [path for config in (map(_other_version, other) if other else there) for path in there[config]]
    found = list(dict.fromkeys(path.name for path in paths))
    holds = f"it holds {_some(found)}" if found else f"it holds no file of {benchmark}"
    way = "name the folder that has them with --data-dir"
    if other:
        holds += f", the {'revised' if old else 'original'} data"
        more, less = ("", ", which replicates no printed row") if old else (" --original", "")
        way = f"run what is there with `quadrag run {benchmark} --all{more} --data-dir {shlex.quote(folder)}`{less}"
    who = f"the recipe {request.recipe}" if request.recipe else "--all"
    return (
        f"{folder} holds no file that {who} reads ({data}{_some(wanted)}); {holds}. Fetch them with `quadrag prepare "
        f"{benchmark}` and leave --data-dir out, or {way}"
    )


def _other_version(config: str) -> str:
    """Name the config on the other version of the data."""
    return config.removesuffix(_ORIGINAL) if config.endswith(_ORIGINAL) else config + _ORIGINAL


def _find(benchmark: str, config: str, folder: str) -> list[Path]:
    with contextlib.suppress(QuadragError):  # of what is not asked for, a broken file is as good as none
        return list(find_files(benchmark, config, folder)[0].values())
    return []


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
