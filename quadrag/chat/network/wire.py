"""One attempt at one of a model's servers: a ledger row, or a `Fault` that says why there is none.

It chooses among base URLs by load, rests a URL whose connections fail or that answers nothing but faults, and pauses
one that asks for it. What is sent and read is the work of its `Transport`. It does not retry, count or store: see
`quadrag.chat.network.dispatch`.
"""

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from huggingface_hub import get_async_session

from quadrag.chat.faults import Fault
from quadrag.chat.keys import basic_credentials
from quadrag.chat.network.guard import guard
from quadrag.chat.reply import Row
from quadrag.chat.server import Bounds, Server
from quadrag.chat.spec import Spec, page_url
from quadrag.chat.transport import Transport
from quadrag.errors import one_line
from quadrag.progress import say

T = TypeVar("T")

# The HTTP library keeps 20 idle connections per client and walks its pool at every request.
_CALLS_PER_CLIENT = 32
# Seconds; a server that asks for longer is as good as refusing.
LONGEST_WAIT = 600.0
_FIRST_REST, _LONGEST_REST = 1.0, 30.0
_FAULTS_IN_A_ROW = 4  # so many without a reply between them are the server's, not a call's
_LISTING = 10.0  # seconds


@dataclass(eq=False, slots=True)
class _Lane:
    """One inference client with the number of its calls in flight."""

    client: Any
    load: int = 0


@dataclass(eq=False, slots=True)
class Endpoint(Server):
    """A server with its clients, load and state; clients are opened as the load asks for them."""

    lanes: list[_Lane] = field(default_factory=list)
    load: int = 0
    faults: int = 0
    rest: float = 0.0
    rested_at: float = 0.0
    rest_until: float = 0.0
    pause_until: float = 0.0


