"""What a call comes to: `Reply` or `Failure` for callers, how a chat completion is read, and any answer.

Every answer passes `read_answer`, whoever gave it: a server, a function, a file, a harness. What the model thought, in
its text or in a field of its own, is kept apart from the answer, so that no metric scores it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from quadrag.errors import Unreadable, name_kind, plain
from quadrag.metrics._shared.scoring import split_reasoning
from quadrag.records import Passage

from .keys import known_keys

Messages = Sequence[Mapping[str, Any]]
Calls = Mapping[bytes, tuple[Messages, int]]  # by their keys, each with the number of its sample
Row = dict[str, Any]  # of the ledger
# Kinds of replies, and calls without one, that the user may have asked for again.
RETRIED = UNREADABLE, CUT, EMPTY, FAILED = "unreadable", "cut", "empty", "failed"
REASONINGS = ("reasoning_content", "reasoning")  # under which servers, and files, have reasoning apart
# No model reads or writes more tokens at once; a larger count would be a wrong price.
_MOST_TOKENS = 10**9


class NoText(Exception):
    """A message that arrived whole and holds no text; the exception's own text says what it is instead."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model, or a system of the user's, replied."""

    text: str  # the answer, without reasoning
    finish_reason: str | None = None  # why the model stopped ("stop", "length"), as the server says
    usage: dict[str, int] | None = None  # ``prompt_tokens`` and ``completion_tokens``, where the server counts them
    reasoning: str | None = None
    latency: float = 0.0  # seconds from its sending to the whole reply, in which others may have been served too
    passages: tuple[Passage, ...] = ()  # that a system found itself, best first


@dataclass(frozen=True, slots=True)
class Failure:
    """A call without a usable reply: "api_error", "raised", "unparsable" or "truncated", and one line of detail."""

    reason: str
    detail: str
    asked: bool = True  # False where the call was not made


Outcome = Row | Failure


def as_verdict(result: Reply | Failure) -> str | Failure:
    """Return what a judge hands on: the text, or a failure, which a reply cut by length is too."""
    if isinstance(result, Reply) and result.finish_reason == "length":
        return Failure("truncated", "the reply was cut by length; raise max_tokens")
    return result if isinstance(result, Failure) else result.text


def read_row(row: Outcome) -> Reply | Failure:
    """Make of an outcome what callers get: a failure, too, where the reply was cut before the answer began."""
    if isinstance(row, Failure):
        return row
    if row["finish_reason"] == "length" and not row["text"]:
        return Failure("truncated", "the reply was cut before the answer began; raise max_tokens")
    passages = tuple(Passage(*passage) for passage in row.get("passages", ()))
    return Reply(row["text"], row["finish_reason"], row["usage"], row["reasoning"], row["latency"], passages)


class ReadAnswer(NamedTuple):
    """An answer as it is scored: without a text `state` says why there is none."""

    text: str | None
    reasoning: str | None
    state: str


def read_answer(content: Any, reasoning: str | None = None, state: str = "ok", finish_reason: Any = None) -> ReadAnswer:
    """Read an answer, whoever gave it; what was read is read again to the same. What is no text raises Unreadable.

    Keys that this process knows are hidden in it.

    Args:
        content: a text, of numpy too. None, and what other libraries call missing, is no answer; "" is an empty one.
        reasoning: what was given apart from it; `find_reasoning` finds it. What stands in the text is put behind.
        state: why there is none, where whoever gave it says so; `Answer` has the words.
        finish_reason: why the model stopped. Where that is ``length`` and the answer has not begun, it was cut.
    """
    content = plain(content)
    if not isinstance(content, str | None):
        raise Unreadable(f"answer is {name_kind(content)}; expected a string")
    text, thought = (None, None) if content is None else split_reasoning(content)
    if state == "ok" and not text:
        state = "null" if text is None else "truncated" if finish_reason == "length" else state
    thoughts = known_keys().hide("\n".join(filter(None, (reasoning, thought))))
    shown = known_keys().hide(text) if text else text
    return ReadAnswer(shown if state == "ok" else None, thoughts or None, state)


def read_completion(output: Any) -> Row:
    """Read a chat completion, or a completion, given as JSON; a ValueError where there are no choices.

    The text is "" where it was cut by length before it began. A message without a text raises NoText. Half a count of
    tokens, or one below zero, would be a wrong price, and is none.
    """
    if not (choices := output.get("choices")):
        raise ValueError(f"no choices; {output.get('error') or output}")
    message = choices[0]["message"] if "message" in choices[0] else {"content": choices[0].get("text")}
    return read_message(message, choices[0].get("finish_reason"), output.get("usage"))


def read_message(message: Mapping[str, Any], finish_reason: Any, usage: Any) -> Row:
    """Read the message of a completion, whatever JSON stands in its fields."""
    read = read_answer(_read_text(message, finish_reason), find_reasoning(message))
    counts = [
        usage.get(name) if isinstance(usage, Mapping) else None for name in ("prompt_tokens", "completion_tokens")
    ]
    counted = [int(n) for n in counts if isinstance(n, int | float) and 0 <= n <= _MOST_TOKENS]
    return {
        "text": read.text,
        "reasoning": read.reasoning,
        "finish_reason": finish_reason if isinstance(finish_reason, str) else None,
        "usage": {"prompt_tokens": counted[0], "completion_tokens": counted[1]} if len(counted) == 2 else None,
    }


def find_reasoning(row: Mapping[str, Any]) -> str | None:
    """Return what a message, a line or a result has as its reasoning; None where nothing."""
    texts = (plain(row.get(name)) for name in REASONINGS)
    return next((text for text in texts if isinstance(text, str) and text), None)


def _read_text(message: Mapping[str, Any], finish_reason: Any) -> str:
    content = message.get("content")
    parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    refusals = [part.get("refusal") for part in (message, *parts)]
    refusal = next((refusal for refusal in refusals if refusal and isinstance(refusal, str)), None)
    if isinstance(content, list):  # in parts, of which some are thoughts
        texts = [part.get("text") for part in parts if part.get("type") not in ("reasoning", "thinking")]
        content = "".join(text for text in texts if isinstance(text, str)) or None
    if isinstance(content, str) and (content or not (refusal or message.get("tool_calls"))):
        return content
    if finish_reason == "length" and content in (None, ""):
        return ""
    if refusal:
        raise NoText(f"the model refuses: {refusal}")
    if find_reasoning(message):
        raise NoText("the model thought and gave no answer; raise --max-tokens, or turn its thinking off")
    raise NoText(f"the message has no text (finish_reason {finish_reason!r}, content {content!r})")
