"""Passages that a user's system hands back, from whatever library: ids, texts, pairs with a score, objects.

Every id and passage of a function, a file or a service is read here. No library is imported: a row of pandas, or a
document of LangChain, LlamaIndex or Haystack, is known by the names of its parts. Passages keep the order in which they
stand: that is their rank, whatever their scores.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from quadrag.errors import Unreadable, name_kind, one_line, plain
from quadrag.records import Passage

UNNAMED = "rag/"  # how a passage is called that has no id, before its rank
# Where a result has its passages: ours, those of LangChain, LlamaIndex, Azure OpenAI, Perplexity, OpenRouter, OpenAI.
PLACES = (
    *("passages", "context", "source_documents", "source_nodes"),
    *("citations", "search_results", "sources", "annotations"),
)
_IDS = ("id", "_id", "id_", "node_id", "document_id", "doc_id", "docno", "docid", "filepath", "source", "url")
_TEXTS = ("text", "content", "page_content", "snippet")
_TITLES = ("title", "name", "filename")
_SCORES = ("score", "_score", "relevance_score", "similarity", "rerank_score")
_INNER = ("metadata", "meta", "payload", "_source", "document", "node", "url_citation")  # what holds more of these
_PARTS = (*_IDS, *_TEXTS, *_TITLES, *_SCORES, *_INNER)


def find_passages(result: Mapping[str, Any]) -> tuple[Passage, ...]:
    """Read the passages that stand in a result; `Unreadable` of what stands under ``passages`` and is none."""
    for name in PLACES:
        value = result.get(name)
        if name == PLACES[0] and value is not None:
            return read_passages(value)
        rows = list_rows(value)
        if rows and not isinstance(rows[0], str):
            with suppress(Unreadable):
                return read_passages(rows)
    return ()


def read_passages(value: Any) -> tuple[Passage, ...]:
    """Read passages: a list, an array, a column or a table of them.

    A passage is an id; an object with an id, a text, a title or a score under usual names; or either in a pair with its
    score. `Unreadable` of anything else.
    """
    rows = list_rows(value)
    if rows is None:
        raise Unreadable(f"passages are {name_kind(value)}; expected a list")
    return tuple(_read_passage(place, row) for place, row in enumerate(rows))


def list_rows(value: Any) -> list[Any] | None:
    """Return what stands in a list, an array or a column, or the rows of a table; None of what has no such order."""
    if hasattr(value, "columns"):  # of polars, of pandas
        return list(value.to_dicts() if hasattr(value, "to_dicts") else value.to_dict("records"))
    if isinstance(value, (str, bytes, bytearray, Mapping, set, frozenset)) or not hasattr(value, "__iter__"):
        return None
    # One document is not a list of its parts.
    return None if getattr(value, "shape", None) == () or read_parts(value, (*_IDS, *_TEXTS)) else list(value)


def read_parts(whole: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the parts of an object that have these names: a mapping's keys, another's attributes."""
    if isinstance(whole, Mapping):
        return {name: whole[name] for name in names if name in whole}
    parts = {name: getattr(whole, name, None) for name in names if name[0] != "_"}
    return {name: part for name, part in parts.items() if part is not None and not callable(part)}


def name_keys(whole: Mapping[Any, Any]) -> str:
    return one_line(", ".join(map(str, whole)), 100)


def _read_passage(place: int, value: Any) -> Passage:
    passage, score = value, None
    if isinstance(value, (tuple, list)) and len(value) == 2 and not hasattr(value, "_asdict"):
        score = _read_score(plain(value[1]))
        passage = value if score is None and plain(value[1]) is not None else value[0]
    if (ident := _read_id(plain(passage))) is not None:
        return Passage(ident, "", "", score)
    parts = {name: plain(part) for name, part in _gather(passage).items()}

    def pick(names: Sequence[str], read: Callable[[Any], Any]) -> Any:
        return next((part for name in names if (part := read(parts.get(name))) is not None), None)

    ident, text = pick(_IDS, _read_id), pick(_TEXTS, _read_text)
    if ident is None and text is None:
        keys = f"with the keys {name_keys(passage)}" if isinstance(passage, Mapping) else ""
        raise Unreadable(
            f"passage {place + 1} is {name_kind(value)} {keys}".strip() + "; expected an id, a text, or both"
        )
    score = pick(_SCORES, _read_score) if score is None else score
    return Passage(ident or f"{UNNAMED}{place}", pick(_TITLES, _read_text) or "", text or "", score)


def _gather(passage: Any, depth: int = 2) -> dict[str, Any]:
    """Return the parts of a passage that are known by their names, those of what it holds behind its own."""
    own = read_parts(passage, _PARTS)
    inner: dict[str, Any] = {}
    for name in (part for part in _INNER if depth and part in own):
        inner |= _gather(own[name], depth - 1)
    return {**own, **inner, **{name: part for name, part in own.items() if plain(part) is not None}}


def _read_id(value: Any) -> str | None:
    if isinstance(value, float) and value.is_integer():  # of a column of whole numbers in which some are missing
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return value if isinstance(value, str) and value else None


def _read_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _read_score(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    with suppress(OverflowError):
        return float(value) if math.isfinite(value) else None
    return None
