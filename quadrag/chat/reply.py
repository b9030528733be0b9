"""What a call comes to: `Reply` or `Failure` for callers, and how a server's chat completion is read.

Reasoning is what stands between ``<think>`` and ``</think>`` at the start of the text, or in the server's own
field. It is kept apart from the text, so that no metric scores it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
# What a call came to: a ledger row, or the one-line reason why there is none.
Outcome = Row | str
# How the detail of a failure begins where no call was made.
NOT_ASKED = "not asked"
# Kinds of replies, and calls without one, that the user may have asked for again.
RETRIED = UNREADABLE, CUT, EMPTY, FAILED = "unreadable", "cut", "empty", "failed"
_OPEN, _CLOSE = "<think>", "</think>"
# No model reads or writes more tokens at once; a larger count would be a wrong price.
_MOST_TOKENS = 10**9


class NoText(Exception):
    """A message that arrived whole and holds no text; the exception's own text says what it is instead."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply.

    Attributes:
        text: the answer, without reasoning.
        finish_reason: why the model stopped ("stop", "length"), as the server says.
        usage: ``prompt_tokens`` and ``completion_tokens``, where the server counts them.
        reasoning: what the model thought before it answered.
        cached: whether the reply came from the ledger.
        latency: seconds from its sending to the whole reply, in which the server may have served others too.
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
    """A call without a usable reply.

    ``reason`` is "api_error", "raised", "unparsable" or "truncated", ``detail`` one line.
    """

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


def read_completion(output: Any) -> Row:
    """Read a chat completion.

    Args:
        output: the completion, as the inference client parsed it.

    Returns:
        What `read_message` returns of it.

    Raises:
        ValueError: the completion has no choices; the server's own message is given where there is one.
        NoText: there is no text in it.
    """
    if not output.choices:
        raise ValueError(f"no choices; {output.get('error') or dict(output)}")
    choice = output.choices[0]
    return read_message(choice.message, choice.finish_reason, output.usage)


def read_message(message: Mapping[str, Any], finish_reason: Any, usage: Any) -> Row:
    """Read a chat completion's message, whatever JSON stands in its fields.

    Args:
        message: the message. Its ``content`` is the text or a list of parts; its ``reasoning_content`` or
            ``reasoning`` is the server's own field of reasoning, of which more may stand in the text.
        finish_reason: why the model stopped.
        usage: the tokens counted; half a count, or one below zero, would be a wrong price, and is none.

    Returns:
        ``text``, ``reasoning``, ``finish_reason`` and ``usage``. The text is "" where the message was cut by length
        before it began.

    Raises:
        ValueError: the content is no text.
        NoText: the message holds none.
    """
    text, thought = split_reasoning(_read_text(message, finish_reason))
    reasoning = _read_thought(message)
    names = ("prompt_tokens", "completion_tokens")
    counted = isinstance(usage, Mapping) and all(
        is_number(usage.get(name)) and 0 <= usage[name] <= _MOST_TOKENS for name in names
    )
    return {
        "text": text,
        "reasoning": "\n".join(filter(None, (reasoning, thought))) or None,
        "finish_reason": finish_reason if isinstance(finish_reason, str) else None,
        "usage": {name: int(usage[name]) for name in names} if counted else None,
    }


def _read_thought(message: Mapping[str, Any]) -> str:
    """Return what stands in the server's own field of reasoning; "" for nothing that is a text."""
    thought = message.get("reasoning_content") or message.get("reasoning")
    return thought if isinstance(thought, str) else ""


def _read_text(message: Mapping[str, Any], finish_reason: Any) -> str:
    """Return the text of a message, reasoning included.

    Raises:
        ValueError: the content is no text.
        NoText: there is none.
    """
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    texts = [part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
    text = content if isinstance(content, str) else "".join(texts) if texts else None
    if text:
        return text
    if finish_reason == "length" and content in (None, "", []):
        return ""
    if message.get("tool_calls") or message.get("function_call"):
        raise NoText("the reply calls tools, and none were offered")
    said = [part.get("refusal") for part in (message, *parts) if isinstance(part, Mapping)]
    refusal = next((one for one in said if isinstance(one, str) and one), None)
    if refusal is not None:
        raise NoText(f"the model refuses: {refusal}")
    if text is not None:
        return text
    reason = f" (finish_reason {finish_reason!r})" if isinstance(finish_reason, str) else ""
    if content in (None, []) and _read_thought(message):
        raise NoText(f"the model thought and gave no answer{reason}; raise --max-tokens, or turn its thinking off")
    if content is None:
        raise NoText(f"the content is null{reason}")
    if content == []:
        raise NoText(f"the content is a list without parts{reason}")
    if parts:
        kinds = [str(part.get("type")) if isinstance(part, Mapping) else type(part).__name__ for part in parts]
        raise NoText(f"the content holds no part of text, but {', '.join(dict.fromkeys(kinds))}{reason}")
    raise ValueError(f"the content is a {type(content).__name__}")


def is_number(value: Any) -> bool:
    """Tell whether a value of JSON is a finite number."""
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False
