"""What the tests of data share: processes to load in, and a cache of the test's own."""

import pytest


@pytest.fixture
def python(forked_python):
    """Nearly all tests here start processes; `fresh=True` where the whole way of a user is walked."""
    return forked_python


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """The datasets cache of this process, moved into the test's folder."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache"
