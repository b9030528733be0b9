"""Verdicts of judges, drawn and damaged in places that do not change what they say."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

_SIGNS = "{}[]\"',:\\x \n\u2028"


def damage(
    draw: random.Random,
    field: str,
    reason: str,
    *,
    reason_first: bool,
    begins: Sequence[str],
    ends: Sequence[str],
    second: Sequence[str],
    signs: str = _SIGNS,
) -> str:
    """A reply whose field is the verdict; a second one, which makes it say nothing, never follows one cut off."""
    end = draw.choice((",", ", ", "\n,", "}", "\n}", " }"))
    before, after = draw.choice((("{", ""), ("{ ", ""), ("{\n    ", ""), ("{{", "}"), ("[{", "}]")))
    head, tail = before, f" {reason}}}" if "," in end else f" {reason}" if draw.random() < 0.3 else ""
    if draw.random() < 0.3 and reason_first:
        head, tail = f"{before}{reason}, ", "}" if "," in end else ""
    tail += after
    for _ in range(draw.choice((0, 0, 1, 2))):
        at = draw.randrange(len(tail) + 1)
        tail = draw.choice((tail[:at] + tail[at + 1 :], tail[:at] + draw.choice(signs) + tail[at:], tail[:at]))
    reply = head + field + end + tail
    cut = draw.random() < 0.1
    if cut:
        reply = reply[: draw.randrange(len(reply) + 1)]
    reply = draw.choice(begins) + reply
    if not cut:
        reply += draw.choice(ends)
        if draw.random() < 0.1:
            reply += draw.choice(second)
    return json.dumps(reply) if draw.random() < 0.05 else reply
