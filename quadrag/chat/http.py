"""One attempt at a model's server: what is sent, what it may do to the client, and what comes of it.

`Transport` knows the form of requests and replies; a service of another form is a subclass that `ChatClient` is given.
`Server` makes an attempt, a ledger row or a `Fault`, by a POST that is capped: a body is read up to a limit, counted as
it is unpacked, and an error is a `Fault` before any other code reads of it, so no charset that a server names is ever
used. It does not retry, count or store. Importing this file loads no network code.
"""

from __future__ import annotations

import json
import logging
import time
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from quadrag.chat.faults import Fault, explain_dead_server, read_fault, read_status
from quadrag.chat.keys import Keys, basic_credentials, find_keys, known_keys
from quadrag.chat.prices import Rate
from quadrag.chat.reply import CUT, EMPTY, Failure, Outcome, Reply, Row, read_completion, read_row
from quadrag.chat.spec import PROVIDERS, Spec, page_url, without_user
from quadrag.errors import QuadragError
from quadrag.progress import say

T = TypeVar("T")

CONNECT_SECONDS = 10.0
MOST_REPLY_BYTES = 16_000_000
ROUTER = "https://router.huggingface.co/v1"  # of Inference Providers
_LISTING = 10.0  # seconds
_REDIRECTS = 10


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a server is allowed."""

    timeout: float  # seconds that an attempt may take altogether
    reply_bytes: int = MOST_REPLY_BYTES  # the longest body that is read, as it is when it is unpacked
    redirects: frozenset[str] = frozenset()  # hosts that a server may send the client on to, besides its own


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
        """Make one attempt, by `post_json`, and return the ledger's row; what is raised `read_fault` explains."""
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


