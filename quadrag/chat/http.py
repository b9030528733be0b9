"""One attempt at a model's server: what is sent, what it may do to the client, and what comes of it.

`Transport` knows the form of requests and replies; a service of another form is a subclass that `ChatClient` is given.
`Server` makes an attempt, a ledger row or a `Fault`, by a POST whose reply is read up to a limit, counted as it is
unpacked; no charset that a server names is ever used. It does not retry, count or store.
"""

from __future__ import annotations

import json
import logging
import time
import zlib
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

from .completer import Messages
from .faults import Fault, read_fault, read_status
from .keys import KEY_VARIABLES, find_keys
from .policy import CallPolicy
from .reply import Row, read_completion
from .spec import Spec, page_url, without_user

T = TypeVar("T")

CONNECT_SECONDS = 10.0
ROUTER = "https://router.huggingface.co/v1"  # of Inference Providers
_LISTING = 10.0  # seconds
_CALLS = 8  # at once in a session of the HTTP library, which goes through all of its connections for each


class Transport:
    """Chat completions of OpenAI's form."""

    timeout = 120.0  # seconds, where the user names none
    stalls = 1_000  # new attempts of a call that got no reply in time, of those that any other has too
    form = "a chat completion"
    remedy = "correct the address, the model's name or the request's parameters"  # of a request that is refused
    unsent: tuple[str, ...] = ()  # parameters that stand in keys and are no fields of the request
    key_variables: Sequence[str] = KEY_VARIABLES  # of the key that may be sent

    def compose(self, messages: Messages) -> Messages:
        """Return a call's messages as they are sent, and as they stand in its key."""
        return messages

    async def attempt(self, server: Server, messages: Messages, model: str, body: dict[str, Any]) -> Row:
        """Make one attempt, by `Server.send`, and return the ledger's row; what is raised `read_fault` explains."""
        sent = {**body, "model": model, "messages": messages, "stream": False}
        return read_completion(json.loads(await server.send(page_url(server.address, "chat/completions"), sent)))


class Server:
    """A base URL, or Inference Providers, with its key, what it is allowed, and the connections to it."""

    def __init__(self, spec: Spec, policy: CallPolicy, transport: Transport) -> None:
        """Describe the server; nothing is opened before the first call."""
        self.transport, self.keys = transport, find_keys(spec, transport.key_variables)
        self.timeout, self._most = policy.timeout or transport.timeout, policy.max_reply_bytes
        self.shown = spec.shown
        # Without user and password, which the HTTP library would show in its log and its errors.
        self.address = without_user(spec.url) if spec.url else ROUTER
        self._sessions: list[Any] = []
        self._width, self._sent = -(-policy.concurrency // _CALLS), 0
        # What all calls know of it: how many it has answered, when it did last, until when it is to be left alone, and
        # how many at once it bears.
        self.answers, self.answered_at, self.pause_until, self.bears = 0, float("-inf"), 0.0, 1

    async def ask(self, messages: Messages, model: str, body: dict[str, Any]) -> Row:
        """Make one attempt: a ledger row with ``latency`` (seconds) and ``created`` (Unix time), or raise a Fault."""
        started = time.perf_counter()
        row = self.keys.hide_in(await self._try(self.timeout, self.transport.attempt(self, messages, model, body)))
        row["latency"], row["created"] = round(time.perf_counter() - started, 6), round(time.time(), 3)
        return row

    async def list_models(self) -> list[str]:
        """Return the ids that the server lists, else raise a Fault."""
        try:
            content = await self._try(min(self.timeout, _LISTING), self.send(page_url(self.address, "models")))
            names = [entry["id"] for entry in json.loads(content)["data"]]
        except (ValueError, TypeError, KeyError, RecursionError):
            detail = self.keys.line(f"{self.shown} answered with no list of models")
            raise Fault(detail, status=200, retry=False) from None
        finally:
            await self.close()
        return [name for name in names if self.keys.line(name) == name]  # else it holds a key, or is no line

    async def send(self, address: str, body: Any = None) -> bytes:
        """Post JSON with the server's key, or get a page; return the body of a good reply, of so many bytes at most."""
        headers = {**self.keys.headers, "content-type": "application/json"}
        session = self._sessions[self._sent % self._width]
        self._sent += 1
        content = None if body is None else json.dumps(body).encode()
        request = session.build_request("POST" if content else "GET", address, content=content, headers=headers)
        response = await session.send(request, stream=True)
        try:
            came, whole = await self._read(response)
        finally:
            await response.aclose()
        if not response.is_success:
            raise read_status(response, came, self.shown, self.keys)
        if not whole:
            detail = f"the reply has more than {self._most} bytes; a larger max_reply_bytes reads more"
            raise Fault(f"{self.shown}: {detail}", status=response.status_code, retry=False, billed=True)
        return came

    async def close(self) -> None:
        """Close every connection."""
        sessions, self._sessions = self._sessions, []
        for session in sessions:
            await session.aclose()

    async def _try(self, seconds: float, call: Awaitable[T]) -> T:
        """Wait for a call no longer than some seconds; whatever goes wrong is a Fault."""
        import asyncio

        self._sessions = self._sessions or _open_sessions(self._width, min(self.timeout, CONNECT_SECONDS))
        try:
            async with asyncio.timeout(seconds):
                return await call
        except Exception as error:
            raise read_fault(error, self.shown, seconds, self.keys, self.transport.form) from None

    async def _read(self, response: Any) -> tuple[bytes, bool]:
        """Read a body; returns what there is of it up to the limit, and whether that is all."""
        packed = "gzip" in response.headers.get("content-encoding", "").lower()
        unpacker = zlib.decompressobj(31) if packed else None
        parts, size, arrived = [], 0, 0
        async for part in response.aiter_raw():
            arrived += len(part)
            parts.append(part if unpacker is None else unpacker.decompress(part, self._most + 1 - size))
            size += len(parts[-1])
            if max(size, arrived) > self._most:
                return b"".join(parts)[: self._most], False
        return b"".join(parts), True


def _open_sessions(number: int, connect: float) -> list[Any]:
    """Open sessions of the HTTP library, which bound the time to connect alone."""
    import httpx2

    for name in ("httpx2", "httpcore2"):  # which log whole addresses, and what a server says in the head of its reply
        logging.getLogger(name).setLevel(logging.CRITICAL)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    options: dict[str, Any] = {"verify": httpx2.create_ssl_context(), "headers": {"accept-encoding": "gzip"}}
    timeout = httpx2.Timeout(None, connect=connect)
    return [httpx2.AsyncClient(limits=limits, timeout=timeout, **options) for _ in range(number)]
