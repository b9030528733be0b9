"""What a RAG service's reply says: its answer, and the passages it found, from two forms of JSON.

``json`` is the contract of `rag_service.py`, and is held to it. ``openai`` is a chat completion, whose passages stand
wherever a service puts them; read are, the first of these that holds any: ``choices[0].message.context.citations``
(Azure OpenAI on your data), ``search_results`` and then ``citations`` at the top (Perplexity, whose citations are
addresses alone), ``source_documents`` and then ``sources`` at the top (LangChain's documents, and services like them),
and ``choices[0].message.annotations`` of type ``url_citation`` (OpenAI's web search, OpenRouter). Passages keep the
order in which they stand: that is their rank, whatever their scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quadrag.records import Passage
from quadrag.reply import Reply, split_reasoning

UNREADABLE = "the reply cannot be read"  # how the detail of such a failure begins
_IDS = ("id", "document_id", "doc_id", "filepath", "source", "url")
_TEXTS = ("text", "content", "page_content", "snippet")
_TITLES = ("title", "name", "filename")
_SCORES = ("score", "relevance_score", "similarity", "rerank_score")


class Unreadable(Exception):
    """A reply that arrived whole and is not of its form; the message says how."""


class NoAnswer(Exception):
    """A reply that says that there is none: an error, after which another attempt may help, or null."""

    def __init__(self, detail: str, retry: bool = False) -> None:
        """Say what stands in place of the answer."""
        super().__init__(detail)
        self.retry = retry


@dataclass(frozen=True, slots=True)
class Served(Reply):
    """A service's reply with the passages that it gives, best first; none where it gives none."""

    passages: tuple[Passage, ...] = ()


def read_reply(contract: str, reply: Any) -> dict[str, Any]:
    """Read a reply.

    Args:
        contract: ``json`` or ``openai``.
        reply: the JSON that arrived.

    Returns:
        ``text``, ``reasoning``, ``finish_reason``, ``usage`` and ``passages``.

    Raises:
        Unreadable: it is not of its form.
        NoAnswer: it is an error, or its answer is null.
    """
    if not isinstance(reply, Mapping):
        raise Unreadable(f"it is a JSON {_kind(reply)}; expected an object")
    return _chat(reply) if contract == "openai" else _plain(reply)


