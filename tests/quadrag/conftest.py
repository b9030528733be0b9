"""What the tests of the chat client share: no keys of the user's, a server, a ledger."""

import pytest
from chat_server import ChatServer

from quadrag.chat.ledger import Ledger


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("QUADRAG_API_KEY", "OPENAI_API_KEY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server():
    with ChatServer() as running:
        yield running


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite") as opened:
        yield opened
