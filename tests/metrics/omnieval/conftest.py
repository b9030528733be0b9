"""The metric omnieval with each of its configs, its files, and a function that scores answers by it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def load(metrics_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """A function from a config to the metric, loaded by path as users do."""
    import evaluate

    cache = str(tmp_path_factory.mktemp("scratch"))
    loaded: dict[tuple[str, ...], Any] = {}

    def load(*config: str) -> Any:
        if config not in loaded:
            loaded[config] = evaluate.load(str(metrics_root / "omnieval"), *config, cache_dir=cache)
        return loaded[config]

    return load


@pytest.fixture(scope="module")
def part(load_file: Callable[[str], ModuleType]) -> Callable[[str], ModuleType]:
    return lambda name: load_file(f"omnieval/{name}.py")


@pytest.fixture(scope="module")
def read(part: Callable[[str], ModuleType]) -> dict[str, Callable[[str, str], int | None]]:
    return dict(part("omnieval").READERS)


@pytest.fixture(scope="module")
def score(load: Callable[..., Any]) -> Callable[..., Any]:
    """Score answers, each with its own question, passage and accepted answer."""

    def run(config: str, answers: list[Any], judge: Any, profile: str = "official", **more: Any) -> Any:
        n = len(answers)
        given = {"references": ["金"] * n, "questions": [f"问{i}" for i in range(n)], "contexts": ["段"] * n} | more
        return load(config).compute(predictions=answers, judge=judge, profile=profile, **given)

    return run
