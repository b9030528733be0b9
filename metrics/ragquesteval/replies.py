# SPDX-License-Identifier: Apache-2.0
"""How a judge's reply is read: the questions of a JSON object, or answers in `<response>` tags.

It decides nothing about the answers. Each has two readers: the authors' (CRUD-RAG's code) for `official`, a more
patient one for `corrected`. All are linear in the length of the reply, whatever it holds.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from .tally import strings

# A text without an end takes the rest of the reply, so that each end is looked for once.
_PAIR = re.compile(r"<response>\n([^\n]*(?:\n(?!</response>)[^\n]*)*)(\n</response>)?")
_TAG = re.compile(r"<(/?)response>", re.IGNORECASE)
# What opens a line, whatever marks it up: 问题 3, 第3题, **问题3：**
_NUMBER = re.compile(r"^[^\w\n]*(?:问题[^\S\n]*(\d{1,4})|第[^\S\n]*(\d{1,4})[^\S\n]*[个道]?[问题])", re.MULTILINE)


class Reader(NamedTuple):
    """How a profile reads replies: the questions in one, or the answers to n questions by index."""

    questions: Callable[[str], list[str] | None]
    answers: Callable[[str, int], dict[int, str] | None]


def _texts(value: Any) -> list[str] | None:
    try:
        return [str(text) for text in strings(value, "question")]
    except ValueError:
        return None


def questions_official(reply: str) -> list[str] | None:
    """The list `question` of a reply that is JSON and nothing else; None where it is not."""
    try:
        value = json.loads(reply)
    except (ValueError, RecursionError):
        return None
    return _texts(value.get("question")) if isinstance(value, dict) else None


def questions_corrected(objects: Iterable[Mapping[str, Any]]) -> list[str] | None:
    """The questions of the first of a reply's JSON objects that has any; None without one.

    A single string is a list of one; blank questions are left out.
    """
    for value in objects:
        found = value.get("question", value.get("questions"))
        texts = _texts([found] if isinstance(found, str) else found)
        if texts is not None:
            return [text for text in texts if text.strip()]
    return None


def answers_official(reply: str, n: int = 0) -> dict[int, str] | None:
    r"""The texts between `<response>\n` and the next `\n</response>`, unstripped, by their position from 0.

    How many were asked for, `n`, does not matter. None where it finds nothing.
    """
    return dict(enumerate(text for text, end in _PAIR.findall(reply) if end)) or None


def answers_corrected(reply: str, n: int) -> dict[int, str] | None:
    """The answers by the index of their question, from tags with or without line breaks.

    The number is the last `问题 N` that opens a line between one pair of tags and the next. A reply with no number at
    all counts by position if it has exactly `n` pairs, since then nothing is missing.

    Args:
        reply: the judge's.
        n: how many questions were asked.

    Returns:
        Index (from 0) to stripped answer, in order; None without any pair of tags. Absent are questions without a
        pair of their own number, and those that two pairs answer differently.
    """
    pairs: list[tuple[int | None, str]] = []
    label_from, opened = 0, None
    for tag in _TAG.finditer(reply):
        if not tag.group(1):
            opened = tag
        elif opened is not None:
            labels = _NUMBER.findall(reply[label_from : opened.start()])
            number = int("".join(labels[-1])) if labels else None
            pairs.append((number, reply[opened.end() : tag.start()].strip()))
            opened, label_from = None, tag.end()
    if not pairs:
        return None
    if all(number is None for number, _ in pairs):
        return {i: text for i, (_, text) in enumerate(pairs)} if len(pairs) == n else {}
    told: dict[int, set[str]] = {}
    for number, text in pairs:
        if number is not None and 1 <= number <= n:
            told.setdefault(number - 1, set()).add(text)
    return {i: told[i].pop() for i in sorted(told) if len(told[i]) == 1}
