"""What the tests of the scripts share: processes of their own that start quickly, and a cache."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def python(
    forked_python: Callable[..., subprocess.CompletedProcess[str]],
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """A function that runs Python code in a process of its own; see `forked_python`."""
    return forked_python


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache"
