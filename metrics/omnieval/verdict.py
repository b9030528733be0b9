# SPDX-License-Identifier: Apache-2.0
"""How `corrected` reads a verdict: patient with the form, never guessing what was meant.

A verdict is an integer of the metric's scale, -1 for "does not apply" where the metric has that; None stands for none
that can be read. Linear in the length of a reply, whatever it holds. Nothing here knows the item or who judges.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from .scales import (
    FIELD,
    NAMES,
    READABLE,
)


class _Object(list[tuple[str, Any]]):
    """A JSON object as its pairs, since a repeated key may contradict itself."""


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_Object)


def corrected(reply: str, key: str) -> int | None:
    """Read `prediction`, or the metric's name, of a JSON object, repaired where need be.

    A verdict is a number, a string that holds one, or for a scale that ends at 1 a boolean. None where there is none,
    where one cannot be read or is off the scale, and where two differ: of a reply that says both, neither is surely the
    judge's own. What a well-formed object holds in its other fields is not read.
    """
    reader = _READERS[key]
    objects, outside = _objects(reply := _unwrapped(reply))
    fields = [reader.fields(found) for found in objects]
    if objects and not any(fields):
        return None
    if objects and all(fields):
        values = [verdict for own in fields for verdict in own]
        values += [verdict for text in outside for verdict, _ in reader.mentions(text, prose=False)]
    else:  # not well-formed; or it is, and a quotation mark too many may have made a field part of a text
        mentions = list(reader.mentions(reply, prose=True))
        values = [verdict for verdict, _ in mentions] if any(is_key for _, is_key in mentions) else []
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


_QUOTES = "\"'`\u2018-\u201f"
_MINUS = "-\u2212\uff0d"
# What stands before a key: the reply's beginning, a line's, a brace, or a comma after a value.
_BEFORE = re.compile(rf"(?:\A|\n|{{|[\d\]}}{_QUOTES}]\s{{0,9}}[,\uff0c])[ \t*_\\-]{{0,40}}[{_QUOTES}]?\Z")
# A whole value, and what may stand after one.
_WHOLE = re.compile(
    rf"\\?(?P<quote>[{_QUOTES}])?[ ]?(?P<value>[{_MINUS}]?\d(?:\.0)?|true|false)[ ]?(?(quote)\\?[{_QUOTES}])"
    rf"[*_]{{0,3}}(?=[ \t]*(?:[,\uff0c](?!\s?\d|\s*\Z)|[}}\];\r\n\u3002\uff1b]|\\?[{_QUOTES}]|\\n|\.\s|\Z))",
    re.IGNORECASE | re.ASCII,
)
_PARTIAL = re.compile(rf"\\?[{_QUOTES}]?[ ]?(?:[{_MINUS}+.\d]|true|false)", re.IGNORECASE)
_NEAR = 64  # characters that `_BEFORE` may look at


class _Reader:
    """What one metric's verdicts look like."""

    def __init__(self, key: str) -> None:
        self.name = NAMES[key]
        words = {str(verdict): verdict for verdict in READABLE[key]}
        words |= {f"{verdict}.0": verdict for verdict in READABLE[key]}
        self.words = words | ({"false": 0, "true": 1} if max(READABLE[key]) == 1 else {})
        # The field with what may stand around it, up to its value.
        self.key = re.compile(
            rf"(?:(?<![a-z0-9_])|(?<=\\n)|(?<=\\t))(?:{FIELD}|{self.name.replace('_', '[_ ]')})"
            rf"[\s\\*_{_QUOTES}]{{0,9}}(?:[:=\uff1a\u4e3a\u662f]|\b(?:is|of)\b)[ \t*_]{{0,9}}\n?[ \t]{{0,9}}",
            re.IGNORECASE,
        )

    def word(self, text: str) -> int | None:
        """The verdict that a word gives."""
        return self.words.get(re.sub(rf"^[{_MINUS}]", "-", text.strip().lower()))

    def verdict(self, value: Any) -> int | None:
        """The verdict that a JSON value gives."""
        if isinstance(value, str):
            return self.word(value)
        if isinstance(value, bool):
            return self.words.get(str(value).lower())
        if isinstance(value, float):
            value = int(value) if value.is_integer() else None
        return self.words.get(str(value)) if isinstance(value, int) and abs(value) < 10 else None

    def fields(self, found: _Object) -> list[int | None]:
        """The verdicts of an object itself, or on the first level within it that has any.

        Beside `prediction`, the metric's name may well hold something else, such as a reason; it counts where it holds
        what could be a verdict.
        """
        level: list[Any] = [found]
        while level:
            pairs = [
                (name.strip().lower(), held) for value in level if isinstance(value, _Object) for name, held in value
            ]
            own = [self.verdict(held) for name, held in pairs if name == FIELD]
            named = [(self.verdict(held), held) for name, held in pairs if name == self.name]
            if own or named:
                return own + [verdict for verdict, held in named if not own or verdict is not None or _numeral(held)]
            inner = [value for _, value in pairs]
            inner += [entry for value in level if not isinstance(value, _Object) for entry in value]
            level = [value for value in inner if isinstance(value, list)]
        return []

    def mentions(self, text: str, prose: bool) -> Iterator[tuple[int | None, bool]]:
        """Every verdict that a text gives, or None where it cannot be read, and whether it stands as a key's value.

        What follows the field and is no value is passed over; with `prose`, not after a key, where it is an unreadable
        one. A value that the text's end cuts off from an open object may go on: it cannot be read.
        """
        for key in self.key.finditer(text):
            start = max(key.start() - _NEAR, 0)
            is_key = bool(_BEFORE.search(("-" if start else "") + text[start : key.start()]))
            whole = _WHOLE.match(text, key.end())
            if whole and not (whole.end() == len(text) and not whole["quote"] and "{" in text):
                yield self.word(whole["value"]), is_key
            elif _PARTIAL.match(text, key.end()) or (is_key and prose):
                yield None, is_key


def _numeral(value: Any) -> bool:
    """Whether a JSON value could be meant as a verdict, though it is none of the scale."""
    return not isinstance(value, str) or bool(re.match(rf"\s*[{_MINUS}+.\d]", value))


_READERS = {key: _Reader(key) for key in NAMES}
