"""How chat models are called, whichever they are: one record, from the command that asks to what makes a call."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quadrag.errors import QuadragError, unknown_name
from quadrag.trust import Trust

if TYPE_CHECKING:
    from .ledger import Ledger
    from .prices import Budget, Prices

MOST_FAILED = 0.2  # the share of items whose failure makes a metric invalid
_IN_FILES = ("concurrency", "timeout", "retries", "max_reply_bytes", "max_failed")  # numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPolicy:
    """How models are called and what is kept: nothing of it decides what a run measures.

    Attributes:
        ledger: where replies are kept and looked up, open or by its file; when None the user's own, and of a client by
            itself none.
        concurrency: calls in flight.
        timeout: seconds that one attempt may take; those of the interface when None, for chat completions 120, for a
            RAG service 300.
        retries: new attempts after one that failed in a way that may pass.
        max_reply_bytes: the longest reply that is read, as it is when it is unpacked.
        prices: what tokens cost.
        budget: a hard limit on what all who share it may cost together, or a number for one client; it needs prices.
        replay: answer from the ledger alone, with no network.
        fresh: take no reply from before the command.
        retry: kinds of replies, of `quadrag.chat.reply.RETRIED`, that are asked for again.
        began: Unix time of the command's beginning.
        trust: the models whose own code may run.
        max_failed: the share of a metric's items above which its value is not shown.
        profile: the one that values are shown by where a later command names none.
        certificates: how far judges agree with people, as `quadrag certify-judge` wrote it.
        command: as typed, less passwords.
        estimate: where calls are noted in place of being made.
    """

    ledger: Ledger | str | Path | None = None
    concurrency: int = 16
    timeout: float | None = None
    retries: int = 5
    max_reply_bytes: int = 16_000_000
    prices: Prices | None = None
    budget: Budget | float | None = None
    replay: bool = False
    fresh: bool = False
    retry: Sequence[str] = ()
    began: float = field(default_factory=time.time)
    trust: Trust = field(default_factory=Trust)
    max_failed: float = MOST_FAILED
    profile: str = "official"
    certificates: Sequence[Mapping[str, Any]] = ()
    command: Sequence[str] = ()
    estimate: Any = None

    def __post_init__(self) -> None:
        for name, least in (("concurrency", 1), ("retries", 0), ("timeout", 1e-9), ("max_reply_bytes", 1)):
            if (number := getattr(self, name)) is not None and not number >= least:
                raise QuadragError(f"{name} is {number}; expected {least} or more")
        if self.budget is not None and self.prices is None:
            raise QuadragError("a budget needs the prices of the models; name a price file with --prices")

    def open_ledger(self) -> Ledger:
        """Return the ledger, opened where it is not, the user's own where none is named."""
        from .ledger import Ledger

        if isinstance(self.ledger, Ledger):
            return self.ledger
        return Ledger(self.ledger, retry=self.retry, since=self.began if self.fresh else 0.0, began=self.began)


def read_calls(said: Any) -> dict[str, Any]:
    """Return what a spec file says under ``calls`` of how models are called; QuadragError for what it cannot."""
    if not isinstance(said, Mapping):
        raise QuadragError(f"calls is {said!r:.80}; expected a mapping of {', '.join(_IN_FILES)}")
    for name, value in said.items():
        if name not in _IN_FILES:
            raise unknown_name("key of calls", str(name), _IN_FILES)
        if type(value) not in (int, float):
            raise QuadragError(f"calls: {name} is {value!r:.80}; expected a number")
    return dict(said)
