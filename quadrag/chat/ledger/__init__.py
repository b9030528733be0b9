"""The ledger of kept replies: its file, the shelf of one service."""

from quadrag.chat.ledger.replies import Ledger, call_key, canonical, default_path

__all__ = ["Ledger", "call_key", "canonical", "default_path"]
