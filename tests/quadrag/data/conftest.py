"""What the tests of data share: processes to load in, and a cache of the test's own."""

import pytest


@pytest.fixture
def python(forked_python):
    """Nearly all tests here start processes, the command line's too; `fresh=True` walks the whole way of a user."""
    return forked_python


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache"
