"""What there is: benchmarks, which are plugins, with their configs and splits, and metrics.

A benchmark comes by an entry point of the group ``quadrag.benchmarks``, from whatever package is installed; nothing
here knows the name of one. Scripts and metrics are loaded by path, exactly as the Hub's users load them.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from quadrag.errors import QuadragError, one_line, pick
from quadrag.paths import room
from quadrag.printing import say

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "quadrag.benchmarks"


@cache
def _entry_points() -> Mapping[str, EntryPoint]:
    from importlib.metadata import entry_points  # 20 ms, which help does without

    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def names() -> list[str]:
    """Return the names of all benchmarks that are installed; none is loaded."""
    return list(_entry_points())


@cache
def plugin(name: str) -> Any:
    """Return the record of a benchmark, a `quadrag.benchmark.Benchmark`; QuadragError where its package is broken."""
    try:
        return _entry_points()[name].load()
    except Exception as error:  # whatever a package of somebody else's raises
        line = f"the benchmark {name} ({_entry_points()[name].value}) cannot be loaded"
        raise QuadragError(f"{line}: {type(error).__name__}: {one_line(error)}") from error


@cache
def benchmarks() -> Mapping[str, Path]:
    """Map each benchmark's name to its dataset loading script; one that cannot be loaded is told of and left out."""
    scripts = {}
    for name in _entry_points():
        try:
            scripts[name] = plugin(name).script or room("datasets_scripts") / name / f"{name}.py"
        except QuadragError as error:
            say(str(error))
    return scripts


@cache
def metrics() -> Mapping[str, Path]:
    folders = [room("metrics"), *filter(None, (plugin(name).metric_folder for name in benchmarks()))]
    paths = (path for folder in folders for path in sorted(folder.glob("*/*.py")))
    return {path.stem: path for path in paths if path.stem == path.parent.name}


def benchmark_name(name: str) -> str:
    return pick("benchmark", name, _entry_points()).name


def plugin_folder(benchmark: str) -> Path:
    spec: Any = importlib.util.find_spec(_entry_points()[benchmark].module)
    return Path(spec.origin).parent


def module_beside(benchmark: str, name: str) -> ModuleType | None:
    """Import a module or package that lies beside a benchmark's record, as ``tables``; None where there is none."""
    package = _entry_points()[benchmark].module.rpartition(".")[0]
    place = plugin_folder(benchmark) / name
    if not place.with_suffix(".py").is_file() and not (place / "__init__.py").is_file():
        return None
    return importlib.import_module(f"{package}.{name}")


def card(benchmark: str) -> Path:
    return plugin(benchmark).card or room("hub_cards") / f"{benchmark}.md"


def commands() -> Mapping[str, str]:
    return {name: module for benchmark in benchmarks() for name, module in plugin(benchmark).commands.items()}


def metric_folder(name: str) -> Path:
    return pick("metric", name, metrics()).parent


def load_scorer(metric: str) -> Any:
    return load_script(metric_folder(metric) / "scorer.py").SCORER


def load_script(path: Path) -> ModuleType:
    """Import a file, once per process, as a module of a package, so that it may import the files beside it.

    It is registered in ``sys.modules`` because `datasets` looks a builder's module up there.
    """
    if path.parent.parent == room("metrics"):
        return importlib.import_module(f"quadrag.metrics.{path.parent.name}.{path.stem}")
    package = "quadrag_leaf" + re.sub(r"\W", "_", str(path.parent))
    if package not in sys.modules:
        sys.modules[package] = ModuleType(package)
        sys.modules[package].__path__ = [str(path.parent)]
    return importlib.import_module(f"{package}.{path.stem}")


def builder_class(benchmark: str) -> Any:
    module = load_script(pick("benchmark", benchmark, benchmarks()))
    own = (value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__)
    return next(value for value in own if hasattr(value, "BUILDER_CONFIGS"))


def configs(benchmark: str) -> dict[str, Any]:
    return {config.name: config for config in builder_class(benchmark).BUILDER_CONFIGS}


def config(benchmark: str, name: str) -> Any:
    return pick(f"config of {benchmark}", name, configs(benchmark))