class Server:
    """A base URL, or Inference Providers, with its key, what it is allowed, and the connections to it."""

    def __init__(self, spec: Spec, bounds: Bounds, transport: Transport) -> None:
        """Describe the server; nothing is opened before the first call."""
        self.bounds, self.transport, self.keys = bounds, transport, transport.find_keys(spec)
        self.url, self.shown = spec.url, spec.shown
        # Without user and password, which the HTTP library would show in its log and its errors.
        self.address = without_user(spec.url) if spec.url else ROUTER
        self._session: Any = None
        self._echoed = not self.keys.secrets  # whether it was told, or there is nothing to tell
        basic, key, header = basic_credentials(spec.url or ""), self.keys.value, self.keys.header
        bearer = f"Basic {basic}" if basic else f"Bearer {key}" if key and not header else ""
        self._headers = {name: value for name, value in (("authorization", bearer), (header, key)) if name and value}

    async def ask(self, messages: Sequence[Mapping[str, Any]], model: str, body: dict[str, Any]) -> Row:
        """Make one attempt: a ledger row with ``latency`` (seconds) and ``created`` (Unix time), or raise a Fault."""
        if self.url is None:
            _check_providers(self.keys)
        started = time.perf_counter()
        row = await self._try(
            self.bounds.timeout, lambda session: self.transport.attempt(session, self, messages, model, body)
        )
        row["latency"], row["created"] = round(time.perf_counter() - started, 6), round(time.time(), 3)
        if not self._echoed and self.keys.echoed(self.transport.said(row)):
            self._echoed = True
            say(f"{self.shown} repeats a secret, your key or its URL's, in a reply; files of replies hold it now")
        return row

    async def list_models(self) -> list[str]:
        """Return the ids that the server lists, else raise a Fault."""
        if self.url is None:
            raise Fault(f"{PROVIDERS} list no models", retry=False)
        page = page_url(self.address, "models")
        seconds = min(self.bounds.timeout, _LISTING)
        content = await self._try(seconds, lambda session: self.send(session, "GET", page, None))
        try:
            names = [entry["id"] for entry in json.loads(content)["data"] if isinstance(entry["id"], str)]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise Fault(f"{self.shown} answered with no list of models", status=200, retry=False) from None
        for name in names:
            if (shown := self.keys.line(name)) != name:
                detail = f"{self.shown} lists a model whose name holds a key, or what no line can hold ({shown})"
                raise Fault(self.keys.line(detail), status=200, retry=False)
        return names

    async def send(self, session: Any, method: str, address: str, content: bytes | None) -> bytes:
        """Send a request with the server's key, and return the body of a good reply, of so many bytes at most."""
        headers = {**self._headers, **({"content-type": "application/json"} if content is not None else {})}
        request = session.build_request(method, address, content=content, headers=headers)
        for _ in range(_REDIRECTS):
            response = await session.send(request, stream=True)
            try:
                body, whole = await self._read(response)
            finally:
                await response.aclose()
            if not response.is_success and response.next_request is None:
                raise read_status(response, body, self.shown, self.keys)
            if not whole:
                detail = f"the reply has more than {self.bounds.reply_bytes} bytes; read more with --max-reply-bytes"
                raise Fault(f"{self.shown}: {detail}", status=response.status_code, retry=False, billed=True)
            if response.next_request is None:
                return body
            request = self._follow(request, response.next_request)
        raise self._refuse("redirects again and again")

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.aclose()
            self._session = None

    async def _try(self, seconds: float, call: Callable[[Any], Awaitable[T]]) -> T:
        """Make a call by the session and wait no longer than some seconds; whatever goes wrong is a Fault."""
        import asyncio

        if self._session is None:
            self._session = _open_session(min(self.bounds.timeout, CONNECT_SECONDS))
        try:
            async with asyncio.timeout(seconds):
                return await call(self._session)
        except Exception as error:
            raise self.transport.read_fault(error, self, seconds) from None

    async def _read(self, response: Any) -> tuple[bytes, bool]:
        """Read a body; returns what there is of it up to the limit, and whether that is all."""
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise self._refuse(f"sends a reply encoded as {encoding!r}; expected gzip or none")
        unpacker = zlib.decompressobj(31) if "gzip" in encoding else None
        most, parts, size, arrived = self.bounds.reply_bytes, [], 0, 0
        async for part in response.aiter_raw():
            arrived += len(part)
            parts.append(part if unpacker is None else unpacker.decompress(part, most + 1 - size))
            size += len(parts[-1])
            if max(size, arrived) > most:
                return b"".join(parts)[:most], False
        return b"".join(parts), True

    def _follow(self, first: Any, then: Any) -> Any:
        """Check where a server sends the client on to; the key stays with the host that it is for."""
        host = then.url.host
        if host != first.url.host and host not in self.bounds.redirects:
            way = f"which would get all that is sent; name that address, or allow it with --allow-redirect {host}"
            raise self._refuse(f"redirects to {host}, {way}")
        if then.method != first.method or then.url.scheme not in ("http", "https") or (then.url.port or 1) > 65535:
            raise self._refuse(
                f"redirects to {then.url.scheme}://{host}:{then.url.port}, by {then.method}; name an address"
            )
        if host != first.url.host and self.keys.header:  # a bearer the library itself takes back
            then.headers.pop(self.keys.header, None)
        return then

    def _refuse(self, what: str) -> Fault:
        return Fault(self.keys.line(f"{self.shown} {what}"), retry=False)


async def post_json(session: Any, server: Server, address: str, body: Any) -> bytes:
    """Send JSON with the server's key; return the body of a good reply."""
    return await server.send(session, "POST", address, json.dumps(body, ensure_ascii=False).encode())


def _open_session(connect: float) -> Any:
    """Open a session of the HTTP library: it bounds the time to connect alone, and shows no secret in its log."""
    import httpx2

    for name in ("httpx2", "httpcore2.http11"):
        logging.getLogger(name).addFilter(_hide_secrets)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    timeout = httpx2.Timeout(None, connect=connect)
    return httpx2.AsyncClient(limits=limits, timeout=timeout, headers={"accept-encoding": "gzip"})


def _check_providers(keys: Keys) -> None:
    from huggingface_hub import constants

    if not keys.value:
        raise Fault(f"{PROVIDERS} want a token of Hugging Face; set HF_TOKEN to one", retry=False)
    if constants.HF_HUB_OFFLINE:
        raise Fault(f"HF_HUB_OFFLINE is set, so {PROVIDERS} are not asked", retry=False)


def _hide_secrets(record: logging.LogRecord) -> bool:
    """Hide secrets in what the HTTP library logs: whole addresses, and what a server says in the head of its reply."""
    record.msg, record.args = known_keys(1).hide(record.getMessage()), ()
    return True
