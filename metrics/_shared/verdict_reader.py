# SPDX-License-Identifier: Apache-2.0
"""A verdict in a judge's reply: the value of one field of a JSON object, repaired where need be, never guessed.

What a well-formed object holds in its other fields is not read. Of a reply that is not well-formed, or has text around
its objects, what stands as `field: value` is read, as folded. Two verdicts that differ are none: neither is surely the
judge's own. Linear in the length of a reply, whatever it holds.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from .scoring import fold

_QUOTES = "\"'"
_NEAR = 64  # characters before a field's name that are looked at


# What may stand around a field and its value in text, as parts of patterns: where the name may begin, what links the
# two, what follows a comma behind a value that may be no whole one, what ends a value beside commas, brackets,
# quotation marks and line ends, and flags. In English the field's name also ends a longer word; digits and blanks are
# those of every script. In Chinese 为 and 是 link too; the name is a whole word, digits and blanks are ASCII's.
ENGLISH = ("", ":=", r"\d", "", re.IGNORECASE)
CHINESE = (r"(?:(?<![a-z0-9_])|(?<=\\n)|(?<=\\t))", ":=为是", r"\s?\d|\s*\Z", "。", re.IGNORECASE | re.ASCII)


class Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs, since a repeated key may contradict itself."""

    def levels(self) -> Iterator[list[tuple[str, Any]]]:
        """Yield its own pairs, then those of all objects one level within it, and so on; keys in lower case."""
        level: list[Any] = [self]
        while level:
            pairs = [pair for value in level if isinstance(value, Pairs) for pair in value]
            yield [(key.strip().lower(), value) for key, value in pairs]
            inner = [value for _, value in pairs]
            inner += [entry for value in level if not isinstance(value, Pairs) for entry in value]
            level = [value for value in inner if isinstance(value, list)]


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=Pairs)


def split(reply: str) -> tuple[list[Pairs], list[str]]:
    """Return a reply's outermost objects and the texts around them; all as text where one is not well-formed."""
    found: list[Pairs] = []
    outside: list[str] = []
    at = 0
    while (start := reply.find("{", at)) >= 0:
        outside.append(reply[at:start])
        try:
            value, at = _DECODER.raw_decode(reply, start)
        except (ValueError, RecursionError):
            return [], [reply]
        found.append(value)
    return found, [*outside, reply[at:]]


def agreed(verdicts: Sequence[int | None]) -> int | None:
    return verdicts[0] if verdicts and verdicts.count(verdicts[0]) == len(verdicts) else None


class VerdictReader:
    """Reads one metric's verdicts: those of a scale as numbers or strings; of one that ends at 1 also as booleans.

    The field may have a second name, `other`. Beside the first it may hold something else, such as a reason: it counts
    where it could be meant as a verdict.
    """

    def __init__(self, field: str, scale: Sequence[int], other: str = "", marks: Any = ENGLISH) -> None:
        begins, links, goes_on, stops, flags = marks
        self.field, self.other = field, other
        self.words = {text: verdict for verdict in scale for text in (f"{verdict}", f"{verdict}.0")}
        self.words |= {"false": 0, "true": 1} if max(scale) == 1 else {}
        names = "|".join(name.replace("_", "[_ ]") for name in (field, other) if name)
        quote = f"[{_QUOTES}]"
        # The field with what may stand around it, up to its value.
        self.name = re.compile(
            rf"{begins}(?:{names})[\s\\*_{_QUOTES}]{{0,9}}(?:[{links}]|\b(?:is|of)\b)"
            r"[ \t*_]{0,9}\n?[ \t]{0,9}",
            re.IGNORECASE,
        )
        # What stands before a key: the reply's beginning, a line's, a brace, or a comma after a value.
        self.before = re.compile(rf"(?:\A|\n|{{|[\d\]}}{_QUOTES}]\s{{0,9}},)[ \t*_\\-]{{0,40}}{quote}?\Z")
        # A whole value, and what may stand after one; then the beginning of any.
        self.whole = re.compile(
            rf"\\?(?P<quote>{quote})?[ ]?(?P<value>-?\d(?:\.0)?|true|false)[ ]?(?(quote)\\?{quote})[*_]{{0,3}}"
            rf"(?=[ \t]*(?:,(?!{goes_on})|[}}\];\r\n{stops}]|\\?{quote}|\\n|\.\s|\Z))",
            flags,
        )
        self.partial = re.compile(rf"\\?{quote}?[ ]?(?:[-+.\d]|true|false)", re.IGNORECASE)

    def read(self, reply: str) -> int | None:
        """Return the verdict of a reply: None where there is none, where one cannot be read, and where two differ."""
        reply = _unwrapped(reply)
        objects, outside = split(reply)
        fields = [] if any("}" in text for text in outside) else [self._fields(found) for found in objects]
        if fields and not any(fields):
            return None
        if fields and all(fields):
            beside = [verdict for text in outside for verdict, _ in self._mentions(text, prose=False)]
            return agreed([verdict for of_object in fields for verdict in of_object] + beside)
        # Not well-formed; or it is, and a quotation mark too many may have made a field part of a text.
        mentions = list(self._mentions(reply, prose=True))
        return agreed([verdict for verdict, _ in mentions]) if any(is_key for _, is_key in mentions) else None

    def _fields(self, found: Pairs) -> list[int | None]:
        """The verdicts of an object itself, or on the first level within it that has any."""
        for pairs in found.levels():
            first = [self._verdict(value) for key, value in pairs if key == self.field]
            second = [(self._verdict(value), value) for key, value in pairs if self.other and key == self.other]
            if first or second:
                return first + [
                    verdict for verdict, value in second if not first or verdict is not None or self._is_numeral(value)
                ]
        return []

    def _verdict(self, value: Any) -> int | None:
        if isinstance(value, float):
            value = int(value) if value.is_integer() else None
        plain = isinstance(value, str) or (isinstance(value, int) and abs(value) < 10)
        return self._word(str(value)) if plain else None

    def _word(self, text: str) -> int | None:
        return self.words.get(fold(text).lower())

    def _is_numeral(self, value: Any) -> bool:
        return not isinstance(value, str) or bool(re.match(r"[-+.\d]", fold(value)))

    def _mentions(self, text: str, prose: bool) -> Iterator[tuple[int | None, bool]]:
        """Every verdict that a text gives, or None where it cannot be read, and whether it stands as a key's value.

        What follows the field and is no value is passed over; with `prose`, not after a key, where it is an unreadable
        one. A value that the text's end cuts off from an open object may go on: it cannot be read.
        """
        text = "\n".join(map(fold, text.split("\n")))
        for name in self.name.finditer(text):
            start = max(name.start() - _NEAR, 0)
            is_key = bool(self.before.search(("-" if start else "") + text[start : name.start()]))
            whole = self.whole.match(text, name.end())
            if whole and not (whole.end() == len(text) and not whole["quote"] and "{" in text):
                yield self._word(whole["value"]), is_key
            elif self.partial.match(text, name.end()) or (is_key and prose):
                yield None, is_key


def _unwrapped(reply: str) -> str:
    try:
        text = json.loads(reply) if reply.lstrip().startswith('"') else reply
    except ValueError:
        return reply
    return text if isinstance(text, str) else reply
