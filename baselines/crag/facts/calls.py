"""Calls of the knowledge graph for one question: counted, remembered, and their results as lines of text.

A line is one fact and names its subject: ``Titanic | release_date: 1997-11-18``. Lines of a call, and the calls, are
in the order of their overlap with the question's words.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from quadrag.errors import QuadragError
from quadrag.records import Passage

from ..kg.graph import Graph
from ..language.wording import stems

GRAPH = "kg/"  # what the id of a passage from the graph begins with
CALLS = 40  # of the graph for one question
LOOKUPS = 40  # of a film or person by id, besides
LINES = 40  # of one call
WIDTH = 600  # characters of a line
# What a function raises where upstream's server answers 500, and where the graph was built without its files.
_NO_RESULT = (QuadragError, LookupError, TypeError)
_JOINED = 10  # values of a list that stand in one line


class Calls:
    """The calls for one question; one that is not applicable, fails, or comes after `CALLS` others gives None.

    `applicable` names the functions that may be called; `wanted` are stems that lines on the question are likely to
    hold.
    """

    def __init__(self, graph: Graph, applicable: Collection[str], wanted: frozenset[str]) -> None:
        self._graph = graph
        self.applicable = applicable
        self.wanted = wanted
        self._results: dict[str, Any] = {}
        self._left = {True: LOOKUPS, False: CALLS}
        self._found: list[tuple[str, list[str]]] = []

    def ask(self, name: str, *arguments: Any) -> Any:
        """Call a function of the graph, once for the same arguments."""
        title = format_call(name, arguments)
        if title in self._results:
            return self._results[title]
        by_id = name.endswith("_by_id")
        if name not in self.applicable or not self._left[by_id]:
            return None
        self._left[by_id] -= 1
        function: Callable[..., Any] = getattr(self._graph, name)
        try:
            result = function(*arguments)
        except _NO_RESULT:
            result = None
        self._results[title] = result
        return result

    def ask_record(self, name: str, *arguments: Any) -> dict[str, Any]:
        """Call a function whose result is a record; an empty one stands for any other result."""
        result = self.ask(name, *arguments)
        return result if isinstance(result, dict) else {}

    @property
    def empty(self) -> bool:
        """Whether nothing was found yet."""
        return not self._found

    @property
    def titles(self) -> tuple[str, ...]:
        """The calls made, in order."""
        return tuple(self._results)

    def add(self, lines: Iterable[str | None], name: str, *arguments: Any) -> None:
        """Keep the lines of a call; those that are empty or there already are left out."""
        seen = {line for _, others in self._found for line in others}
        plain = (" ".join(_encodable(line).split()) for line in lines if line)
        if kept := [line for line in dict.fromkeys(plain) if line not in seen]:
            self._found.append((_encodable(format_call(name, arguments)), kept))

    def add_value(self, subject: Any, label: str, name: str, *arguments: Any) -> Any:
        """Call a function with one value as its result and keep that as a line; return the result."""
        result = self.ask(name, *arguments)
        values = result if isinstance(result, list) else [result]
        if 1 < len(values) <= _JOINED:
            values = [", ".join(filter(None, map(format_value, values)))]
        self.add((format_fact(subject, label, one) for one in values), name, *arguments)
        return result

    def overlap(self, line: str, without: Collection[str] = ()) -> int:
        """Count the stems of a line that are wanted."""
        return len((stems(line) & self.wanted).difference(without))

    def passages(self) -> list[Passage]:
        """Return what was found, by overlap; of equal lines the first, of equal passages that of fewer lines first."""
        ranked = []
        for title, lines in self._found:
            best = sorted(lines, key=self.overlap, reverse=True)[:LINES]
            ranked.append((self.overlap(best[0]), title, list(map(truncate, best))))
        ranked.sort(key=lambda one: (-one[0], len(one[2])))
        return [
            Passage(f"{GRAPH}{n}", title, "\n".join(lines), float(score))
            for n, (score, title, lines) in enumerate(ranked)
        ]


def _encodable(text: str) -> str:
    """Replace halves of surrogate pairs, which a name of the graph may hold and which can be sent to no model."""
    return text.encode("utf-8", "replace").decode()


def format_call(name: str, arguments: Iterable[Any]) -> str:
    """Return a call as text: ``movie_get_movie_info("Titanic")``."""
    return f"{name}({', '.join(json.dumps(one, ensure_ascii=False) for one in arguments)})"


def format_fact(subject: Any, label: str, value: Any) -> str | None:
    """Return one fact as a line; None where there is no value, or one that is no single value."""
    text = format_value(value)
    return f"{subject} | {label}: {text}" if text else None


def format_value(value: Any) -> str:
    """Return a value as text, empty where it says nothing: numbers of at most four decimals, six digits below one."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if value != value or abs(value) == float("inf"):
            return ""
        text = f"{value:.4f}" if abs(value) >= 1 else f"{value:.6g}"
        return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
    return str(value).strip() if isinstance(value, (int, str)) else ""


def field_text(record: Mapping[str, Any], label: str) -> str:
    """Return a field of a record as text, empty where it is lacking or says nothing."""
    return format_value(record.get(label))


def truncate(text: str, width: int = WIDTH) -> str:
    """Cut a text to a number of characters, the last of them dots."""
    return text if len(text) <= width else text[: width - 3].rstrip() + "..."


def flatten(value: Any, label: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the single values in a nested record with their labels, those of inner records joined by a blank."""
    if depth > 6:
        return
    if isinstance(value, dict):
        for name, held in value.items():
            yield from flatten(held, f"{label} {name}".strip(), depth + 1)
    elif isinstance(value, list):
        for held in value:
            yield from flatten(held, label, depth + 1)
    else:
        yield label, value
