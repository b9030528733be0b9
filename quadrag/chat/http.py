"""One attempt at a model's server: what is sent, what it may do to the client, and what comes of it.

`Transport` knows the form of requests and replies; a service of another form is a subclass that `ChatClient` is given.
`Wire` makes an attempt, a ledger row or a `Fault`; it does not retry, count or store. A body is read up to a limit,
counted as it is unpacked; an error is a `Fault` before any other code reads of it, so no charset that a server names is
ever used. Importing this file loads no network code.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from quadrag.chat.faults import Fault, explain_dead_server, read_fault, read_status
from quadrag.chat.keys import Keys, basic_credentials, find_keys, known_keys
from quadrag.chat.prices import Rate
from quadrag.chat.reply import CUT, EMPTY, Failure, Outcome, Reply, Row, read_completion, read_row
from quadrag.chat.spec import PROVIDERS, Spec, page_url, shown_url, without_user
from quadrag.errors import QuadragError, one_line
from quadrag.progress import say

T = TypeVar("T")

CONNECT_SECONDS = 10.0
MOST_REPLY_BYTES = 16_000_000
LONGEST_WAIT = 600.0  # seconds; a server that asks for longer is as good as refusing
_ROUTER = "https://router.huggingface.co/v1"  # of Inference Providers
_LISTING = 10.0  # seconds
# The HTTP library keeps 20 idle connections per session and walks its pool at every request.
_CALLS_PER_SESSION = 32
_UNPACKED = {"": None, "identity": None, "gzip": 31, "x-gzip": 31}  # encodings with zlib's word for them


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a server is allowed."""

    timeout: float  # seconds that an attempt may take altogether
    reply_bytes: int = MOST_REPLY_BYTES  # the longest body that is read, as it is when it is unpacked
    redirects: frozenset[str] = frozenset()  # hosts that a server may send the client on to, besides its own


@dataclass(eq=False, slots=True)
class Server:
    """A base URL (None: Inference Providers) with its key and what it is allowed."""

    url: str | None = field(repr=False)
    keys: Keys
    bounds: Bounds

    @property
    def shown(self) -> str:
        """The URL as messages may name it."""
        return shown_url(self.url) if self.url else PROVIDERS

    @property
    def address(self) -> str:
        """The URL to ask, without user and password: the HTTP library would show them in its log and its errors."""
        return without_user(self.url) if self.url else _ROUTER

    @property
    def headers(self) -> dict[str, str]:
        """The headers that go with it: user and password of the URL, else the key, which may have its own."""
        basic, key, own = basic_credentials(self.url or ""), self.keys.value, self.keys.header
        sent = {"authorization": f"Basic {basic}" if basic else f"Bearer {key}"} if basic or (key and not own) else {}
        return {**sent, own: key} if own and key else sent

    @property
    def connect_limits(self) -> Any:
        """Limits of the HTTP library: on connecting alone, since its others are per read and cost much."""
        return (min(self.bounds.timeout, CONNECT_SECONDS), None, None, None)


class Transport:
    """Chat completions of OpenAI's form."""

    timeout_option = "--timeout"
    timeout = 120.0  # seconds, where the user names none
    stalls = 1_000  # new attempts of a call that got no reply in time, of those that any other has too
    page = "/chat/completions"
    form = "a chat completion"
    unsent: tuple[str, ...] = ()  # parameters that stand in keys and are no fields of the request

    def find_keys(self, spec: Spec) -> Keys:
        """Return the key to send and what to hide; see `quadrag.chat.keys.find_keys`."""
        return find_keys(spec)

    def compose(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return a call's messages as they are sent, and as they stand in its key."""
        return [dict(message) for message in messages]

    async def attempt(
        self, session: Any, server: Server, messages: Sequence[Mapping[str, Any]], model: str, body: dict[str, Any]
    ) -> Row:
        """Make one attempt by a guarded session and return the ledger's row; what is raised `read_fault` explains."""
        sent = {"model": model, "messages": messages, "stream": False, **body}
        return read_completion(json.loads(await post_json(session, server, self._address(server), sent)))

    def said(self, row: Row) -> str:
        """Return what a server said in a reply, in which it may have repeated a secret."""
        return f"{row['text']}\n{row['reasoning']}"

    def read_fault(self, error: Exception, server: Server, seconds: float) -> Fault:
        """Read what an attempt raised that was given so many seconds."""
        return read_fault(error, server.shown, seconds, min(seconds, CONNECT_SECONDS), server.keys, self.form)

    async def explain_dead(
        self, faults: Sequence[Fault], model: str, keys: Keys, list_models: Callable[[], Awaitable[list[str]]]
    ) -> QuadragError:
        """Return the error for a server of which nothing came but faults."""
        served: list[str] | Fault = []
        if any(fault.status == 404 for fault in faults):
            try:
                served = await list_models()
            except Fault as unlisted:
                served = unlisted
        return explain_dead_server(faults, model, served, keys, self.timeout_option, self.page)

    def read_outcome(self, outcome: Outcome, cached: bool, rate: Rate | None) -> Reply | Failure:
        """Make of a ledger row, or of the line why there is none, what callers get."""
        if isinstance(outcome, str):
            return Failure("api_error", outcome)
        usage = outcome["usage"]
        cost = 0.0 if cached else None
        if cost is None and rate is not None and usage is not None:
            cost = float(rate.cost(usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)))
        return read_row(outcome, cached, cost)

    def kind_of(self, row: Row) -> str | None:
        """Tell whether a reply was cut, or is empty."""
        result = self.read_outcome(row, True, None)
        if isinstance(result, Failure) or result.finish_reason == "length":
            return CUT
        return None if result.text.strip() else EMPTY

    def _address(self, server: Server) -> str:
        return page_url(server.address, self.page[1:])


