"""What went wrong with a chat call, in words: single attempts that failed, and servers that are dead.

Every text made here is one line without keys. What to do about a fault is decided in `quadrag.dispatch`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from huggingface_hub import errors as hub_errors

from quadrag.errors import QuadragError
from quadrag.spec import Keys

CONNECT_SECONDS = 10.0
# httpx or httpx2, depending on the release of huggingface_hub.
_HTTPError: type[Exception] = getattr(hub_errors, "HTTPError")  # noqa: B009


class Fault(Exception):
    """One attempt that failed.

    Attributes:
        detail: what happened, as one line without keys.
        status: the HTTP status, where there was one.
        retry: whether another attempt may help.
        connected: False where no connection came about, so the server has not seen the call.
        billed: whether the server may have done the work.
        wait: seconds the server asked to wait.
        own: whether the call itself is at fault, which tells nothing of the server.
    """

    def __init__(
        self,
        detail: str,
        *,
        status: int | None = None,
        retry: bool = True,
        connected: bool = True,
        billed: bool = False,
        wait: float | None = None,
        own: bool = False,
    ) -> None:
        """Describe the attempt."""
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.retry = retry
        self.connected = connected
        self.billed = billed
        self.wait = wait
        self.own = own


def read_fault(error: Exception, where: str, timeout: float, keys: Keys, provider: bool) -> Fault:
    """Describe the exception that an attempt ended with.

    Args:
        error: what the inference client raised.
        where: the server, as messages may name it.
        timeout: seconds the attempt was given.
        keys: what to hide.
        provider: whether Inference Providers were asked; the client itself then checks token and model.

    Returns:
        The fault.

    Raises:
        Exception: the error itself, where it is none of a server's making.
    """
    line = keys.line
    for one in _chain(error):
        response = getattr(one, "response", None)
        status = getattr(response, "status_code", 0)
        if response is not None and status >= 400:
            detail = line(f"{where} answered {status}: {_server_message(response)}")
            retry = status in (408, 429) or status >= 500
            wait = retry_after(response.headers.get("retry-after"))
            # A gateway that gave up waiting says nothing of the server behind it, which may have done the work.
            return Fault(detail, status=status, retry=retry, wait=wait, billed=status in (502, 504))
    if isinstance(error, UnicodeEncodeError):
        return Fault("the messages are no valid Unicode", retry=False, own=True)
    if isinstance(error, hub_errors.OfflineModeIsEnabled):
        return Fault("HF_HUB_OFFLINE is set, so Inference Providers are not asked", retry=False)
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        if any(type(one).__name__ == "ConnectTimeout" for one in _chain(error)):
            return Fault(line(f"{where}: no connection within {min(timeout, CONNECT_SECONDS):g} s"), connected=False)
        return Fault(line(f"{where}: no reply within {timeout:g} s"), billed=True)
    if isinstance(error, _HTTPError):
        reached = type(error).__name__ != "ConnectError"
        return Fault(line(f"{where}: {_cause(error)}"), connected=reached, billed=reached)
    if isinstance(error, (ValueError, TypeError, AttributeError, KeyError, RecursionError)):
        if provider and type(error) is ValueError:
            return Fault(line(f"{where}: {error}"), retry=False)
        return Fault(line(f"{where}: the reply is not a chat completion ({error})"), billed=True)
    raise error


def dead_server(faults: Sequence[Fault], model: str, served: Sequence[str] | Fault, keys: Keys) -> QuadragError:
    """Build the error for a server of which nothing came but faults.

    Args:
        faults: how the first calls ended.
        model: the model's name, as requested.
        served: the ids that the server lists, or why they are not known; read after a 404 alone.
        keys: the key that was sent and what to hide.

    Returns:
        The error, for the caller to raise.
    """
    # A refusal tells more than a lost connection.
    fault = max(faults, key=lambda one: (one.status is not None and not one.retry, one.status or 0))
    remedy = "start the server or correct its address"
    if fault.status == 401:
        had = f"the key in {keys.variable} is refused" if keys.variable else "it was asked without a key"
        remedy = f"{had}; set QUADRAG_API_KEY, OPENAI_API_KEY or HF_TOKEN to a valid one"
    elif fault.status == 403:
        had = f"the key in {keys.variable}" if keys.variable else "a call without a key"
        remedy = f"{had} may not use {model!r}; take another key or model"
    elif fault.status == 404:
        listed = (
            f"its models cannot be listed: {served.detail}"
            if isinstance(served, Fault)
            else (f"served: {keys.line(', '.join(served))}")
        )
        remedy = f"there is no model {model!r} or no /chat/completions; correct the spec ({listed})"
    elif fault.status is not None:
        remedy = "see the server's log" if fault.status >= 500 else "correct the request's parameters"
    elif not fault.retry:
        return QuadragError(fault.detail)
    count = f"the first {len(faults)} calls all failed" if len(faults) > 1 else "the first call failed"
    return QuadragError(f"{count}: {fault.detail}; {remedy}")


def retry_after(value: str | None) -> float | None:
    """Read a Retry-After header: seconds, or an HTTP date.

    Returns:
        Seconds from now, 0 or more; None where the header is absent or cannot be read.
    """
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return max(seconds, 0.0) if seconds == seconds else None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _cause(error: BaseException) -> str:
    codes = [one.errno for one in _chain(error) if isinstance(one, OSError) and one.errno]
    return os.strerror(codes[-1]) if codes and codes[-1] > 0 else str(error) or type(error).__name__


def _server_message(response: Any) -> str:
    try:
        message: Any = response.json()
    except ValueError:
        message = response.text
    for name in ("error", "message", "detail"):
        if isinstance(message, Mapping) and name in message:
            message = message[name]
    return str(message) or str(response.reason_phrase)