class Wire:
    """The way to a model's servers."""

    def __init__(self, spec: Spec, bounds: Bounds, transport: Transport) -> None:
        """Prepare the way; nothing is opened yet."""
        self.transport = transport
        self.keys = transport.find_keys(spec)
        self.bounds = bounds
        self.endpoints = [Endpoint(url, self.keys, bounds) for url in spec.urls or (None,)]
        self._turn = 0
        self._echoed = not self.keys.secrets  # whether it was told, or there is nothing to tell
        for one in self.endpoints:
            if one.url and basic_credentials(one.url) and self.keys.value and not self.keys.header:
                say(f"{one.shown}: the user and password of its URL are sent, not the key in {self.keys.variable}")

    def choose(self, avoid: Endpoint | None = None) -> tuple[Endpoint, float]:
        """Choose where the next attempt goes.

        Returns:
            The endpoint, and the seconds to wait before choosing again where all servers want a pause (else 0).
        """
        now = time.monotonic()
        self._turn += 1
        turn = self._turn % len(self.endpoints)
        turned = self.endpoints[turn:] + self.endpoints[:turn]
        awake = [one for one in turned if one.pause_until <= now]
        if not awake:
            soonest = min(turned, key=lambda one: one.pause_until)
            return soonest, soonest.pause_until - now
        fresh = [one for one in awake if one.rest_until <= now]
        if not fresh:
            return min(awake, key=lambda one: (one is avoid, one.rest_until)), 0.0
        chosen = min(fresh, key=lambda one: (one is avoid, one.load))
        if chosen.rest and any(not one.rest for one in fresh):
            # One call finds out whether a rested server is back; the others do not follow until it is.
            chosen.rest_until = now + chosen.rest
        return chosen, 0.0

    def others_ready(self, endpoint: Endpoint) -> bool:
        """Tell whether another server can take a call now."""
        now = time.monotonic()
        return any(one is not endpoint and one.rest_until <= now and one.pause_until <= now for one in self.endpoints)

    def leaves(self, endpoint: Endpoint) -> bool:
        """Tell whether the next attempt goes elsewhere, since this server rests and another can take it."""
        return endpoint.rest_until > time.monotonic() and self.others_ready(endpoint)

    def _lane(self, endpoint: Endpoint) -> _Lane:
        lane = min(endpoint.lanes, key=lambda one: one.load, default=None)
        if lane is None or lane.load >= _CALLS_PER_CLIENT:
            lane = _Lane(self.transport.open_client(endpoint))
            endpoint.lanes.append(lane)
        return lane

    async def ask(
        self, endpoint: Endpoint, messages: Sequence[Mapping[str, Any]], model: str, body: dict[str, Any]
    ) -> Row:
        """Make one attempt.

        Returns:
            The reply as a ledger row, with ``latency`` (seconds) and ``created`` (Unix time).

        Raises:
            Fault: there is no reply that can be read.
        """
        lane = self._lane(endpoint)
        lane.load += 1
        endpoint.load += 1
        begun = time.monotonic()
        try:
            started = time.perf_counter()
            attempt = self.transport.attempt(lane.client, endpoint, messages, model, body)
            row = await within(self.bounds.timeout, attempt)
            row["latency"], row["created"] = round(time.perf_counter() - started, 6), round(time.time(), 3)
        except Exception as error:
            fault = self.transport.read_fault(error, endpoint, self.bounds.timeout)
            endpoint.faults += fault.retry and fault.status != 429
            if not fault.connected or endpoint.faults >= _FAULTS_IN_A_ROW:
                _let_rest(endpoint, begun)
            if fault.wait is not None and fault.wait <= LONGEST_WAIT:
                endpoint.pause_until = max(endpoint.pause_until, time.monotonic() + fault.wait)
            raise fault from None
        finally:
            lane.load -= 1
            endpoint.load -= 1
        endpoint.faults = 0
        endpoint.rest = endpoint.rest_until = 0.0
        if not self._echoed and self.keys.echoed(self.transport.said(row)):
            self._echoed = True
            say(f"{endpoint.shown} repeats a secret, your key or its URL's, in a reply; files of replies hold it now")
        return row

    async def list_models(self) -> list[str]:
        """Return the ids that the first server in reach lists.

        Raises:
            Fault: no server lists its models.
        """
        last = Fault("Inference Providers list no models", retry=False)
        for endpoint in self.endpoints if self.endpoints[0].url else ():
            try:
                return await self._list(endpoint)
            except Fault as fault:
                last = fault
        raise last

    async def _list(self, endpoint: Endpoint) -> list[str]:
        seconds = min(self.bounds.timeout, _LISTING)
        try:
            async with guard(get_async_session(), endpoint) as session:
                asked = session.get(page_url(endpoint.address, "models"), headers=endpoint.headers, timeout=seconds)
                content = (await within(seconds, asked)).content
        except Exception as error:
            raise self.transport.read_fault(error, endpoint, seconds) from None
        try:
            names = [entry["id"] for entry in json.loads(content)["data"] if isinstance(entry["id"], str)]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise Fault(f"{endpoint.shown} answered with no list of models", status=200, retry=False) from None
        for name in names:
            if self.keys.line(name) != name:
                why = f"{endpoint.shown} lists a model whose name cannot be shown, since it {self._find_odd(name)}"
                shown = self.keys.line(f"{why} ({self.keys.line(name)})")
                raise Fault(shown, status=200, retry=False)
        return names

    def _find_odd(self, name: str) -> str:
        """Say what is wrong with a name that a line cannot hold as it is."""
        if self.keys.hide(name) != name:
            return "holds a key"
        if name != name.strip():
            return "begins or ends with a space"
        if one_line(name) != name:
            return "holds hidden or double spaces, or what no terminal shows"
        return f"has {len(name):,} characters"

    async def close(self) -> None:
        """Close every connection."""
        for endpoint in self.endpoints:
            for lane in endpoint.lanes:
                await lane.client.close()
            endpoint.lanes.clear()


def _let_rest(endpoint: Endpoint, begun: float) -> None:
    """Rest a server for a call that was begun at a time; longer each time, but calls that fail together are one."""
    if begun >= endpoint.rested_at:
        endpoint.rest = min(max(endpoint.rest * 2, _FIRST_REST), _LONGEST_REST)
        endpoint.rested_at = time.monotonic()
        endpoint.rest_until = endpoint.rested_at + endpoint.rest


async def within(seconds: float, call: Awaitable[T]) -> T:
    """Wait for a call no longer than some seconds; `TimeoutError` after that."""
    async with asyncio.timeout(seconds):
        return await call


def backoff(attempt: int) -> float:
    """Return seconds to wait after failed attempt n (from 0): 0.5 s doubled each time up to 20, less up to half."""
    return min(0.5 * 2.0**attempt, 20.0) * random.uniform(0.5, 1.0)
