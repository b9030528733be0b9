"""Calls of the knowledge graph for one question: counted, remembered, and their results as lines of text.

A line is one fact and names its subject: ``Titanic | release_date: 1997-11-18``. Lines of a call, and the calls, are
in the order of their overlap with the question's words.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from quadrag.errors import QuadragError
from quadrag.kg.graph import Graph
from quadrag.kg.names import normalise
from quadrag.records import Passage

from .wording import JOINING, is_name_word, stems

CALLS = 40  # of the graph for one question
LOOKUPS = 40  # of a film or person by id, besides
LINES = 40  # of one call
WIDTH = 600  # characters of a line
# What a function raises where upstream's server answers 500, and where the graph was built without its files.
_NO_RESULT = (QuadragError, LookupError, TypeError)
_JOINED = 10  # values of a list that stand in one line


class Calls:
    """The calls for one question; a call that is not applicable, fails, or comes after `CALLS` others gives None.

    Attributes:
        applicable: names of the functions that may be called.
        wanted: stems that lines on the question are likely to hold.
    """

    def __init__(self, graph: Graph, applicable: Collection[str], wanted: frozenset[str]) -> None:
        self._graph = graph
        self.applicable = applicable
        self.wanted = wanted
        self._known: dict[str, Any] = {}
        self._left = {True: LOOKUPS, False: CALLS}
        self._found: list[tuple[str, list[str]]] = []

    def ask(self, name: str, *arguments: Any) -> Any:
        """Call a function of the graph, once for the same arguments."""
        title = titled(name, arguments)
        if title in self._known:
            return self._known[title]
        by_id = name.endswith("_by_id")
        if name not in self.applicable or not self._left[by_id]:
            return None
        self._left[by_id] -= 1
        function: Callable[..., Any] = getattr(self._graph, name)
        try:
            result = function(*arguments)
        except _NO_RESULT:
            result = None
        self._known[title] = result
        return result

    @property
    def empty(self) -> bool:
        """Whether nothing was found yet."""
        return not self._found

    @property
    def made(self) -> tuple[str, ...]:
        """The calls made, as titles, in order."""
        return tuple(self._known)

    def add(self, lines: Iterable[str | None], name: str, *arguments: Any) -> None:
        """Keep the lines of a call; those that are empty or there already are left out."""
        title = titled(name, arguments).encode("utf-8", "replace").decode()
        seen = {line for _, others in self._found for line in others}
        # Half a surrogate pair, which a name of the graph may hold, can be sent to no model.
        plain = (" ".join(line.encode("utf-8", "replace").decode().split()) for line in lines if line)
        kept = [line for line in dict.fromkeys(plain) if line not in seen]
        if kept:
            self._found.append((title, kept))

    def tell(self, subject: Any, label: str, name: str, *arguments: Any) -> Any:
        """Call a function with one value as its result and keep that as a line; return the result."""
        result = self.ask(name, *arguments)
        values = result if isinstance(result, list) else [result]
        if 1 < len(values) <= _JOINED:
            values = [", ".join(filter(None, map(shown, values)))]
        self.add((fact(subject, label, one) for one in values), name, *arguments)
        return result

    def overlap(self, line: str, without: Collection[str] = ()) -> int:
        """Count the stems of a line that are wanted."""
        return len((stems(line) & self.wanted).difference(without))

    def passages(self) -> list[Passage]:
        """Return what was found, by overlap; of equal lines the first, of equal passages that of fewer lines first."""
        ranked = []
        for title, lines in self._found:
            scored = sorted(((self.overlap(line), line) for line in lines), key=lambda one: -one[0])[:LINES]
            ranked.append((scored[0][0], title, "\n".join(cut(line) for _, line in scored)))
        ranked.sort(key=lambda one: (-one[0], one[2].count("\n")))
        return [Passage(f"kg/{n}", title, text, float(score)) for n, (score, title, text) in enumerate(ranked)]


def titled(name: str, arguments: Iterable[Any]) -> str:
    """Return a call as text: ``movie_get_movie_info("Titanic")``."""
    return f"{name}({', '.join(json.dumps(one, ensure_ascii=False) for one in arguments)})"


def cut(text: str, width: int = WIDTH) -> str:
    """Cut a text to a number of characters, the last of them dots."""
    return text if len(text) <= width else text[: width - 3].rstrip() + "..."


def fact(subject: Any, label: str, value: Any) -> str | None:
    """Return one fact as a line; None where there is no value, or one that is no single value."""
    text = shown(value)
    return f"{subject} | {label}: {text}" if text else None


def shown(value: Any) -> str:
    """Return a value as text, empty where it says nothing: numbers of at most four decimals, six digits below one."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if value != value or abs(value) == float("inf"):
            return ""
        text = f"{value:.4f}" if abs(value) >= 1 else f"{value:.6g}"
        return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
    if isinstance(value, (int, str)):
        return str(value).strip()
    return ""


def flat(value: Any, label: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the single values in a nested record with their labels, those of inner records joined by a blank."""
    if depth > 6:
        return
    if isinstance(value, dict):
        for name, held in value.items():
            yield from flat(held, f"{label} {name}".strip(), depth + 1)
    elif isinstance(value, list):
        for held in value:
            yield from flat(held, label, depth + 1)
    else:
        yield label, value


# Names

_ARTICLES = ("the", "a", "an")


def core(name: str) -> tuple[str, ...]:
    """Return the words by which names are compared: normal form, without accents and a leading article."""
    plain = unicodedata.normalize("NFKD", normalise(name))
    words = "".join(character for character in plain if not unicodedata.combining(character)).split()
    return tuple(words[1:] if len(words) > 1 and words[0] in _ARTICLES else words)


def within(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Whether words follow each other so in others."""
    return bool(part) and any(whole[at : at + len(part)] == part for at in range(len(whole) - len(part) + 1))


def fitting(
    asked: str, found: Iterable[str], near: bool, cored: Callable[[str], tuple[str, ...]] = core, most: int = 2
) -> list[str]:
    """Choose among names that a search found.

    Args:
        asked: the name, or a phrase that may hold it among other words.
        found: names, best first.
        near: whether the first that shares at least half of the words will do.
        cored: gives the words by which names are compared.
        most: how many names to take.

    Returns:
        The same names; else those that the phrase holds, of two words or more and not all of asking; else the near one.
    """
    words, names = cored(asked), list(dict.fromkeys(found))
    cores = {name: cored(name) for name in names}
    if same := [name for name in names if cores[name] and cores[name] == words]:
        return same[:most]
    held = [name for name in names if len([word for word in cores[name] if word not in JOINING]) > 1]
    held = [name for name in held if within(cores[name], words) and any(map(is_name_word, cores[name]))]
    held = [
        one
        for one in held
        if not any(cores[one] != cores[other] and within(cores[one], cores[other]) for other in held)
    ]
    if held:
        return held[: most + 1]
    if near and words:
        for name in names:
            shared = set(words) & set(cores[name])
            if shared and 2 * len(shared) >= len(set(words) | set(cores[name])):
                return [name]
    return []
