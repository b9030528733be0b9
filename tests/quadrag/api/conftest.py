"""What the tests of Python's own functions share: an empty folder, in which runs are written."""

import pytest


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
