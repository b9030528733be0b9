"""The metric truthfulness, its files, and a function that scores answers by it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def metric(load_metric: Callable[[str], Any]) -> Any:
    return load_metric("truthfulness")


@pytest.fixture(scope="module")
def part(load_file: Callable[[str], ModuleType]) -> Callable[[str], ModuleType]:
    return lambda name: load_file(f"truthfulness/{name}.py")


@pytest.fixture(scope="module")
def read(load_file: Callable[[str], ModuleType]) -> dict[str, Callable[[str], int | None]]:
    return dict(load_file("truthfulness/truthfulness.py").READERS)


@pytest.fixture(scope="module")
def score(metric: Any) -> Callable[..., Any]:
    """Score answers, each with its own question."""

    def run(answers: list[Any], golds: list[Any], judge: Any, profile: str = "official", **more: Any) -> Any:
        questions = [f"Q{i}" for i in range(len(answers))]
        return metric.compute(
            predictions=answers, references=golds, questions=questions, judge=judge, profile=profile, **more
        )

    return run
