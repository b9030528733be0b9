"""One attempt at a model's server: what is sent, what it may do to the client, and what comes of it.

`Transport` knows the form of requests and replies; a service of another form is a subclass that `ChatClient` is given.
`Server` makes an attempt, a ledger row or a `Fault`, by a POST whose reply is read up to a limit, counted as it is
unpacked; no charset that a server names is ever used. It does not retry, count or store.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
import zlib
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from quadrag.errors import NO_DESCRIPTORS, QuadragError, Unreadable

from .keys import KEY_VARIABLES, Keys, Spec, find_keys, page_url, shown_url, without_user
from .policy import CallPolicy
from .reply import Messages, NoText, Reply, read_completion, read_row

T = TypeVar("T")

ROUTER = "https://router.huggingface.co/v1"  # of Inference Providers
_CONNECT_SECONDS = _LISTING_SECONDS = 10.0
_CALLS = 8  # at once in a session of the HTTP library, which goes through all of its connections for each
_READ = 4000  # characters of an error's body that are looked at
# How servers say that a request does not fit into the model's context.
_TOO_LONG = re.compile(
    r"context.?(?:length|window|size|limit)|exceed_context|too long|\btoken.{0,80}\bexceeds?\b|上下文",
    re.IGNORECASE | re.DOTALL,
)
# Of a field the name under which it is sent, None where it is left out.
Refused = dict[str, str | None]
_LENGTH = re.compile(r"\bmax_(?:\w+_)?tokens\b")
# Of a value that is out of bounds, which is the user's to correct; 0 alone asks for nothing drawn.
_BOUNDS = re.compile(
    r"[<>≤≥]|\b(?:at (?:least|most)|(?:less|greater|larger|smaller|more|fewer) than|between|range|"
    r"(?:max|min)imum|negative|positive)\b"
)


@dataclass(eq=False)
class Fault(Exception):
    detail: str  # what happened, as one line without keys
    _: KW_ONLY
    status: int | None = None
    retry: bool = True  # whether another attempt may help
    connected: bool = True  # False where no connection came about, so the server has not seen the call
    billed: bool = False  # whether the server may have done the work
    wait: float | None = None  # seconds the server asked to wait
    reason: str = "api_error"  # of the call that failed so; "unparsable" where a reply is not of its form
    own: bool = False  # whether the call itself is at fault, which tells nothing of the server
    stalled: bool = False  # whether the server took the call and said nothing in time
    refusal: str = ""  # what a server says that refuses the request itself


class DeadServer(QuadragError):
    """A server of which nothing came but faults."""


def read_fault(error: Exception, where: str, timeout: float, keys: Keys, form: str) -> Fault:
    """Describe the exception that an attempt ended with, whatever it is: no reply may end a run."""
    import httpx2

    chain: list[BaseException] = [error]
    while cause := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(cause)
    for cause in chain:
        if isinstance(cause, Fault):
            return cause
        if isinstance(cause, OSError) and cause.errno in NO_DESCRIPTORS:
            raise cause from None  # of this no server is guilty
    if isinstance(error, TimeoutError):
        return Fault(f"{where}: no reply within {timeout:g} s", billed=True, stalled=True)
    if isinstance(error, (NoText, Unreadable)):
        # Another attempt would bring the same, and the server is well.
        reason = "unparsable" if isinstance(error, Unreadable) else "api_error"
        return Fault(keys.line(f"{where}: {error}"), status=200, retry=False, billed=True, reason=reason)
    if isinstance(error, (httpx2.HTTPError, httpx2.InvalidURL)):
        reached = not isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout))
        codes = [cause.errno for cause in chain if isinstance(cause, OSError) and cause.errno and cause.errno > 0]
        why = os.strerror(codes[-1]) if codes else str(error) or type(error).__name__
        return Fault(keys.line(f"{where}: {why}"), connected=reached, billed=reached)
    why = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    if isinstance(error, json.JSONDecodeError):
        why = f"it begins with {keys.line(error.doc[:_READ], 80)!r}"
    return Fault(keys.line(f"{where}: the reply is not {form} ({why})"), status=200, billed=True)


def read_status(response: Any, body: bytes, where: str, keys: Keys) -> Fault:
    status = response.status_code
    text = said = body.decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        for name in ("error", "message", "detail"):
            value = value.get(name, value) if isinstance(value, Mapping) else value
        said = str(value)
    if response.is_redirect:
        said = f"it redirects to {shown_url(response.headers.get('location', 'nowhere'))}; name that address"
    detail = keys.line(f"{where} answered {status}: {said or response.reason_phrase}")
    refusal = f"{said[:_READ]} {text[:_READ]}" if status in (400, 413, 422) else ""
    if _TOO_LONG.search(refusal):
        less = "fewer passages (--top-k), a smaller --max-tokens, or a --context"
        way = f"serve the model with a larger context, or send less: {less}"
        return Fault(f"{detail}; {way}", status=status, retry=False, own=True)
    retry = status in (408, 429) or status >= 500
    wait = read_retry_after(response.headers.get("retry-after"))
    # A gateway that gave up waiting says nothing of the server behind it, which may have done the work.
    return Fault(detail, status=status, retry=retry, wait=wait, billed=status in (502, 504), refusal=refusal)


def explain_dead(faults: Sequence[Fault], keys: Keys, remedy: str, answered: bool = False) -> QuadragError:
    """Build the error for a server of which nothing comes but faults; a remedy is of refused requests."""
    # A refusal tells more than a lost connection.
    fault = max(faults, key=lambda fault: (fault.status is not None and not fault.retry, fault.status or 0))
    if fault.stalled:
        remedy = "see the server's log, ask less at once with --concurrency 1, or wait longer: --timeout"
    elif fault.status is None:
        remedy = "start the server or correct its address"
    elif fault.status in (401, 403):
        remedy = f"it was sent {keys.shown}; set QUADRAG_API_KEY to a valid one, or correct the address"
    which = "last" if answered else "first"
    count = f"the {which} {len(faults)} calls all failed" if len(faults) > 1 else f"the {which} call failed"
    return DeadServer(f"{count}: {fault.detail}; {remedy}")


def read_retry_after(value: str | None) -> float | None:
    for read in (float, lambda text: parsedate_to_datetime(text).timestamp() - time.time()):
        with suppress(ValueError, TypeError, IndexError, OverflowError, OSError):  # no date, or beyond all calendars
            return max(0.0, read(value or ""))
    return None


def read_refusal(fault: Fault, body: Mapping[str, Any], refused: Refused, bounded: bool) -> Refused:
    """Return what of a request's fields, as the user asks for them, a fault names anew: one field, or none.

    A QuadragError is raised where the length of replies would not be `bounded` any more, as a budget needs it.
    """
    words = fault.refusal.lower()
    places = [(re.search(rf"(?<!\w){re.escape(name.lower())}(?!\w)", words), name) for name in body]
    named = sorted((place.start(), name) for place, name in places if place and name not in refused)
    if not named:
        return {}
    name = named[0][1]
    if body[name] and _BOUNDS.search(words):
        return {}
    if not _LENGTH.fullmatch(name):
        return {name: None}
    other = next((other for other in _LENGTH.findall(words) if other != name), None)
    if other is None and bounded:
        raise QuadragError(f"{fault.detail}; without {name} nothing bounds a call's cost: leave --budget out")
    return {name: other}


def _read_context(entry: Mapping[str, Any]) -> int | None:
    meta = entry.get("meta")
    tokens = entry.get("max_model_len", meta.get("n_ctx") if isinstance(meta, Mapping) else None)
    return tokens if isinstance(tokens, int) and tokens > 0 else None


class Transport:
    """Chat completions of OpenAI's form."""

    hangs = False  # whether a call that got no reply in time twice is lost though others were answered meanwhile
    form = "a chat completion"
    remedy = "correct the address, the model's name or the request's parameters"  # of a request that is refused
    lists = True  # its models, at the page of OpenAI's form
    unsent: tuple[str, ...] = ()  # parameters that stand in keys and are no fields of the request
    key_variables: Sequence[str] = KEY_VARIABLES  # of the key that may be sent

    def compose(self, messages: Messages) -> Messages:
        """Return a call's messages as they are sent, and as they stand in its key."""
        return messages

    async def attempt(self, server: Server, messages: Messages, model: str, body: dict[str, Any]) -> Reply:
        """Make one attempt, by `Server.send`; what is raised `read_fault` explains."""
        sent = {**body, "model": model, "messages": messages, "stream": False}
        return read_completion(json.loads(await server.send(page_url(server.address, "chat/completions"), sent)))


