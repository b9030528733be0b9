"""The metric ragquesteval, its files, and a function that scores one answer by it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from ragquesteval_judges import SHORT, Judge, asking, blocks


@pytest.fixture(scope="module")
def metric(load_metric: Callable[[str], Any]) -> Any:
    return load_metric("ragquesteval")


@pytest.fixture(scope="module")
def part(load_file: Callable[[str], ModuleType]) -> Callable[[str], ModuleType]:
    return lambda name: load_file(f"ragquesteval/{name}.py")


@pytest.fixture(scope="module")
def score(metric: Any) -> Callable[..., Any]:
    """Score one item whose reference answers come from a question file; `reply` is about the prediction."""

    def run(expected: list[str], reply: Any, profile: str = "official", n: int | None = None) -> Any:
        cache = {"a": {"question": [f"问{i}" for i in range(len(expected) if n is None else n)], "answers": expected}}
        judge = Judge({"ANSWERING P": reply, "ANSWERING R": blocks(expected), "ASKING R": asking(["问"])})
        kwargs: dict[str, Any] = {"judge": judge, "ids": ["a"], "question_cache": cache, "prompts": SHORT}
        return metric.compute(predictions=["P"], references=["R"], profile=profile, **kwargs)

    return run