async def post_json(session: Any, server: Server, address: str, body: Any) -> bytes:
    """Send JSON by a guarded session, with the server's key; return the body of a good reply."""
    headers = {"content-type": "application/json", **server.headers}
    sent = json.dumps(body, ensure_ascii=False).encode()
    response = await session.post(address, content=sent, headers=headers, timeout=server.connect_limits)
    content: bytes = response.content
    return content


class Wire:
    """The way to a model's server; `load` is the number of calls in flight."""

    def __init__(self, spec: Spec, bounds: Bounds, transport: Transport) -> None:
        self.transport = transport
        self.keys = transport.find_keys(spec)
        self.server = Server(spec.url, self.keys, bounds)
        self.load = 0
        self._sessions: list[Any] = []
        self._free: list[Any] = []  # sessions, one for each call that they may carry besides
        self._pause_until = 0.0
        self._echoed = not self.keys.secrets  # whether it was told, or there is nothing to tell
        if self.keys.login and self.keys.value and not self.keys.header:
            told = f"the user and password of its URL are sent, not the key in {self.keys.variable}"
            say(f"{self.server.shown}: {told}")

    @property
    def pause(self) -> float:
        """Seconds for which the server wants no calls."""
        return max(0.0, self._pause_until - time.monotonic())

    async def ask(self, messages: Sequence[Mapping[str, Any]], model: str, body: dict[str, Any]) -> Row:
        """Make one attempt: a ledger row with ``latency`` (seconds) and ``created`` (Unix time), or raise a Fault."""
        if not self._free:
            self._sessions.append(_open_session(self.server))
            self._free += [self._sessions[-1]] * _CALLS_PER_SESSION
        session = self._free.pop()
        self.load += 1
        seconds = self.server.bounds.timeout
        try:
            if self.server.url is None and not self.keys.value:
                raise Fault(f"{PROVIDERS} want a token of Hugging Face; set HF_TOKEN to one", retry=False)
            started = time.perf_counter()
            row = await _within(seconds, self.transport.attempt(session, self.server, messages, model, body))
            row["latency"], row["created"] = round(time.perf_counter() - started, 6), round(time.time(), 3)
        except Exception as error:
            fault = self.transport.read_fault(error, self.server, seconds)
            if fault.wait is not None and fault.wait <= LONGEST_WAIT:
                self._pause_until = max(self._pause_until, time.monotonic() + fault.wait)
            raise fault from None
        finally:
            self._free.append(session)
            self.load -= 1
        if not self._echoed and self.keys.echoed(self.transport.said(row)):
            self._echoed = True
            told = "repeats a secret, your key or its URL's, in a reply; files of replies hold it now"
            say(f"{self.server.shown} {told}")
        return row

    async def list_models(self) -> list[str]:
        """Return the ids that the server lists, else raise a Fault."""
        server, seconds = self.server, min(self.server.bounds.timeout, _LISTING)
        if server.url is None:
            raise Fault(f"{PROVIDERS} list no models", retry=False)
        try:
            async with _open_session(server) as session:
                asked = session.get(page_url(server.address, "models"), headers=server.headers, timeout=seconds)
                content = (await _within(seconds, asked)).content
        except Exception as error:
            raise self.transport.read_fault(error, server, seconds) from None
        try:
            names = [entry["id"] for entry in json.loads(content)["data"] if isinstance(entry["id"], str)]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise Fault(f"{server.shown} answered with no list of models", status=200, retry=False) from None
        for name in names:
            if self.keys.line(name) != name:
                why = f"{server.shown} lists a model whose name cannot be shown, since it {self._find_odd(name)}"
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
        sessions, self._sessions, self._free = self._sessions, [], []
        for session in sessions:
            await session.aclose()


