"""The metric omnieval_overlap and its files."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def metric(load_metric: Callable[[str], Any]) -> Any:
    return load_metric("omnieval_overlap")


@pytest.fixture(scope="module")
def overlap(load_file: Callable[[str], ModuleType]) -> ModuleType:
    return load_file("omnieval_overlap/overlap.py")


@pytest.fixture(scope="module")
def normalising(load_file: Callable[[str], ModuleType]) -> ModuleType:
    return load_file("omnieval_overlap/normalise.py")
