"""Passages that a user's system hands back, from whatever library: ids, texts, pairs with a score, objects.

Every id and passage of a function, a file or a service is read here. No library is imported: a row of pandas, or a
document of LangChain, LlamaIndex or Haystack, is known by the names of its parts. Passages keep the order in which they
stand: that is their rank, whatever their scores.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from quadrag.errors import one_line
from quadrag.reading import Unreadable, name_kind, plain
from quadrag.records import Passage

UNNAMED = "rag/"  # how a passage is called that has no id, before its rank
OF_PASSAGES = "passages."  # stands before a key of passages among the keys that are not read
_IDS = ("id", "_id", "id_", "node_id", "document_id", "doc_id", "docno", "docid", "filepath", "source", "url")
_TEXTS = ("text", "content", "page_content", "snippet")
_TITLES = ("title", "name", "filename")
_SCORES = ("score", "_score", "relevance_score", "similarity", "rerank_score")
_INNER = ("metadata", "meta", "payload", "_source", "document", "node")  # what holds more of these
_PARTS = (*_IDS, *_TEXTS, *_TITLES, *_SCORES, *_INNER)
# Where a result has its passages: ours, LangChain's two, LlamaIndex's.
PLACES = ("passages", "context", "source_documents", "source_nodes")
# Under what other systems keep passages; `references` and `results` may hold anything.
_LIKE_PASSAGES = re.compile(
    r"((retrieved|source|search)_?)?(passages?|contexts?|doc(ument)?s?|chunks?|nodes|hits)|retrieved|sources|citations|"
    r"search_results|retrieval"
)
# Under what a passage may keep its text where it has none under a usual name.
_LIKE_TEXT = re.compile(
    r"((page|passage|chunk|doc(ument)?|node)_?)?(text|contents?|body|snippet)|passage|chunk|doc(ument)?"
)


class Found(NamedTuple):
    """The passages of a result, best first; None where it does not say what it found.

    `unread` are its keys that look as if they held some, and those of passages that look as if they held their texts.
    """

    passages: tuple[Passage, ...] | None
    unread: tuple[str, ...] = ()


def find_passages(result: Mapping[str, Any]) -> Found:
    """Find the passages that stand in a result, and read them.

    Raises:
        Unreadable: what stands under ``passages`` is not understood. Under another name it is among the keys not read.
    """
    searched = False
    for name in PLACES:
        if (given := result.get(name)) is None:
            continue
        rows = list_rows(given)
        searched |= rows == []
        if name == PLACES[0] and rows != []:
            return read_passages(given if rows is None else rows)
        if rows and not isinstance(rows[0], str):  # texts may be of any kind
            with suppress(Unreadable):
                return read_passages(rows)
    unread = find_unread(result)
    return Found(() if searched and not unread else None, unread)


def find_unread(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of a result without passages that look as if they held some."""
    named = {name: plain(value) for name, value in result.items() if _LIKE_PASSAGES.fullmatch(str(name).lower())}
    return tuple(name for name, value in named.items() if (len(value) if hasattr(value, "__len__") else value))


def read_passages(given: Any) -> Found:
    """Read passages.

    Args:
        given: a list of them, an array, a column or a table. A passage is an id; an object with an id, a text, a title
            or a score under usual names; or either in a pair with its score.

    Raises:
        Unreadable: it is something else, or a passage is.
    """
    rows = list_rows(given)
    if rows is None:
        raise Unreadable(f"passages are {name_kind(given)}; expected a list")
    textless: dict[str, None] = {}
    for row in rows:
        if isinstance(row, Mapping) and not any(isinstance(row.get(name), str) for name in _TEXTS):
            texts = (str(name) for name, value in row.items() if isinstance(value, str) and value)
            textless |= {f"{OF_PASSAGES}{name}": None for name in texts if _LIKE_TEXT.fullmatch(name.lower())}
    return Found(tuple(_read_passage(place, row) for place, row in enumerate(rows)), tuple(textless))


