"""What is said where a folder holds no file that several runs read: what they read, what is there, what to type."""

import contextlib
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from quadrag import catalogue
from quadrag.data.files import find_files
from quadrag.errors import QuadragError

from .request import RunRequest

_ORIGINAL = "_original"  # ends a config on the data as they were before the authors revised them
_MOST = 4  # names of files that a line bears


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
