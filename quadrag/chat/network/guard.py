"""What a server may do to the client that asks it: how much it may send, in which code, and where it may send it on.

Every session of the HTTP library that asks a server of the user's is guarded, whatever it asks for. A body is read up
to a limit, counted as it is unpacked; an error is a `Fault` before any other code reads of it, so no charset that a
server names is ever used. What a good reply says is read elsewhere.
"""

import logging
import sys
import zlib
from collections.abc import Callable
from typing import Any

from quadrag.chat.faults import Fault, read_status
from quadrag.chat.keys import known_keys
from quadrag.chat.server import Server

_UNPACKED = {"": None, "identity": None, "gzip": 31, "x-gzip": 31}  # encodings with zlib's word for them


def guard(session: Any, server: Server, mend: Callable[[bytes], bytes] = bytes) -> Any:
    """Guard a session.

    Returns:
        The session.
    """

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
            # Nearly every reply: read as the library itself would, which is quickest.
            body = await response.aread()
            if (mended := mend(body)) is not body:
                response._content = mended
            return
        body, whole = await _read(response, server)
        if not response.is_success and not response.has_redirect_location:
            raise read_status(response, body, server.shown, server.keys)
        if not whole:
            most = server.bounds.reply_bytes
            detail = f"{server.shown}: the reply has more than {most} bytes; read more with --max-reply-bytes"
            raise Fault(detail, status=response.status_code, retry=False, billed=True)
        response.stream = sys.modules[_library(response)].ByteStream(mend(body))

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


def _library(one: Any) -> str:
    """Return the name of the HTTP library that something is of: httpx or httpx2, by the release of huggingface_hub."""
    return next(kind.__module__.partition(".")[0] for kind in type(one).__mro__ if kind.__module__.startswith("httpx"))


def _hide_secrets(record: logging.LogRecord) -> bool:
    """Hide secrets in what the HTTP library logs: whole addresses, and what a server says in the head of its reply."""
    record.msg, record.args = known_keys(1).hide(record.getMessage()), ()
    return True
