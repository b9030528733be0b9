"""Chat models behind an endpoint: the client, its ledger of replies, prices and budgets; no benchmark is known here."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Load `ChatClient` when it is asked for, so that reading a spec stays light."""
    if name != "ChatClient":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .client import ChatClient

    return ChatClient
