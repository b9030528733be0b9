"""What the tests of systems share: a ledger."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from quadrag.chat.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.sqlite") as opened:
        yield opened
