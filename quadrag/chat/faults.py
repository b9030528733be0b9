"""What went wrong with a chat call: attempts that failed, servers that are dead, fields that are refused.

Every text made here is one line without keys. What to do about a fault is decided in `quadrag.chat.calls`. A field that
a server refuses by name is left out, or sent by the name that it gives instead; keys in the ledger are of what the user
asked for, and a reply keeps what of it was sent otherwise.
"""

import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from quadrag.errors import NO_DESCRIPTORS, QuadragError
from quadrag.reading import Unreadable

from .keys import Keys
from .reply import NoText
from .spec import shown_url

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
    """One attempt that failed."""

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
    """Describe a reply whose status is that of an error, or of no reply at all."""
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
        way = "serve the model with a larger context, or send less: fewer passages (--top-k), a smaller --max-tokens"
        return Fault(f"{detail}; {way}", status=status, retry=False, own=True)
    retry = status in (408, 429) or status >= 500
    wait = read_retry_after(response.headers.get("retry-after"))
    # A gateway that gave up waiting says nothing of the server behind it, which may have done the work.
    return Fault(detail, status=status, retry=retry, wait=wait, billed=status in (502, 504), refusal=refusal)


def explain_dead(faults: Sequence[Fault], keys: Keys, remedy: str) -> QuadragError:
    """Build the error for a server of which nothing came but faults; a remedy is of refused requests."""
    # A refusal tells more than a lost connection.
    fault = max(faults, key=lambda fault: (fault.status is not None and not fault.retry, fault.status or 0))
    if fault.stalled:
        remedy = "see the server's log, ask less at once with --concurrency 1, or wait longer: --timeout"
    elif fault.status is None:
        remedy = "start the server or correct its address"
    elif fault.status in (401, 403):
        remedy = f"it was sent {keys.shown}; set QUADRAG_API_KEY to a valid one, or correct the address"
    count = f"the first {len(faults)} calls all failed" if len(faults) > 1 else "the first call failed"
    return DeadServer(f"{count}: {fault.detail}; {remedy}")


def read_retry_after(value: str | None) -> float | None:
    """Return the seconds that a Retry-After header says, also as an HTTP date; None where it cannot be read."""
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
