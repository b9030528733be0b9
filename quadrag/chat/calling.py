"""How chat models are called: one record, which goes whole from the command that asks for a call to what makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quadrag.chat.http import MOST_REPLY_BYTES, Bounds
from quadrag.chat.ledger import Ledger, Reuse, canonical
from quadrag.chat.prices import Budget, Prices, Rate
from quadrag.errors import QuadragError
from quadrag.trust import Trust

if TYPE_CHECKING:
    from quadrag.chat.estimate import Estimate

# Fields of the request that the client sets itself, or whose replies it could not read.
_RESERVED = ("messages", "model", "n", "stream", "stream_options")


@dataclass(frozen=True, slots=True)
class Alias:
    """What the user calls a model."""

    name: str | None = None  # its own and its service's in the ledger; None: as it is requested, and by its service
    service: str | None = None  # what the ledger calls the service; None: its base URL, less what is secret
    role: str = "llm"  # what the option that says it begins with, as ``judge``


@dataclass(frozen=True, slots=True)
class Calling:
    """How models are called, whichever they are."""

    ledger: Ledger | None = None  # where replies are kept and looked up; none are when None
    concurrency: int = 16
    # Seconds one attempt may take; those of the transport when None, for chat completions 120.
    timeout: float | None = None
    retries: int = 5  # new attempts after one that failed in a way that may pass
    prices: Prices | None = None
    budget: Budget | float | None = None  # of one client, or one that several share; needs prices and ``max_tokens``
    replay: bool = False  # answer from the ledger alone, with no network
    max_reply_bytes: int = MOST_REPLY_BYTES  # the longest reply that is read, as it is when it is unpacked
    allow_redirect: Sequence[str] = ()  # hosts that a server may send the client on to, besides its own
    reuse: Reuse | None = None  # which of the service's kept replies count; all when None
    alias: Alias = Alias()
    trust: Trust = field(default_factory=Trust)
    estimate: Estimate | None = None  # where calls are noted in place of being made; None: they are made

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Raise QuadragError where calls with these further fields of the request cannot be made."""
        for name in _RESERVED:
            if name in parameters:
                raise QuadragError(f"parameter {name!r} is the client's own; leave it out")
        try:
            canonical(parameters)
        except (TypeError, ValueError) as error:
            raise QuadragError(f"the parameters are no JSON: {error}") from None
        for name, least in (("concurrency", 1), ("retries", 0), ("timeout", 1e-9), ("max_reply_bytes", 1)):
            if (number := getattr(self, name)) is not None and number < least:
                raise QuadragError(f"{name} {number} is too small")
        for host in self.allow_redirect:
            if not host or any(sign in host for sign in "/@?#") or host != host.strip():
                raise QuadragError(f"{host!r} is no host to allow a redirect to; expected one as api.example.com")
        if self.replay and self.ledger is None:
            raise QuadragError("a replay needs a ledger; name the one that the run wrote")
        longest = parameters.get("max_tokens", parameters.get("max_completion_tokens"))
        if self.budget is not None and self.prices is None:
            raise QuadragError("a budget needs prices; name a price file with --prices")
        if self.budget is not None and not (isinstance(longest, int) and longest > 0):
            raise QuadragError("a budget needs max_tokens (--max-tokens): without it a call's cost has no bound")

    def bound(self, timeout: float) -> Bounds:
        """Return what a server is allowed; the seconds are those where the user names none."""
        hosts = frozenset(host.lower() for host in self.allow_redirect)
        return Bounds(self.timeout or timeout, self.max_reply_bytes, hosts)

    def rate(self, model: str) -> Rate | None:
        """Return a model's prices, None where there are none at all; that others alone have some is a QuadragError."""
        return None if self.prices is None else self.prices.rate(model)

    def open_budget(self) -> Budget | None:
        """Return the budget to hold calls to: the shared one, else one of the client's own."""
        if self.budget is None or self.prices is None or isinstance(self.budget, Budget):
            return self.budget if isinstance(self.budget, Budget) else None
        return Budget(self.budget, self.prices.currency)
