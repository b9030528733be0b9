# SPDX-License-Identifier: Apache-2.0
"""How a judge's reply is read: a JSON object of questions, or answers in `<response>` tags.

It decides nothing about the answers. Each has two readers: the authors' (CRUD-RAG's code) for `official`, a more
patient one for `corrected`. All are linear in the length of the reply, whatever it holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .tally import (
    strings,
)

_OPEN, _CLOSE = "<response>\n", "\n</response>"
_TAG = re.compile(r"<(/?)response>", re.IGNORECASE)
# What opens a line, whatever marks it up: 问题 3, 第3题, **问题3：**
_NUMBER = re.compile(r"^[^\w\n]*(?:问题[^\S\n]*(\d{1,4})|第[^\S\n]*(\d{1,4})[^\S\n]*[个道]?[问题])", re.MULTILINE)
_BRACES = 50  # as many places of a reply are tried for a JSON object


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


def questions_corrected(reply: str) -> list[str] | None:
    """The questions of the first JSON object that has any, in code fences or prose too; None without one.

    A single string is a list of one; blank questions are left out.
    """
    decoder, start = json.JSONDecoder(), -1
    for _ in range(_BRACES):
        start = reply.find("{", start + 1)
        if start < 0:
            return None
        try:
            value, _end = decoder.raw_decode(reply, start)
        except (ValueError, RecursionError):
            continue
        found = value.get("question", value.get("questions"))
        texts = _texts([found] if isinstance(found, str) else found)
        if texts is not None:
            return [text for text in texts if text.strip()]
    return None


def answers_official(reply: str, n: int = 0) -> dict[int, str] | None:
    r"""The texts between `<response>\n` and the next `\n</response>`, unstripped, by their position from 0.

    What `<response>\n(.*?)\n</response>` finds, in linear time; how many were asked for, `n`, does not matter. None
    where it finds nothing.
    """
    found: list[str] = []
    at = 0
    while True:
        start = reply.find(_OPEN, at)
        end = reply.find(_CLOSE, start + len(_OPEN)) if start >= 0 else -1
        if end < 0:
            return dict(enumerate(found)) or None
        found.append(reply[start + len(_OPEN) : end])
        at = end + len(_CLOSE)


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


class Reader(NamedTuple):
    """How a profile reads replies: the questions in one, or the answers to n questions by index."""

    questions: Callable[[str], list[str] | None]
    answers: Callable[[str, int], dict[int, str] | None]


READERS = {
    "official": Reader(questions_official, answers_official),
    "corrected": Reader(questions_corrected, answers_corrected),
}
