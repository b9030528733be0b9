"""Fields of a request that a server refuses by name: left out, or sent by the name that it gives instead.

What is refused is found out by the first calls and holds for the client's others. Keys in the ledger are of what the
user asked for; a reply keeps what of it was sent otherwise, so that a replay knows it too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from quadrag.errors import QuadragError

if TYPE_CHECKING:
    from quadrag.chat.faults import Fault

# Of a field the name under which it is sent, None where it is left out.
Refused = dict[str, str | None]

_LENGTH = re.compile(r"\bmax_(?:\w+_)?tokens\b")
# Of a value that is out of bounds, which is the user's to correct; 0 alone asks for nothing drawn.
_BOUNDS = re.compile(
    r"[<>]=|[<>] ?-?\d|[≤≥]|\b(?:at (?:least|most)|(?:less|greater|larger|smaller|more|fewer|higher|lower) than|"
    r"too \w+|between|range|above|below|exceed\w*|(?:max|min)imum|negative|positive)\b|取值范围"
)


def adjust(body: Mapping[str, Any], refused: Refused) -> dict[str, Any]:
    """Return a request's fields as a server takes them."""
    return {refused.get(name) or name: value for name, value in body.items() if refused.get(name, name)}


def read_refusal(fault: Fault, body: Mapping[str, Any], refused: Refused, bounded: bool) -> Refused:
    """Return what of a request's fields, as the user asks for them, a fault names anew: one field, or none.

    A QuadragError is raised where the length of replies would not be `bounded` any more, as a budget needs it.
    """
    # Some servers write fields as topK.
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", fault.refusal).lower()
    places = [(re.search(rf"(?<!\w){re.escape(name.lower())}(?!\w)", words), name) for name in body]
    named = sorted((place.start(), name) for place, name in places if place and name not in refused)
    if not named:
        return {}
    name = named[-1 if "both" in words else 0][1]
    if body[name] and _BOUNDS.search(words):
        return {}
    if not _LENGTH.fullmatch(name):
        return {name: None}
    other = next((other for other in _LENGTH.findall(words) if other != name), None)
    if other is None and bounded:
        raise QuadragError(f"{fault.detail}; without {name} nothing bounds a call's cost: leave --budget out")
    return {name: other}


def tell_refused(refused: Refused) -> str:
    """Say what is sent otherwise than the user asks for."""
    return ", ".join(f"{name} {f'sent as {other}' if other else 'left out'}" for name, other in refused.items())