def _plain(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Read a reply of the contract."""
    if "answer" not in reply:
        _refuse_error(reply)
        raise Unreadable(f'it has no "answer"; found the keys {_keys(reply)}')
    answer, given = reply["answer"], reply.get("passages")
    if answer is None:
        _refuse_error(reply)
        raise NoAnswer("the answer is null")
    if not isinstance(answer, str):
        raise Unreadable(f"its answer is a {_kind(answer)}; expected a string")
    if given is not None and not isinstance(given, list):
        raise Unreadable(f"its passages are a {_kind(given)}; expected a list of objects")
    passages = tuple(_contracted(place, one) for place, one in enumerate(given or ()))
    return {"text": answer, "reasoning": None, "finish_reason": None, "usage": None, "passages": passages}


def _contracted(place: int, one: Any) -> Passage:
    """Read a passage of the contract: ``id``, ``text``, ``title`` and ``score``, each of which may be lacking."""
    if not isinstance(one, Mapping):
        raise Unreadable(f"passage {place} is a {_kind(one)}; expected an object with id, text, title, score")
    ident, score = one.get("id"), one.get("score")
    if ident is not None and type(ident) not in (str, int):
        raise Unreadable(f"the id of passage {place} is a {_kind(ident)}; expected a string")
    for name in ("text", "title"):
        if not isinstance(one.get(name), (str, type(None))):
            raise Unreadable(f"the {name} of passage {place} is a {_kind(one[name])}; expected a string")
    if score is not None and not _is_number(score):
        raise Unreadable(f"the score of passage {place} is {score!r}; expected a number")
    return _passage(place, ident, one.get("title"), one.get("text"), score)


def _chat(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Read a chat completion, its reasoning apart."""
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        _refuse_error(reply)
        raise Unreadable(f"it has no choices; found the keys {_keys(reply)}")
    message = choices[0].get("message")
    if not isinstance(message, Mapping):
        raise Unreadable("its choice has no message")
    content, finish = message.get("content"), choices[0].get("finish_reason")
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    if content is None and finish != "length":
        _refuse_error(reply)
        raise NoAnswer("the content is null")
    if not isinstance(content, (str, type(None))):
        raise Unreadable(f"its content is a {_kind(content)}; expected a string")
    text, thought = split_reasoning(content or "")
    own = message.get("reasoning_content") or message.get("reasoning")
    parts = [part for part in (own, thought) if isinstance(part, str) and part]
    return {
        "text": text,
        "reasoning": "\n".join(parts) or None,
        "finish_reason": finish if isinstance(finish, str) else None,
        "usage": _usage(reply.get("usage")),
        "passages": tuple(_cited(place, one) for place, one in enumerate(_places(reply, message))),
    }


def _places(reply: Mapping[str, Any], message: Mapping[str, Any]) -> Sequence[Any]:
    """Return the passages of a chat completion as they stand; see the module."""
    context = message.get("context")
    noted = message.get("annotations")
    cited = [one for one in noted if _is_citation(one)] if isinstance(noted, list) else []
    found: Sequence[Any] = [
        context.get("citations") if isinstance(context, Mapping) else None,
        *(reply.get(name) for name in ("search_results", "citations", "source_documents", "sources")),
        [one["url_citation"] for one in cited],
    ]
    return next((one for one in found if isinstance(one, list) and one), [])


def _is_citation(one: Any) -> bool:
    return isinstance(one, Mapping) and isinstance(one.get("url_citation"), Mapping)


def _cited(place: int, one: Any) -> Passage:
    """Read an entry of a service's own form; what cannot be read keeps its rank, without text."""
    if isinstance(one, str):
        address = one.startswith(("http://", "https://"))
        return _passage(place, one if address else None, None, None if address else one, None)
    entry: Mapping[str, Any] = one if isinstance(one, Mapping) else {}
    metadata = entry.get("metadata")
    known = {**(metadata if isinstance(metadata, Mapping) else {}), **entry}
    ident = next((known[name] for name in _IDS if type(known.get(name)) in (str, int) and known[name] != ""), None)
    title, text = (
        next((known[name] for name in names if isinstance(known.get(name), str)), None) for names in (_TITLES, _TEXTS)
    )
    score = next((known[name] for name in _SCORES if _is_number(known.get(name))), None)
    return _passage(place, ident, title, text, score)


def _passage(place: int, ident: Any, title: str | None, text: str | None, score: Any) -> Passage:
    """Make a passage; one without an id is called by its rank."""
    named = f"rag/{place}" if ident is None or ident == "" else str(ident)
    return Passage(named, title or "", text or "", None if score is None else float(score))


def _refuse_error(reply: Mapping[str, Any]) -> None:
    """Raise where a reply holds an error in place of an answer."""
    error = reply.get("error")
    if error:
        said = error.get("message", error) if isinstance(error, Mapping) else error
        raise NoAnswer(f"the reply is an error: {said}", retry=True)


def _usage(usage: Any) -> dict[str, int] | None:
    """Return the tokens that a service counts; half a count is none."""
    names = ("prompt_tokens", "completion_tokens")
    if not isinstance(usage, Mapping) or not all(_is_number(usage.get(name)) and usage[name] >= 0 for name in names):
        return None
    return {name: int(usage[name]) for name in names}


def _is_number(value: Any) -> bool:
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False


def _kind(value: Any) -> str:
    names = {dict: "object", list: "list", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def _keys(reply: Mapping[str, Any]) -> str:
    return ", ".join(list(map(str, reply))[:12]) or "none"
