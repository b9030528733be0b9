"""One call to make of a chat model, and how calls are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from quadrag.chat.prices import Budget, Rate
from quadrag.chat.refusals import Refused


@dataclass(slots=True)
class Job:
    """One call to make: its ledger key, messages, sample number and size in bytes of JSON."""

    key: bytes
    messages: list[dict[str, Any]]
    sample: int
    size: int


@dataclass
class Limits:
    """How calls are made: ``concurrency`` at once, ``retries`` new attempts each, within ``budget``.

    `proven` says that the model has answered calls like these before; `refused`, which grows, what of their fields it
    refuses.
    """

    concurrency: int
    retries: int
    rate: Rate | None = None
    budget: Budget | None = None
    proven: bool = False
    refused: Refused = field(default_factory=dict)