def list_rows(given: Any) -> list[Any] | None:
    """Return what stands in a list, an array or a column, or the rows of a table; None of what has no such order."""
    for name in ("to_dicts", "to_pylist"):  # of polars, of Arrow
        if callable(rows := getattr(given, name, None)):
            return list(rows())
    if hasattr(given, "to_dict") and hasattr(given, "columns"):  # of pandas
        whole = given if given.index.name in (None, *given.columns) else given.reset_index()
        return list(whole.to_dict("records"))
    if isinstance(given, (str, bytes, bytearray, Mapping, set, frozenset)) or not hasattr(given, "__iter__"):
        return None
    # One document is not a list of its parts.
    return None if getattr(given, "shape", None) == () or read_parts(given, (*_IDS, *_TEXTS)) else list(given)


def read_parts(whole: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the parts of an object that have these names: a mapping's keys, another's attributes."""
    if isinstance(whole, Mapping):
        return {name: whole[name] for name in names if name in whole}
    # A named tuple; a row of pandas.
    if callable(as_mapping := getattr(whole, "to_dict" if hasattr(whole, "dtype") else "_asdict", None)):
        return read_parts(as_mapping(), names)
    parts = {name: getattr(whole, name, None) for name in names if name[0] != "_"}
    return {name: part for name, part in parts.items() if part is not None and not callable(part)}


def name_keys(whole: Mapping[Any, Any]) -> str:
    """List the keys of an object that is not understood, in a line."""
    return one_line(", ".join(map(str, whole)), 100)


def _read_passage(place: int, given: Any) -> Passage:
    """Read a passage; one without an id is called by its rank."""
    passage, score = _part_score(given)
    if (ident := _read_id(plain(passage))) is not None:
        return Passage(ident, "", "", score)
    parts = _gather(passage)
    if not {*_IDS, *_TEXTS} & parts.keys():
        keys = name_keys(passage) if isinstance(passage, Mapping) else ""
        what = f"has the keys {keys}" if keys else f"is {name_kind(given)}"
        raise Unreadable(f"passage {place + 1} {what}; expected an id, a text, or both")

    def pick(names: Sequence[str], read: Callable[[Any], Any], expected: str) -> Any:
        # Under the first of its names where it can be read; under its own it must be, if it is there.
        part = next((part for name in names if (part := read(plain(parts.get(name)))) is not None), None)
        own = plain(parts.get(names[0]))
        if part is None and own is not None and not (isinstance(own, str) and not own):
            raise Unreadable(f"the {names[0]} of passage {place + 1} is {name_kind(own)}; expected {expected}")
        return part

    return Passage(
        pick(_IDS, _read_id, "a string or a whole number") or f"{UNNAMED}{place}",
        pick(_TITLES, _read_text, "a string") or "",
        pick(_TEXTS, _read_text, "a string") or "",
        pick(_SCORES, _read_score, "a number") if score is None else score,
    )


def _part_score(given: Any) -> tuple[Any, float | None]:
    """Part a pair into passage and score; of two numbers the one without a fraction is the id."""
    if isinstance(given, (tuple, list)) and len(given) == 2 and not hasattr(given, "_asdict"):
        passage, score = given
        if isinstance(plain(passage), float) and not isinstance(plain(score), float | bool | None):
            passage, score = score, passage
        if plain(score) is None or _read_score(plain(score)) is not None:
            return passage, _read_score(plain(score))
    return given, None


def _gather(passage: Any, depth: int = 2) -> dict[str, Any]:
    """Return the parts of a passage that are known by their names, those of what it holds behind its own."""
    own = read_parts(passage, _PARTS)
    inner: dict[str, Any] = {}
    if (
        "text" not in own
        and not isinstance(passage, Mapping)
        and callable(say := getattr(passage, "get_content", None))
    ):
        own["text"] = say()  # of a node of LlamaIndex
    for name in _INNER if depth else ():
        inner |= _gather(own.get(name), depth - 1)
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
