"""Chat models behind an endpoint: the client, its ledger of replies, prices and budgets.

Nothing here knows a benchmark. `ChatClient` is loaded when it is asked for, so that reading a spec stays light.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quadrag.chat.client import ChatClient as ChatClient


def __getattr__(name: str) -> Any:
    if name != "ChatClient":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from quadrag.chat.client import ChatClient

    return ChatClient
