"""What a RAG service's reply says: its answer, and the passages it found, from two forms of JSON.

``json`` is the contract of `service.py`, and is held to it. ``openai`` is a chat completion, whose passages stand
wherever a service puts them; read are, the first of these that holds any: ``choices[0].message.context.citations``
(Azure OpenAI on your data), ``search_results`` and then ``citations`` at the top (Perplexity, whose citations are
addresses alone), ``source_documents`` and then ``sources`` at the top (LangChain's documents, and services like them),
and ``choices[0].message.annotations`` of type ``url_citation`` (OpenAI's web search, OpenRouter). Passages keep the
order in which they stand: that is their rank, whatever their scores.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from quadrag.chat.reply import NoText, Reply, is_number, read_message
from quadrag.records import Passage

UNREADABLE = "the reply cannot be read"  # how the detail of such a failure begins
UNNAMED = "rag/"  # how a passage is called that has no id, before its rank
_DEEPEST = 100  # levels
_IDS = ("id", "document_id", "doc_id", "filepath", "source", "url")
_TEXTS = ("text", "content", "page_content", "snippet")
_TITLES = ("title", "name", "filename")
_SCORES = ("score", "relevance_score", "similarity", "rerank_score")
# Under what other systems keep passages; `references` and `results` may hold anything.
_LIKE_PASSAGES = re.compile(
    r"((retrieved|source|search)_?)?(passages?|contexts?|doc(ument)?s?|chunks?|nodes|hits)|retrieved|sources|citations|"
    r"search_results|retrieval"
)
# Under what a passage may keep its text where it has none under a usual name.
_LIKE_TEXT = re.compile(
    r"((page|passage|chunk|doc(ument)?|node)_?)?(text|contents?|body|snippet)|passage|chunk|doc(ument)?"
)
OF_PASSAGES = "passages."  # stands before a key of passages among the keys that are not read
_PARTS = (*_IDS, *_TEXTS, *_TITLES, *_SCORES, "metadata")


class Unreadable(Exception):
    """A reply that arrived whole and is not of its form; the message says how."""


@dataclass(eq=False)
class NoAnswer(Exception):
    """A reply that says that there is none: an error, after which another attempt may help (`retry`), or null."""

    detail: str
    _: KW_ONLY
    retry: bool = False


@dataclass(frozen=True, slots=True)
class Served(Reply):
    """A service's reply with the passages that it gives, best first; None where it does not say what it found.

    `unread` are its keys that look as if they held some, and those of passages that look as if they held their texts.
    """

    passages: tuple[Passage, ...] | None = None
    unread: tuple[str, ...] = ()


def read_reply(contract: str, reply: Any) -> dict[str, Any]:
    """Read a reply.

    Args:
        contract: ``json`` or ``openai``.
        reply: the JSON that arrived.

    Returns:
        ``text``, ``reasoning``, ``finish_reason``, ``usage``, ``passages`` and ``unread``.

    Raises:
        Unreadable: it is not of its form.
        NoAnswer: it is an error, or its answer is null.
    """
    if _deeper(reply, _DEEPEST):
        raise Unreadable(f"it is more than {_DEEPEST} deep")
    if not isinstance(reply, Mapping):
        raise Unreadable(f"it is a JSON {_kind(reply)}; expected an object")
    _refuse_error(reply)
    read = _chat(reply) if contract == "openai" else _plain(reply)
    if read["passages"]:
        given = () if contract == "openai" else reply["passages"]
        return {**read, "unread": find_textless(given, _TEXTS[:1])}
    unread = find_unread(reply)
    return {**read, "unread": unread, "passages": None if unread else read["passages"]}


def find_unread(reply: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of an object without passages that look as if they held some."""
    return tuple(name for name, value in reply.items() if value and _LIKE_PASSAGES.fullmatch(str(name).lower()))


def find_textless(passages: Iterable[Any], usual: Sequence[str] = _TEXTS) -> tuple[str, ...]:
    """Return the keys that look as if they held the text of a passage that has none under a usual name."""
    found: dict[str, None] = {}
    for one in passages:
        if isinstance(one, Mapping) and not any(isinstance(one.get(name), str) for name in usual):
            texts = (str(name) for name, value in one.items() if isinstance(value, str) and value)
            found |= {f"{OF_PASSAGES}{name}": None for name in texts if _LIKE_TEXT.fullmatch(name.lower())}
    return tuple(found)


