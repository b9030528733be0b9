"""What the tests of data share: processes to load in."""

import pytest


@pytest.fixture
def python(forked_python):
    """Nearly all tests here start processes, the command line's too; `fresh=True` walks the whole way of a user."""
    return forked_python
