"""What the metric tests share: modules loaded from their folders, a scripted judge, places for caches."""

import atexit
import importlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

# evaluate reads these when it is first imported; a run that has imported it before keeps its own.
_CACHE = tempfile.mkdtemp(prefix="quadrag-metrics-")
atexit.register(shutil.rmtree, _CACHE, ignore_errors=True)
os.environ.setdefault("HF_MODULES_CACHE", f"{_CACHE}/modules")
os.environ.setdefault("HF_EVALUATE_CACHE", f"{_CACHE}/evaluate")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_EVALUATE_OFFLINE", "1")  # evaluate heeds its own variable alone


def pytest_itemcollected(item: pytest.Item) -> None:
    """A test that has a loaded metric is not `pure`: evaluate puts what it is given through `datasets`."""
    used = {"load_metric", "python", "quadrag"} & set(getattr(item, "fixturenames", ()))
    assert not (used and item.get_closest_marker("pure")), f"{item.nodeid} is marked pure and uses {used}"


@pytest.fixture(scope="session")
def metrics_root() -> Path:
    return Path(__file__).resolve().parents[2] / "metrics"


@pytest.fixture(scope="session")
def load_metric(metrics_root: Path) -> Callable[[str], Any]:
    """A function from a metric's name to the module that evaluate loads from its folder, loaded once."""
    import evaluate

    loaded: dict[str, Any] = {}

    def load(name: str) -> Any:
        if name not in loaded:
            loaded[name] = evaluate.load(str(metrics_root / name), cache_dir=f"{_CACHE}/scratch")
        return loaded[name]

    return load


@pytest.fixture(scope="session")
def load_file(metrics_root: Path) -> Callable[[str], ModuleType]:
    """A function from a path below metrics/ to the Python module in that file."""

    def load(path: str) -> ModuleType:
        folder, _, file = path.partition("/")
        package = sys.modules.setdefault(f"metric_{folder}", ModuleType(f"metric_{folder}"))
        package.__path__ = [str(metrics_root / folder)]  # so that its files find each other
        return importlib.import_module(f"{package.__name__}.{file.removesuffix('.py')}")

    return load


@pytest.fixture(scope="module")
def metric(request: pytest.FixtureRequest, load_metric: Callable[[str], Any]) -> Any:
    """The metric that the test's file is named after."""
    return load_metric(request.path.stem.removeprefix("test_"))


@pytest.fixture(scope="module")
def part(request: pytest.FixtureRequest, load_file: Callable[[str], ModuleType]) -> Callable[[str], ModuleType]:
    """A function from the name of a file of that metric to the module."""
    return lambda name: load_file(f"{request.path.stem.removeprefix('test_')}/{name}.py")


@pytest.fixture(scope="session")
def rgb(load_file: Callable[[str], ModuleType]) -> ModuleType:
    return load_file("_shared/phrases.py")


class ScriptedJudge:
    """Replies what it was told, in order, and keeps every batch that it was asked."""

    model = "scripted-1"

    def __init__(self, replies: list[Any]) -> None:
        self.replies = replies
        self.batches: list[list[list[dict[str, str]]]] = []

    def __call__(self, requests: list[list[dict[str, str]]]) -> list[Any]:
        self.batches.append(requests)
        return list(self.replies)


class Failure:
    """A judge's failed call."""

    def __init__(self, reason: object) -> None:
        self.reason = reason


@pytest.fixture(scope="session")
def scripted() -> type[ScriptedJudge]:
    return ScriptedJudge


@pytest.fixture(scope="session")
def failure() -> type[Failure]:
    return Failure
