# SPDX-License-Identifier: Apache-2.0
"""How a judge's reply is read: the authors' pattern for `official`, patient and never guessing for `corrected`.

A verdict is 1 (the answer is accepted) or 0; None stands for none that can be read. Both readers are linear in the
length of the reply, whatever it holds. Nothing here knows the question, the answer or who judges.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

FIELD = "score"  # the protocol's
_DIGITS = re.compile(r'"score"\s*:\s*(\d+)')


def official(reply: str) -> int | None:
    """Read the digits after `"score":` in the last run from an opening brace to the first closing one.

    As CRAG's code: what stands behind an inner closing brace is lost, 0.9 is 0, and only 0 and 1 are verdicts.
    """
    last, start = "", reply.find("{")
    while start >= 0:
        end = reply.find("}", start)
        if end < 0:
            break
        last = reply[start : end + 1]
        start = reply.find("{", end)
    found = _DIGITS.search(last)
    try:
        value = int(found.group(1)) if found else None
    except ValueError:  # more digits than Python reads
        return None
    return value if value in (0, 1) else None


class _Object(list[tuple[str, Any]]):
    """A JSON object as its pairs, since a repeated key may contradict itself."""


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_Object)
_WORDS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}


def corrected(reply: str) -> int | None:
    """Read the field `score` of a JSON object, repaired where need be: 0 or 1 as number, string or boolean.

    None where there is none, where one cannot be read, and where two differ: of a reply that says both, neither is
    surely the judge's own. What a well-formed object holds in its other fields is not read.
    """
    objects, outside = _objects(reply := _unwrapped(reply))
    fields = [_fields(found) for found in objects]
    if objects and not any(fields):
        return None
    if objects and all(fields):
        values = [_value(found) for own in fields for found in own]
        values += [value for text in outside for value, _ in _mentions(text, prose=False)]
    else:  # not well-formed; or it is, and a quotation mark too many may have made a field part of a text
        mentions = list(_mentions(reply, prose=True))
        values = [value for value, _ in mentions] if any(is_key for _, is_key in mentions) else []
    return values[0] if values and values.count(values[0]) == len(values) else None


def _unwrapped(reply: str) -> str:
    """The text of a reply that is one JSON string; any other reply as it is."""
    try:
        text = json.loads(reply) if reply.lstrip().startswith('"') else reply
    except ValueError:
        return reply
    return text if isinstance(text, str) else reply


def _objects(reply: str) -> tuple[list[_Object], list[str]]:
    """The outermost objects of a reply and the texts around them; no objects where one is not well-formed."""
    found: list[_Object] = []
    outside: list[str] = []
    at = 0
    while True:
        start = reply.find("{", at)
        outside.append(reply[at : start if start >= 0 else len(reply)])
        if "}" in outside[-1]:
            return [], []
        if start < 0:
            return found, outside
        try:
            value, at = _DECODER.raw_decode(reply, start)
        except (ValueError, RecursionError):
            return [], []
        found.append(value)


def _fields(found: _Object) -> list[Any]:
    """The values of `score` in an object itself, or on the first level within it that has any."""
    level: list[Any] = [found]
    while level:
        pairs = [pair for value in level if isinstance(value, _Object) for pair in value]
        values = [value for key, value in pairs if key.strip().lower() == FIELD]
        if values:
            return values
        inner = [value for _, value in pairs]
        inner += [entry for value in level if not isinstance(value, _Object) for entry in value]
        level = [value for value in inner if isinstance(value, list)]
    return []


def _value(value: Any) -> int | None:
    """0 or 1 as JSON gives it, else None."""
    if isinstance(value, str):
        return _WORDS.get(value.strip().lower())
    return int(value) if isinstance(value, bool | int | float) and value in (0, 1) else None


_QUOTES = "\"'`\u2018-\u201f"
# The field with what may stand around it, up to its value.
_KEY = re.compile(
    rf"score[\s\\*_{_QUOTES}]{{0,9}}(?:[:=\uff1a]|\b(?:is|of)\b)[ \t*_]{{0,9}}\n?[ \t]{{0,9}}",
    re.IGNORECASE,
)
# What stands before a key: the reply's beginning, a line's, a brace, or a comma after a value.
_BEFORE = re.compile(rf"(?:\A|\n|{{|[\d\]}}{_QUOTES}]\s{{0,9}},)[ \t*_\\-]{{0,40}}[{_QUOTES}]?\Z")
# A whole value, and what may stand after one.
_WHOLE = re.compile(
    rf"\\?(?P<quote>[{_QUOTES}])?[ ]?(?P<value>[01](?:\.0)?|true|false)[ ]?(?(quote)\\?[{_QUOTES}])"
    rf"[*_]{{0,3}}(?=[ \t]*(?:,(?!\d)|[}}\];\r\n]|\\?[{_QUOTES}]|\\n|\.\s|\Z))",
    re.IGNORECASE,
)
_PARTIAL = re.compile(rf"\\?[{_QUOTES}]?[ ]?(?:[-+.\d]|true|false)", re.IGNORECASE)
_NEAR = 64  # characters that `_BEFORE` may look at


def _mentions(text: str, prose: bool) -> Iterator[tuple[int | None, bool]]:
    """Every value that a text gives `score`, or None where it cannot be read, and whether it stands as a key does.

    What follows `score:` and is no value is passed over; with `prose`, not after a key, where it is an unreadable one.
    A value that the text's end cuts off from an open object may go on: it cannot be read.
    """
    for key in _KEY.finditer(text):
        start = max(key.start() - _NEAR, 0)
        is_key = bool(_BEFORE.search(("-" if start else "") + text[start : key.start()]))
        whole = _WHOLE.match(text, key.end())
        if whole and not (whole.end() == len(text) and not whole["quote"] and "{" in text):
            yield _WORDS[whole["value"].lower()], is_key
        elif _PARTIAL.match(text, key.end()) or (is_key and prose):
            yield None, is_key


READERS: dict[str, Callable[[str], int | None]] = {"official": official, "corrected": corrected}
