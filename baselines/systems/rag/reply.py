"""What a RAG service's reply says: its answer, and the passages it found, from two forms of JSON.

``json`` is the contract of `service.py`, and is held to it. ``openai`` is a chat completion, whose passages stand
wherever a service puts them; read are, the first of these that holds any: ``choices[0].message.context.citations``
(Azure OpenAI on your data), ``search_results`` and then ``citations`` at the top (Perplexity, whose citations are
addresses alone), ``source_documents`` and then ``sources`` at the top (LangChain's documents, and services like them),
and ``choices[0].message.annotations`` of type ``url_citation`` (OpenAI's web search, OpenRouter). Passages keep the
order in which they stand: that is their rank, whatever their scores.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from quadrag.chat.reply import NoText, Reply, find_reasoning, read_message
from quadrag.passages import Found, find_passages, find_unread, name_keys, read_passages
from quadrag.reading import DEEPEST, Unreadable, is_deeper, name_kind, plain
from quadrag.records import Passage

UNREADABLE = "the reply cannot be read"  # how the detail of such a failure begins


@dataclass(eq=False)
class NoAnswer(Exception):
    """A reply that says that there is none: an error, after which another attempt may help (`retry`), or null."""

    detail: str
    _: KW_ONLY
    retry: bool = False


@dataclass(frozen=True, slots=True)
class Served(Reply):
    """A service's reply with the passages that it gives, best first; None where it does not say what it found.

    `unread` are the keys of `quadrag.passages.Found`.
    """

    passages: tuple[Passage, ...] | None = None
    unread: tuple[str, ...] = ()


def read_reply(contract: str, reply: Any) -> dict[str, Any]:
    """Read a reply.

    Returns:
        ``text``, ``reasoning``, ``finish_reason``, ``usage``, ``passages`` and ``unread``.

    Raises:
        Unreadable: it is not of its form.
        NoAnswer: it is an error, or its answer is null.
    """
    if is_deeper(reply, DEEPEST):
        raise Unreadable(f"it is more than {DEEPEST} deep")
    if not isinstance(reply, Mapping):
        raise Unreadable(f"it is {name_kind(reply)}; expected an object")
    _refuse_error(reply)
    return _chat(reply) if contract == "openai" else _plain(reply)


def _plain(reply: Mapping[str, Any]) -> dict[str, Any]:
    if "answer" not in reply:
        raise Unreadable(f'it has no "answer"; found the keys {name_keys(reply) or "none"}')
    answer = plain(reply["answer"])
    if answer is None:
        raise NoAnswer("the answer is null")
    if not isinstance(answer, str):
        raise Unreadable(f"its answer is {name_kind(answer)}; expected a string")
    nothing = {"finish_reason": None, "usage": None}
    return {"text": answer, "reasoning": find_reasoning(reply), **nothing, **find_passages(reply)._asdict()}


def _chat(reply: Mapping[str, Any]) -> dict[str, Any]:
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise Unreadable(f"it has no choices; found the keys {name_keys(reply) or 'none'}")
    message = choices[0].get("message")
    if not isinstance(message, Mapping):
        raise Unreadable("its choice has no message")
    content = message.get("content")
    if not isinstance(content, (str, list, type(None))):
        raise Unreadable(f"its content is {name_kind(content)}; expected a string")
    try:
        read = read_message(message, choices[0].get("finish_reason"), reply.get("usage"))
    except NoText as none:
        raise NoAnswer(str(none)) from None
    return {**read, **_find_cited(reply, message)._asdict()}


def _find_cited(reply: Mapping[str, Any], message: Mapping[str, Any]) -> Found:
    """Find the passages of a chat completion; see the module. Of a text that stands for one, an address is its id."""
    context = message.get("context")
    noted = message.get("annotations")
    noted = [one.get("url_citation") for one in noted if isinstance(one, Mapping)] if isinstance(noted, list) else []
    places = {
        "context": context.get("citations") if isinstance(context, Mapping) else None,
        **{name: reply.get(name) for name in ("search_results", "citations", "source_documents", "sources")},
        "annotations": [one for one in noted if isinstance(one, Mapping)],
    }
    # An empty list does not say that something was searched: `annotations` stand in every message of some services.
    name, found = next(((name, one) for name, one in places.items() if isinstance(one, list) and one), ("", None))
    if found is None:
        return Found(None, find_unread(reply))
    texts = ("text", "id")
    rows = [{texts[one.startswith(("http://", "https://"))]: one} if isinstance(one, str) else one for one in found]
    try:
        return read_passages(rows)
    except Unreadable:
        return Found(None, (name,))


def _refuse_error(reply: Mapping[str, Any]) -> None:
    error = reply.get("error")
    if error:
        message = error.get("message", error) if isinstance(error, Mapping) else error
        raise NoAnswer(f"the reply is an error: {message}", retry=True)
