"""What there is: benchmarks, their configs and splits, and metrics, all found by looking at the folders, once.

Leaves are loaded by path, never imported as part of quadrag, exactly as the Hub's users load them.
"""

import importlib.util
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from quadrag.errors import pick
from quadrag.paths import room


def _leaves(folder: Path) -> dict[str, Path]:
    """Map the name of every published unit, a folder with a script of its own name, to that script."""
    return {path.stem: path for path in sorted(folder.glob("*/*.py")) if path.stem == path.parent.name}


@cache
def benchmarks() -> Mapping[str, Path]:
    """Map each benchmark's name to its dataset loading script."""
    return _leaves(room("datasets_scripts"))


@cache
def metrics() -> Mapping[str, Path]:
    """Map each metric's name to its evaluate module."""
    return _leaves(room("metrics"))


def benchmark_name(name: str) -> str:
    """Return the name of a benchmark; QuadragError with the nearest names where there is none."""
    return pick("benchmark", name, benchmarks()).stem


def metric_folder(name: str) -> Path:
    """Return the folder of a metric, which ``evaluate.load`` takes; errors as of `benchmark_name`."""
    return pick("metric", name, metrics()).parent


def load_script(path: Path) -> ModuleType:
    """Load a dataset script by path, once per process.

    It is registered in ``sys.modules`` because `datasets` looks a builder's module up there.
    """
    name = f"quadrag_leaf_{path.stem}"
    if name not in sys.modules:
        spec: Any = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def builder_class(benchmark: str) -> Any:
    """Return the ``datasets.GeneratorBasedBuilder`` subclass of a benchmark."""
    module = load_script(pick("benchmark", benchmark, benchmarks()))
    own = (value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__)
    return next(value for value in own if hasattr(value, "BUILDER_CONFIGS"))


def configs(benchmark: str) -> dict[str, Any]:
    """Map config names to the builder's configs, in the script's order."""
    return {config.name: config for config in builder_class(benchmark).BUILDER_CONFIGS}


def config(benchmark: str, name: str) -> Any:
    """Return one config of a benchmark; errors as of `benchmark_name`."""
    return pick(f"config of {benchmark}", name, configs(benchmark))