class Server:
    def __init__(self, spec: Spec, policy: CallPolicy, transport: Transport) -> None:
        self.transport, self.keys = transport, find_keys(spec, transport.key_variables)
        self.timeout, self._most = policy.timeout, policy.max_reply_bytes
        self.shown = spec.shown
        # Without user and password, which the HTTP library would show in its log and its errors.
        self.address = without_user(spec.url) if spec.url else ROUTER
        self._sessions: list[Any] = []
        self._width, self._sent = -(-policy.concurrency // _CALLS), 0
        # What all calls know of it: how many it has answered, when it did last, until when it is to be left alone, and
        # how many at once it bears.
        self.answers, self.answered_at, self.pause_until, self.bears = 0, float("-inf"), 0.0, 1

    async def ask(self, messages: Messages, model: str, body: dict[str, Any]) -> Reply:
        """Make one attempt, whose reply has its time and holds no key, or raise a Fault."""
        started = time.perf_counter()
        reply = await self._try(self.timeout, self.transport.attempt(self, messages, model, body))
        times = {"latency": round(time.perf_counter() - started, 6), "created": round(time.time(), 3)}
        return read_row({**self.keys.hide_in(reply.row()), **times})

    async def list_models(self) -> dict[str, int | None]:
        """Return the models by name, each with the tokens of its context, where llama.cpp, vLLM or SGLang says it."""
        try:
            content = await self._try(min(self.timeout, _LISTING_SECONDS), self.send(page_url(self.address, "models")))
            models = {entry["id"]: _read_context(entry) for entry in json.loads(content)["data"]}
        except (ValueError, TypeError, KeyError, RecursionError):
            detail = self.keys.line(f"{self.shown} answered with no list of models")
            raise Fault(detail, status=200, retry=False) from None
        finally:
            await self.close()
        # A name of another kind holds a key, or is no line.
        return {name: context for name, context in models.items() if self.keys.line(name) == name}

    async def send(self, address: str, body: Any = None) -> bytes:
        headers = {**self.keys.headers, "content-type": "application/json"}
        session = self._sessions[self._sent % self._width]
        self._sent += 1
        posted = None if body is None else json.dumps(body).encode()
        request = session.build_request("POST" if posted else "GET", address, content=posted, headers=headers)
        response = await session.send(request, stream=True)
        try:
            content, complete = await self._read(response)
        finally:
            await response.aclose()
        if not response.is_success:
            raise read_status(response, content, self.shown, self.keys)
        if not complete:
            detail = f"the reply has more than {self._most} bytes; a larger max_reply_bytes reads more"
            raise Fault(f"{self.shown}: {detail}", status=response.status_code, retry=False, billed=True)
        return content

    async def close(self) -> None:
        sessions, self._sessions = self._sessions, []
        for session in sessions:
            await session.aclose()

    async def _try(self, seconds: float, call: Awaitable[T]) -> T:
        """Wait so many seconds at most; whatever goes wrong is a Fault."""
        self._sessions = self._sessions or _open_sessions(self._width, min(self.timeout, _CONNECT_SECONDS))
        try:
            async with asyncio.timeout(seconds):
                return await call
        except Exception as error:
            raise read_fault(error, self.shown, seconds, self.keys, self.transport.form) from None

    async def _read(self, response: Any) -> tuple[bytes, bool]:
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


def _open_sessions(number: int, connect_seconds: float) -> list[Any]:
    import httpx2

    for name in ("httpx2", "httpcore2"):  # which log whole addresses, and what a server says in the head of its reply
        logging.getLogger(name).setLevel(logging.CRITICAL)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    options: dict[str, Any] = {"verify": httpx2.create_ssl_context(), "headers": {"accept-encoding": "gzip"}}
    timeout = httpx2.Timeout(None, connect=connect_seconds)
    return [httpx2.AsyncClient(limits=limits, timeout=timeout, **options) for _ in range(number)]
