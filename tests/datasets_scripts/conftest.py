"""What the tests of the scripts share: processes of their own that start quickly."""

import subprocess
from collections.abc import Callable

import pytest


@pytest.fixture
def python(
    forked_python: Callable[..., subprocess.CompletedProcess[str]],
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """A function that runs Python code in a process of its own; see `forked_python`."""
    return forked_python
