"""What there is: benchmarks, their configs and splits, and metrics, all found by looking at the folders, once.

Leaves are loaded by path, never imported as part of quadrag, exactly as the Hub's users load them.
"""

import importlib.util
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from quadrag.errors import unknown_name
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


def benchmark_name(text: str) -> str:
    """Return the name of the benchmark that is meant: ``CRUD_RAG``, ``crud-rag`` and ``crudrag`` are ``crud_rag``."""
    return _find_name("benchmark", text, benchmarks())


def metric_name(text: str) -> str:
    """Return the name of the metric that is meant, as `benchmark_name` does."""
    return _find_name("metric", text, metrics())


def metric_folder(name: str) -> Path:
    """Return the folder of a metric, which ``evaluate.load`` takes."""
    return metrics()[metric_name(name)].parent


def _find_name(kind: str, text: str, known: Mapping[str, Path]) -> str:
    if text in known:
        return text
    for name in known:
        if is_called(text, name):
            return name
    raise unknown_name(kind, text, known)


def is_called(text: str, name: str) -> bool:
    """Whether a text is a name, however it is spelled: with capitals, hyphens, underscores, blanks or nothing."""
    mine, other = (re.sub(r"[-_ ]", "", each).casefold() for each in (text, name))
    return mine == other


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
    script = benchmarks()[benchmark_name(benchmark)]
    import datasets

    module = load_script(script)
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    own = [each for each in classes if each.__module__ == module.__name__]
    return next(each for each in own if issubclass(each, datasets.GeneratorBasedBuilder))


def configs(benchmark: str) -> dict[str, Any]:
    """Map config names to the builder's configs, in the script's order."""
    return {config.name: config for config in builder_class(benchmark).BUILDER_CONFIGS}


def config(benchmark: str, name: str) -> Any:
    """Return one config of a benchmark."""
    known = configs(benchmark)
    if name not in known:
        raise unknown_name(f"config of {benchmark}", name, known)
    return known[name]