def _plain(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Read a reply of the contract."""
    if "answer" not in reply:
        raise Unreadable(f'it has no "answer"; found the keys {_keys(reply)}')
    answer, given = reply["answer"], reply.get("passages")
    if answer is None:
        raise NoAnswer("the answer is null")
    if not isinstance(answer, str):
        raise Unreadable(f"its answer is a {_kind(answer)}; expected a string")
    if given is not None and not isinstance(given, list):
        raise Unreadable(f"its passages are a {_kind(given)}; expected a list of objects")
    passages = None if given is None else tuple(_read_passage(place, one) for place, one in enumerate(given))
    return {"text": answer, "reasoning": None, "finish_reason": None, "usage": None, "passages": passages}


def _read_passage(place: int, one: Any) -> Passage:
    """Read a passage of the contract: ``id``, ``text``, ``title`` and ``score``, each of which may be lacking."""
    if not isinstance(one, Mapping):
        raise Unreadable(f"passage {place} is a {_kind(one)}; expected an object with id, text, title, score")
    ident, score = one.get("id"), one.get("score")
    if ident is not None and type(ident) not in (str, int):
        raise Unreadable(f"the id of passage {place} is a {_kind(ident)}; expected a string")
    for name in ("text", "title"):
        if not isinstance(one.get(name), (str, type(None))):
            raise Unreadable(f"the {name} of passage {place} is a {_kind(one[name])}; expected a string")
    if score is not None and not is_number(score):
        raise Unreadable(f"the score of passage {place} is {score!r}; expected a number")
    return _passage(place, ident, one.get("title"), one.get("text"), score)


def _chat(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Read a chat completion, its reasoning apart."""
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise Unreadable(f"it has no choices; found the keys {_keys(reply)}")
    message = choices[0].get("message")
    if not isinstance(message, Mapping):
        raise Unreadable("its choice has no message")
    content = message.get("content")
    if not isinstance(content, (str, list, type(None))):
        raise Unreadable(f"its content is a {_kind(content)}; expected a string")
    try:
        read = read_message(message, choices[0].get("finish_reason"), reply.get("usage"))
    except NoText as none:
        raise NoAnswer(str(none)) from None
    # An empty list does not say that something was searched: `annotations` stand in every message of some services.
    cited = tuple(_read_citation(place, one) for place, one in enumerate(_places(reply, message))) or None
    return {**read, "passages": cited}


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


def _read_citation(place: int, one: Any) -> Passage:
    """Read an entry of a service's own form; what cannot be read keeps its rank, without text."""
    if isinstance(one, str):
        address = one.startswith(("http://", "https://"))
        return _passage(place, one if address else None, None, None if address else one, None)
    return _read_entry(place, one)


def read_found(place: int, one: Any) -> Passage:
    """Read a passage that one's own system found: its id, or an object with ``id`` and ``text``, as LangChain's are."""
    if isinstance(one, Passage):
        return one
    if isinstance(one, (str, int)):
        return _read_entry(place, {"id": one})
    if isinstance(one, Mapping):
        return _read_entry(place, one)
    return _read_entry(place, {name: getattr(one, name) for name in _PARTS if getattr(one, name, None) is not None})


def says_nothing(one: Any) -> bool:
    """Whether a passage is an object that has neither an id nor a text under a name that is usual."""
    return isinstance(one, Mapping) and not {*_IDS, *_TEXTS, "metadata"} & {*one}


def _read_entry(place: int, one: Any) -> Passage:
    """Read an object with an id, a text, a title and a score under the names that are usual; each may be lacking."""
    entry: Mapping[str, Any] = one if isinstance(one, Mapping) else {}
    metadata = entry.get("metadata")
    known = {**(metadata if isinstance(metadata, Mapping) else {}), **entry}
    ident = next((known[name] for name in _IDS if type(known.get(name)) in (str, int) and known[name] != ""), None)
    title, text = (
        next((known[name] for name in names if isinstance(known.get(name), str)), None) for names in (_TITLES, _TEXTS)
    )
    score = next((known[name] for name in _SCORES if is_number(known.get(name))), None)
    return _passage(place, ident, title, text, score)


def _passage(place: int, ident: Any, title: str | None, text: str | None, score: Any) -> Passage:
    """Make a passage; one without an id is called by its rank."""
    named = f"{UNNAMED}{place}" if ident is None or ident == "" else str(ident)
    return Passage(named, title or "", text or "", None if score is None else float(score))


def _refuse_error(reply: Mapping[str, Any]) -> None:
    """Raise where a reply holds an error, in place of an answer or beside one."""
    error = reply.get("error")
    if error:
        message = error.get("message", error) if isinstance(error, Mapping) else error
        raise NoAnswer(f"the reply is an error: {message}", retry=True)


def _deeper(value: Any, most: int) -> bool:
    """Tell whether JSON is nested deeper than some levels: what reads it again might not reach its ground."""
    level = [value]
    for _ in range(most):
        if not level:
            return False
        level = [
            part
            for one in level
            if isinstance(one, (dict, list))
            for part in (one.values() if isinstance(one, dict) else one)
        ]
    return bool(level)


def _kind(value: Any) -> str:
    names = {dict: "object", list: "list", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def _keys(reply: Mapping[str, Any]) -> str:
    return ", ".join(list(map(str, reply))[:12]) or "none"
