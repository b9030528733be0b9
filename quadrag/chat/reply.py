"""What a call comes to: `Reply` or `Failure` for callers, how a chat completion is read, and any answer.

Every answer passes `read_answer`, whoever gave it: a server, a function, a file, a harness. What the model thought, in
its text or in a field of its own, is kept apart from the answer, so that no metric scores it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from quadrag.errors import Unreadable, name_kind, plain
from quadrag.metrics._shared.scoring import split_reasoning
from quadrag.records import Passage

from .keys import known_keys

Messages = Sequence[Mapping[str, Any]]
Calls = Mapping[bytes, tuple[Messages, int]]  # by their keys, each with the number of its sample
# Kinds of replies, and calls without one, that the user may have asked for again.
RETRIED = UNREADABLE, CUT, EMPTY, FAILED = "unreadable", "cut", "empty", "failed"
REASONINGS = ("reasoning_content", "reasoning")  # under which servers, and files, have reasoning apart
# No model reads or writes more tokens at once; a larger count would be a wrong price.
_MOST_TOKENS = 10**9


class NoText(Exception):
    """A message that arrived whole and holds no text; the exception's own text says what it is instead."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model, or a system of the user's, replied; the ledger keeps the same."""

    text: str  # the answer, without reasoning
    finish_reason: str | None = None  # why the model stopped ("stop", "length"), as the server says
    usage: dict[str, int] | None = None  # ``prompt_tokens`` and ``completion_tokens``, where the server counts them
    reasoning: str | None = None
    latency: float = 0.0  # seconds from its sending to the whole reply, in which others may have been served too
    passages: tuple[Passage, ...] = ()  # that a system found itself, best first
    created: float = 0.0  # Unix time of its arrival
    refused: Mapping[str, str | None] | None = None  # fields that it was asked for without, or by another name

    def row(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value or name not in ("passages", "refused")}


def read_row(row: Any) -> Reply:
    """Make again what `Reply.row` wrote; a TypeError or ValueError where that is something else."""
    fields = {**row}
    reply = Reply(**{**fields, "passages": tuple(Passage(*passage) for passage in fields.get("passages", ()))})
    parts = ((reply.text, str), (reply.usage, dict | None), (reply.latency, float | int), (reply.created, float | int))
    if not all(isinstance(part, kind) for part, kind in parts):
        raise TypeError
    return reply


@dataclass(frozen=True, slots=True)
class Failure:
    """A call without a usable reply: "api_error", "raised", "unparsable" or "truncated", and one line of detail."""

    reason: str
    detail: str
    asked: bool = True  # False where the call was not made
    text: str = ""  # what came of a verdict that was cut


Outcome = Reply | Failure
ReadAnswer = tuple[str | None, str | None, str]  # a text, its reasoning, and a state that says why there is no text


def as_verdict(result: Outcome) -> str | Failure:
    """Return what a judge hands on: the text, or a failure, which a reply cut by length is too."""
    if isinstance(result, Reply) and result.finish_reason == "length":
        return Failure("truncated", "the reply was cut by length; raise max_tokens", text=result.text)
    return result if isinstance(result, Failure) else result.text


def refuse_cut(outcome: Outcome) -> Outcome:
    """Return what callers get: a failure, too, where the reply was cut before the answer began."""
    if isinstance(outcome, Reply) and outcome.finish_reason == "length" and not outcome.text:
        return Failure("truncated", "the reply was cut before the answer began; raise max_tokens")
    return outcome


def read_answer(content: Any, reasoning: str | None = None, state: str = "ok", finish_reason: Any = None) -> ReadAnswer:
    """Read an answer, whoever gave it; keys that this process knows are hidden in it.

    `content` is a text, of numpy too, or else raises Unreadable. None, and what other libraries call missing, is no
    answer; "" is an empty one, or was cut where `finish_reason` is ``length``. The `reasoning` that was given apart
    from it stands before what the text has of it. `state` is said by whoever gave the answer; `Answer` has the words.
    """
    content = plain(content)
    if not isinstance(content, str | None):
        raise Unreadable(f"answer is {name_kind(content)}; expected a string")
    text, thought = (None, None) if content is None else split_reasoning(content)
    if state == "ok" and not text:
        state = "null" if text is None else "truncated" if finish_reason == "length" else state
    thoughts = known_keys().hide("\n".join(filter(None, (reasoning, thought))))
    shown = known_keys().hide(text) if text else text
    return shown if state == "ok" else None, thoughts or None, state


def read_completion(output: Any) -> Reply:
    """Read a chat completion, or a completion, given as JSON; a ValueError where there are no choices.

    The text is "" where it was cut by length before it began. A message without a text raises NoText. Half a count of
    tokens, or one below zero, would be a wrong price, and is none.
    """
    if not (choices := output.get("choices")):
        raise ValueError(f"no choices; {output.get('error') or output}")
    message = choices[0]["message"] if "message" in choices[0] else {"content": choices[0].get("text")}
    return read_message(message, choices[0].get("finish_reason"), output.get("usage"))


def read_message(message: Mapping[str, Any], finish_reason: Any, usage: Any) -> Reply:
    text, reasoning, _ = read_answer(_read_text(message, finish_reason), find_reasoning(message))
    counts = [
        usage.get(name) if isinstance(usage, Mapping) else None for name in ("prompt_tokens", "completion_tokens")
    ]
    counted = [int(n) for n in counts if isinstance(n, int | float) and 0 <= n <= _MOST_TOKENS]
    tokens = {"prompt_tokens": counted[0], "completion_tokens": counted[1]} if len(counted) == 2 else None
    return Reply(text or "", finish_reason if isinstance(finish_reason, str) else None, tokens, reasoning)


def find_reasoning(row: Mapping[str, Any]) -> str | None:
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
