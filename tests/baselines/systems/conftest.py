"""What the tests of a challenge's model files share: one that echoes, and a ledger."""

from __future__ import annotations

import pytest
from challenge_models import MODEL, write

from quadrag.chat.ledger import Ledger


@pytest.fixture
def echo(tmp_path):
    return write(tmp_path / "checkout" / "echo.py", MODEL)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        yield ledger
