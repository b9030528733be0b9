"""What the tests of data share: processes to load in, and a cache of the test's own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Process = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def python(forked_python: Process) -> Process:
    """Nearly all tests here start processes; `fresh=True` where the whole way of a user is walked."""
    return forked_python


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The datasets cache of this process, moved into the test's folder."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache"
