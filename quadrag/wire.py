"""One chat completion over `huggingface_hub.AsyncInferenceClient`: a ledger row, or a `Fault` that says why not.

It chooses among base URLs by load, rests a URL whose connections fail and pauses one that asks for it. It does
not retry, count or store: see `quadrag.dispatch`.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from huggingface_hub import AsyncInferenceClient, get_async_session

from quadrag.faults import CONNECT_SECONDS, Fault, read_fault
from quadrag.reply import reply_row
from quadrag.spec import Keys, Spec, models_url, shown_url

if TYPE_CHECKING:
    from huggingface_hub import ChatCompletionOutput

T = TypeVar("T")

# The HTTP library keeps 20 idle connections per client and walks its pool at every request.
_CALLS_PER_CLIENT = 32
# Seconds; a server that asks for longer is as good as refusing.
LONGEST_WAIT = 600.0
_FIRST_REST, _LONGEST_REST = 1.0, 30.0


class _Lane:
    """One inference client with the number of its calls in flight."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.load = 0


class Endpoint:
    """One base URL (or Inference Providers) with its clients, load and state."""

    def __init__(self, url: str | None) -> None:
        """Start with no client; they are opened as the load asks for them."""
        self.url = url
        self.lanes: list[_Lane] = []
        self.load = 0
        self.rest = 0.0
        self.rest_until = 0.0
        self.pause_until = 0.0

    @property
    def shown(self) -> str:
        """The URL as messages may name it."""
        return shown_url(self.url) if self.url else "Inference Providers"


class Wire:
    """The way to a model's servers."""

    def __init__(self, spec: Spec, keys: Keys, timeout: float) -> None:
        """Prepare the way; nothing is opened yet.

        Args:
            spec: where the model is.
            keys: the key to send and what to hide.
            timeout: seconds one attempt may take altogether.
        """
        self.keys = keys
        self.timeout = timeout
        self.endpoints = [Endpoint(url) for url in spec.urls] or [Endpoint(None)]
        self._turn = 0

    def choose(self, avoid: Endpoint | None = None) -> tuple[Endpoint, float]:
        """Choose where the next attempt goes.

        Args:
            avoid: where the last attempt of this call failed; taken only when nothing else is there.

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

    def _lane(self, endpoint: Endpoint) -> _Lane:
        lane = min(endpoint.lanes, key=lambda one: one.load, default=None)
        if lane is None or lane.load >= _CALLS_PER_CLIENT:
            lane = _Lane(self.client(endpoint))
            endpoint.lanes.append(lane)
        return lane

    def client(self, endpoint: Endpoint) -> Any:
        """Open a client of a server; it has a coroutine `close`."""
        # A header of None keeps the client from sending a saved Hub login to any server.
        headers: Any = None if self.keys.value or endpoint.url is None else {"authorization": None}
        place: dict[str, Any] = {"base_url": endpoint.url} if endpoint.url else {"provider": "auto"}
        return AsyncInferenceClient(**place, token=self.keys.value, timeout=self.limits, headers=headers)

    @property
    def limits(self) -> Any:
        """Limits of the HTTP library: on connecting alone, since its others are per read and cost much."""
        return (min(self.timeout, CONNECT_SECONDS), None, None, None)

    async def ask(
        self, endpoint: Endpoint, messages: Sequence[Mapping[str, Any]], model: str, body: dict[str, Any]
    ) -> dict[str, Any]:
        """Make one attempt.

        Args:
            endpoint: where.
            messages: the chat messages.
            model: the model's name, as requested.
            body: the other fields of the request.

        Returns:
            The reply as a ledger row (see `quadrag.reply.reply_row`).

        Raises:
            Fault: there is no reply that can be read.
        """
        lane = self._lane(endpoint)
        lane.load += 1
        endpoint.load += 1
        try:
            row = await self.attempt(lane.client, endpoint, messages, model, body)
        except Exception as error:
            fault = self.fault(error, endpoint)
            if not fault.connected:
                endpoint.rest = min(max(endpoint.rest * 2, _FIRST_REST), _LONGEST_REST)
                endpoint.rest_until = time.monotonic() + endpoint.rest
            elif fault.wait is not None and fault.wait <= LONGEST_WAIT:
                endpoint.pause_until = max(endpoint.pause_until, time.monotonic() + fault.wait)
            raise fault from None
        finally:
            lane.load -= 1
            endpoint.load -= 1
        endpoint.rest = endpoint.rest_until = 0.0
        return row

    async def attempt(
        self, client: Any, endpoint: Endpoint, messages: Sequence[Mapping[str, Any]], model: str, body: dict[str, Any]
    ) -> dict[str, Any]:
        """Make one attempt by a client; see `ask`. What it raises is read by `fault`."""
        started = time.perf_counter()
        if endpoint.url and client.__dict__.get("_async_client", self) is None:
            await _leave_offline_mode(client)
        call = client.chat_completion(messages, model=model, extra_body=body)
        output: ChatCompletionOutput = await within(self.timeout, call)
        return reply_row(output, time.perf_counter() - started, self.keys)

    def fault(self, error: Exception, endpoint: Endpoint) -> Fault:
        """Read what an attempt raised."""
        return read_fault(error, endpoint.shown, self.timeout, self.keys, endpoint.url is None)

    async def served(self) -> list[str]:
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
        headers = {"authorization": f"Bearer {self.keys.value}"} if self.keys.value else {}
        try:
            async with get_async_session() as session:
                session.event_hooks = {}
                response = await session.get(
                    models_url(endpoint.url or ""), headers=headers, timeout=min(self.timeout, 10.0)
                )
                response.raise_for_status()
                return [str(entry["id"]) for entry in response.json()["data"]]
        except Exception as error:
            raise self.fault(error, endpoint) from None

    async def close(self) -> None:
        """Close every connection."""
        for endpoint in self.endpoints:
            for lane in endpoint.lanes:
                await lane.client.close()
            endpoint.lanes.clear()


async def within(seconds: float, call: Awaitable[T]) -> T:
    """Wait for a call no longer than some seconds; `TimeoutError` after that."""
    if sys.version_info >= (3, 11):
        async with asyncio.timeout(seconds):
            return await call
    return await asyncio.wait_for(call, seconds)


async def _leave_offline_mode(client: AsyncInferenceClient) -> None:
    # HF_HUB_OFFLINE speaks of the Hub, but its hook stops calls to a server on this machine as well.
    opener = getattr(client, "_get_async_client", None)
    session: Any = await opener() if opener else None
    if hasattr(session, "event_hooks"):
        session.event_hooks = {}


def backoff(attempt: int) -> float:
    """Return seconds to wait after failed attempt n (from 0): 0.5 s doubled each time up to 20, less up to half."""
    return min(0.5 * 2.0**attempt, 20.0) * random.uniform(0.5, 1.0)
