"""Recipes: files that say how a row of a published table was made; the name of a table stands for all of its rows.

A recipe is YAML: benchmark, runs (config, retriever, options), and what all runs share: retriever, settings of the
retrieval, the model's name and how it is asked. ``published`` names the printed row, for the reader.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from quadrag import catalogue
from quadrag.errors import QuadragError, unknown_name

from .benchmark import Retrieval, load

Runs = list[tuple[str, str | None, dict[str, Any]]]  # config, retriever (None: the user's choice), options
SETTINGS = tuple(field.name for field in fields(Retrieval))
# What a recipe may say of how a model is asked: from where to where, both included.
_SAMPLING: dict[str, tuple[float, float]] = {"temperature": (0, 100), "top_p": (0, 1), "max_tokens": (1, 10**9)}
_RECIPE_KEYS = ("benchmark", "runs", "retriever", "retrieval", "model", *_SAMPLING, "published")
_COUNTS = {"chunk_size": 1, "chunk_overlap": 0, "top_k": 1}  # settings that are whole numbers, with the least
_TABLE = re.compile(r"\w+-table\d+")


def planned(arguments: argparse.Namespace) -> Runs | None:
    """Return the runs that ``--all`` or ``--recipe`` ask for; None where the arguments name one run.

    A recipe also fills in what the user left open: the benchmark, how the model is asked, its name behind ``--llm``.

    Raises:
        QuadragError: no such recipe, it is not of the form, or its model has no address.
    """
    if arguments.all and arguments.recipe:
        raise QuadragError("--all and --recipe each say what to run; give one of them")
    if arguments.all:
        if not arguments.benchmark:
            raise QuadragError(f"no benchmark; expected one of {', '.join(catalogue.benchmarks())}")
        return [(*run, {}) for run in load(arguments.benchmark).campaign(arguments.original)]
    if arguments.original:
        raise QuadragError("--original goes with --all; alone, name the config with its suffix _original")
    if not arguments.recipe:
        return None
    name, recipe = read(arguments.recipe)
    for setting, value in recipe.get("retrieval", {}).items():
        if getattr(arguments, setting) is not None:
            raise QuadragError(f"the recipe {name} says --{setting.replace('_', '-')} {value}; leave it out")
        setattr(arguments, setting, value)
    if arguments.benchmark not in (None, recipe["benchmark"]):
        raise QuadragError(f"the recipe {name} is for {recipe['benchmark']}, not {arguments.benchmark}")
    arguments.benchmark, arguments.recipe = recipe["benchmark"], name
    for setting in _SAMPLING:
        if getattr(arguments, setting) is None:
            setattr(arguments, setting, recipe.get(setting))
    if "model" in recipe:
        if not arguments.llm:
            raise QuadragError(f"the recipe {name} asks {recipe['model']}; say where with --llm http://HOST:PORT/v1")
        if arguments.llm.startswith("http") and "#" not in arguments.llm:
            arguments.llm += f"#{recipe['model']}"
    retriever = recipe.get("retriever", load(arguments.benchmark).RETRIEVERS[0])
    return [(run["config"], run.get("retriever", retriever), run.get("options", {})) for run in recipe["runs"]]


def swept(name: str | None) -> list[str]:
    """Return the recipes of a table that a name like ``crud_rag-table3`` stands for; [] where it names none or one."""
    if name is None or not _TABLE.fullmatch(name):
        return []
    return [recipe for recipe in catalogue.recipes() if recipe.startswith(f"{name}-")]


def check_models(recipes: Sequence[str], llm: str | None) -> None:
    """See to it that a sweep over models does not ask one model under the names of all.

    Raises:
        QuadragError: the recipes ask several models, and `llm` names one.
    """
    asked = {read(name)[1].get("model") for name in recipes}
    if len(asked) > 1 and llm and ("#" in llm or not llm.startswith("http")):
        raise QuadragError(
            f"the recipes ask {len(asked)} models, --llm {llm} names one; give --llm http://HOST:PORT/v1 without #MODEL"
        )


def read(name: str) -> tuple[str, dict[str, Any]]:
    """Read a recipe by its name or from the user's file, and check its form.

    Raises:
        QuadragError: there is no such recipe, or it is not of the form.
    """
    import yaml

    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        known = catalogue.recipes()
        if name not in known:
            raise unknown_name("recipe", name, known)
        path = known[name]
    try:
        recipe = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise QuadragError(f"cannot read the recipe {path} ({' '.join(str(error).split())})") from None
    runs = recipe.get("runs") if isinstance(recipe, dict) else None
    if not isinstance(runs, list) or not runs or not all(map(_is_run, runs)):
        raise QuadragError(
            f"{path} is no recipe; expected a mapping with benchmark and runs, a list of config, retriever, options"
        )
    for key in recipe:
        if key not in _RECIPE_KEYS:
            raise unknown_name(f"key of the recipe {path.name}", key, _RECIPE_KEYS)
    if not isinstance(recipe.get("benchmark"), str) or not isinstance(recipe.get("model", ""), str):
        raise QuadragError(f"{path} names no benchmark, or a model that is no name; expected a string for each")
    for key, (low, high) in _SAMPLING.items():
        value = recipe.get(key, low)
        if type(value) not in (int, float) or not low <= value <= high or (key == "max_tokens" and value != int(value)):
            raise QuadragError(f"{path}: {key} is {value!r}; expected a number from {low:g} to {high:g}")
    _check_settings(path, recipe.get("retrieval", {}))
    return path.stem, recipe


def _check_settings(path: Path, settings: Any) -> None:
    """Hold a recipe's settings of the retrieval against their kinds."""
    if not isinstance(settings, dict):
        raise QuadragError(f"{path}: retrieval is {settings!r}; expected a mapping of {', '.join(SETTINGS)}")
    for key, value in settings.items():
        if key not in SETTINGS:
            raise unknown_name(f"setting of the recipe {path.name}", str(key), SETTINGS)
        if key in _COUNTS and (type(value) is not int or value < _COUNTS[key]):
            raise QuadragError(f"{path}: {key} is {value!r}; expected a whole number from {_COUNTS[key]}")
        if key not in _COUNTS and not isinstance(value, str):
            raise QuadragError(f"{path}: {key} is {value!r}; expected a name")


def _is_run(run: Any) -> bool:
    if not isinstance(run, dict) or not set(run) <= {"config", "retriever", "options"}:
        return False
    kinds = (("config", str), ("retriever", str), ("options", dict))
    return "config" in run and all(isinstance(run.get(name, kind()), kind) for name, kind in kinds)