async def _within(seconds: float, call: Awaitable[T]) -> T:
    """Wait for a call no longer than some seconds; `TimeoutError` after that."""
    import asyncio

    async with asyncio.timeout(seconds):
        return await call


def _open_session(server: Server) -> Any:
    """Open a session of the HTTP library whose server may send only so much, in few codes, and on to few hosts."""
    from huggingface_hub import get_async_session

    session = get_async_session()

    async def check_host(request: Any) -> None:
        # A redirect takes over what stands in the extensions of the request before it.
        host, first = request.url.host, request.extensions.get("quadrag_host")
        if first is None:
            request.extensions["quadrag_host"] = host
            return
        if host != first and host not in server.bounds.redirects:
            named = f"{server.shown} redirects to {host}, which would get all that is sent"
            raise _refuse(server, f"{named}; name that address, or allow it with --allow-redirect {host}")
        if host != first and server.keys.header:  # a bearer the library itself takes back
            request.headers.pop(server.keys.header, None)
        if request.url.scheme not in ("http", "https") or not 0 <= (request.url.port or 0) < 1 << 16:
            raise _refuse(server, f"{server.shown} redirects to {request.url.scheme}, port {request.url.port}")

    async def read_body(response: Any) -> None:
        if response.status_code == 200 and _is_bounded(response.headers, server.bounds.reply_bytes):
            await response.aread()  # nearly every reply: read as the library itself would, which is quickest
            return
        body, whole = await _read(response, server)
        if not response.is_success and not response.has_redirect_location:
            raise read_status(response, body, server.shown, server.keys)
        if not whole:
            most = server.bounds.reply_bytes
            detail = f"{server.shown}: the reply has more than {most} bytes; read more with --max-reply-bytes"
            raise Fault(detail, status=response.status_code, retry=False, billed=True)
        response.stream = sys.modules[_library(response)].ByteStream(body)

    # HF_HUB_OFFLINE speaks of the Hub, but its hook stops calls to a server on this machine as well.
    kept = session.event_hooks["request"] if server.url is None else []
    session.event_hooks = {"request": [*kept, check_host], "response": [read_body]}
    session.headers["accept-encoding"] = "gzip"
    library = _library(session)
    for name in (library, f"{library.replace('httpx', 'httpcore')}.http11"):
        logging.getLogger(name).addFilter(_hide_secrets)
    return session


def _is_bounded(headers: Any, most: int) -> bool:
    """Tell whether the library itself will read no more of a body than a number of bytes."""
    length = headers.get("content-length", "")
    # Twelve digits: Python refuses to read integers of thousands.
    bounded = length.isdecimal() and len(length) <= 12 and int(length) <= most
    return bounded and "content-encoding" not in headers and "transfer-encoding" not in headers


async def _read(response: Any, server: Server) -> tuple[bytes, bool]:
    """Read a body; returns what there is of it up to the limit, and whether that is all."""
    encoding = response.headers.pop("content-encoding", "").strip().lower()
    if encoding not in _UNPACKED:
        raise _refuse(server, f"{server.shown}: the reply is encoded as {encoding!r}; expected gzip or none")
    wbits = _UNPACKED[encoding]
    unpacker = None if wbits is None else zlib.decompressobj(wbits)
    most = server.bounds.reply_bytes
    parts: list[bytes] = []
    size = arrived = 0
    async for part in response.stream:
        arrived += len(part)
        if unpacker is not None:
            try:
                part = unpacker.decompress(part, most + 1 - size)
            except zlib.error as error:
                raise Fault(f"{server.shown}: the reply is no gzip ({error})", billed=True) from None
        parts.append(part)
        size += len(part)
        if max(size, arrived) > most:
            return b"".join(parts)[:most], False
    await response.stream.aclose()
    return b"".join(parts), True


def _refuse(server: Server, detail: str) -> Fault:
    return Fault(server.keys.line(detail), retry=False)


def _library(instance: Any) -> str:
    """Name the HTTP library that something is of: httpx or httpx2, by the release of huggingface_hub."""
    kinds = type(instance).__mro__
    return next(kind.__module__.partition(".")[0] for kind in kinds if kind.__module__.startswith("httpx"))


def _hide_secrets(record: logging.LogRecord) -> bool:
    """Hide secrets in what the HTTP library logs: whole addresses, and what a server says in the head of its reply."""
    record.msg, record.args = known_keys(1).hide(record.getMessage()), ()
    return True
