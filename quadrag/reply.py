"""What a call comes to: `Reply` or `Failure` for callers, and how a server's chat completion is read.

Reasoning is what stands between ``<think>`` and ``</think>`` at the start of the text, or in the server's own
field. It is kept apart from the text, so that no metric scores it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quadrag.spec import Keys

# How the detail of a failure begins where no call was made.
NOT_ASKED = "not asked"
_OPEN, _CLOSE = "<think>", "</think>"


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply.

    Attributes:
        text: the answer, without reasoning.
        finish_reason: why the model stopped ("stop", "length"), as the server says.
        usage: ``prompt_tokens`` and ``completion_tokens``, where the server counts them.
        reasoning: what the model thought before it answered.
        cached: whether the reply came from the ledger.
        latency: seconds the call took when it was made.
        cost: price in the currency of the prices; 0 for a cached reply, None without prices or usage.
    """

    text: str
    finish_reason: str | None
    usage: dict[str, int] | None
    reasoning: str | None
    cached: bool
    latency: float
    cost: float | None


@dataclass(frozen=True, slots=True)
class Failure:
    """A call without a usable reply; ``reason`` is "api_error" or "truncated", ``detail`` one line."""

    reason: str
    detail: str


def as_verdict(result: Reply | Failure) -> str | Failure:
    """Return what a judge hands on: the text, or a failure, which a reply cut by length is too."""
    if isinstance(result, Reply) and result.finish_reason == "length":
        return Failure("truncated", "the reply was cut by length; raise max_tokens")
    return result if isinstance(result, Failure) else result.text


def split_reasoning(content: str) -> tuple[str, str | None]:
    """Split a model's output into answer and reasoning.

    Args:
        content: the output. Chat templates that open the reasoning themselves leave only ``</think>`` in it.

    Returns:
        The answer, and the reasoning or None. Reasoning without an end leaves an empty answer.
    """
    start = content.lstrip()
    if start.startswith(_OPEN):
        thought, closed, answer = start.removeprefix(_OPEN).partition(_CLOSE)
        return (answer.lstrip() if closed else ""), thought.strip()
    thought, closed, answer = content.partition(_CLOSE)
    if closed and _OPEN not in thought:
        return answer.lstrip(), thought.strip()
    return content, None


def reply_row(output: Any, latency: float, keys: Keys) -> dict[str, Any]:
    """Read a chat completion.

    Args:
        output: the completion, as the inference client parsed it.
        latency: seconds the call took.
        keys: what may not be stored.

    Returns:
        The ledger row: ``text``, ``reasoning``, ``finish_reason``, ``usage``, ``latency`` (seconds) and
        ``created`` (Unix time).

    Raises:
        ValueError: the completion has no choices; the server's own message is given where there is one.
    """
    if not output.choices:
        raise ValueError(f"no choices; {str(output.get('error') or dict(output))[:200]}")
    choice = output.choices[0]
    message = choice.message
    content = message.content
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content if isinstance(part, Mapping))
    if not isinstance(content, str) and content is not None:
        raise ValueError(f"the content is a {type(content).__name__}")
    text, thought = split_reasoning(content or "")
    own = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
    reasoning = "\n".join(part for part in (own, thought) if isinstance(part, str) and part) or None
    return {
        "text": keys.hide(text),
        "reasoning": keys.hide(reasoning) if reasoning else None,
        "finish_reason": choice.finish_reason if isinstance(choice.finish_reason, str) else None,
        "usage": _usage(output.usage),
        "latency": round(latency, 6),
        "created": round(time.time(), 3),
    }


def _usage(usage: Any) -> dict[str, int] | None:
    if not isinstance(usage, Mapping):
        return None
    counts: dict[str, int] = {}
    for name in ("prompt_tokens", "completion_tokens"):
        count = usage.get(name)
        if not isinstance(count, (int, float)) or count < 0:
            # Half a usage, or a count below zero, would be a wrong price.
            return None
        counts[name] = int(count)
    return counts
