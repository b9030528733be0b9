# SPDX-License-Identifier: Apache-2.0
"""How `official` reads a verdict: as OmniEval's code, which has json_repair 0.30.0 mend a reply that is no JSON.

The mending here is our own, made to agree with that library on what judges write: `tests/metrics/omnieval_vectors.json`
holds replies as the library read them. Nothing is checked against a scale: that is the quirk.
"""

from __future__ import annotations

import json
import re
from typing import Any

from .scales import (
    FIELD,
    NAMES,
)


def official(reply: str, key: str) -> int | None:
    """Return the integer that a reply gives to `prediction`, else to the metric's name; None where there is none.

    As Python's `int`: 1.9 is 1, "2" is 2, true is 1, "1.5" and lists are nothing. A reply of several JSON values, or of
    a list, is nothing.
    """
    try:
        found = json.loads(reply)
    except json.JSONDecodeError:
        try:
            found = _Mended(reply).whole()
        except (ValueError, RecursionError):
            return None
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    try:
        verdict = int(found.get(FIELD, found.get(NAMES[key])))
        float(verdict)  # one beyond all floats has no half
    except (TypeError, ValueError, OverflowError):
        return None
    return verdict


_OPENING = re.compile(r"[{\[]")
_VALUE_START = re.compile(r"[{}\[\"'\u201c\-.]|[^\W_]")
_TEXT_START = re.compile(r"[\"'\u201c]|[^\W_]")
_NUMBER = {"value": re.compile(r"[-0-9.eE/,]+"), "list": re.compile(r"[-0-9.eE/]+")}
_LITERAL = re.compile("(true)|(false)|null", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]")
_SPACE = re.compile(r"\s*")
_BETWEEN = re.compile(r"[\s,]*")
_CLOSING = {'"': '"', "'": "'", "\u201c": "\u201d"}
# What a text's end is looked for at: escapes are passed over, quotation marks judged, and in a value commas and braces.
_MARKS = {
    (right, context): re.compile(rf"\\[{right}tnrb\\]|{right}" + ("|[,}]" if context == "value" else ""))
    for right in _CLOSING.values()
    for context in ("key", "value", "list")
}
_BARE_KEY_MARKS = re.compile(r"[:\s\"]")


class _Mended:
    """A text that is not quite JSON, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.within: list[str] = []  # "value" of an object or "list", the innermost last
        self.dangling = False  # a key had no value: the library then takes the prose after the object for a value too
        # Looked for from many places, found once: else a long reply would take the square of its length.
        self.blanks: dict[int, int] = {}
        self.marks: dict[str, tuple[int, int]] = {}

    def whole(self) -> Any:
        """Return its one object or list, or a list of them where there are several; "" without any."""
        found: list[Any] = []
        while opening := _OPENING.search(self.text, self.at):
            self.at = opening.start()
            found.append(self.value())
        if self.dangling and _WORD.search(self.text, self.at):
            return []
        return found[0] if len(found) == 1 else found or ""

    def char(self, at: int | None = None) -> str:
        at = self.at if at is None else at
        return self.text[at : at + 1]

    def after(self, at: int, pattern: re.Pattern[str] = _SPACE) -> int:
        """Where the blanks from a place on end."""
        if pattern is _SPACE and at in self.blanks:
            return self.blanks[at]
        match = pattern.match(self.text, at)
        end = match.end() if match else at
        if end > at + 1 and pattern is _SPACE:
            self.blanks[at] = end
        return end

    def find(self, mark: str, at: int) -> int:
        """Where a quotation mark next stands without a backslash, else the text's length."""
        since, found = self.marks.get(mark, (0, -1))
        if not since <= at <= found:
            found = self.text.find(mark, at)
            while found > 0 and self.text[found - 1] == "\\":
                found = self.text.find(mark, found + 1)
            found = found if found >= 0 else len(self.text)
            self.marks[mark] = at, found
        return found

    def value(self) -> Any:
        """Read the next value; "" where there is none before an object's brace or the end."""
        start = _VALUE_START.search(self.text, self.at)
        context = self.within[-1] if self.within else ""
        self.at = start.start() if start else len(self.text)
        if start is None:
            return ""
        char = start.group()
        if char == "}":
            self.at += context != "value"
            return "" if context == "value" else self.value()
        if char == "{":
            return self.object()
        if char == "[":
            return self.list()
        return self.number(context) if char in "-." or char.isdigit() else self.string(context)

    def object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.at += 1
        while self.char() not in ("", "}"):
            key = self.key()
            self.at = self.after(self.at)
            if self.char() in ("", "}"):
                self.dangling = True
                continue
            self.at += 1  # the colon, or whatever stands in its place
            self.within.append("value")
            found[key] = self.value()
            self.within.pop()
            self.at = self.after(self.at + (self.char() in (",", "'", '"')))
        self.at += 1
        return found

    def list(self) -> list[Any]:
        found: list[Any] = []
        self.at += 1
        self.within.append("list")
        while self.char() not in ("", "]", "}"):
            entry = self.value()
            if entry == "":
                break
            found.append(entry)
            self.at = self.after(self.at, _BETWEEN)
        self.within.pop()
        self.at += self.char() in ("", "]")
        return found

    def key(self) -> str:
        """Read the next key, past whatever comes before one; a word with no colon after it is a comment."""
        while start := _TEXT_START.search(self.text, self.at):
            self.at = start.start()
            key = str(self.string("key"))
            follows = self.after(self.at)
            if start.group() not in _CLOSING and follows > self.at:
                self.at = follows
                key = key if self.char() in (":", ",") else ""
            if key or self.char() == ":":
                return key
        self.at = len(self.text)
        return ""

    def number(self, context: str) -> Any:
        match = _NUMBER[context].match(self.text, self.at)
        if match is None:  # a digit of another script
            return ""
        digits = match.group()
        if len(digits) > 1 and digits[-1] in "-eE/,":
            digits = digits[:-1]
        self.at += len(digits)
        try:
            return float(digits) if re.search("[.eE]", digits) else int(digits)
        except ValueError:
            return self.value() if digits == "-" else digits

    def string(self, context: str) -> Any:
        """Read a text, in quotation marks or without, where it may end in many wrong ways; or a bare literal."""
        text, left = self.text, self.char() if self.char() in _CLOSING else ""
        right, doubled, inside = _CLOSING.get(left, '"'), False, False
        if not left and context != "key" and (literal := _LITERAL.match(text, self.at)):
            self.at = literal.end()
            return literal.lastindex == 1 if literal.lastindex else None
        self.at += bool(left)
        if left and self.char() == left:
            if context == "key" and self.char(self.at + 1) == ":":
                self.at += 1
                return ""
            following = self.find(right, self.at + 1)
            doubled = self.char(following) != "" and self.char(following + 1) == right
            self.at += doubled or self.char(self.after(self.at + 1)) not in (",", "]", "}")
        begin = self.at
        marks = _MARKS[right, context] if left or context != "key" else _BARE_KEY_MARKS
        for mark in marks.finditer(text, begin):
            at, char = mark.start(), mark.group()
            if char != right:
                if len(char) == 1 and (context == "key" or self.cut_short(begin, at, right)):
                    self.at = at
                    break
            elif at == begin or (not left and context == "value"):
                following = self.find(left or right, at + 1)
                names_key = at > begin and self.char(self.after(following + 1)) == ":"
                self.at = at - 1 if names_key else at + 1
                break
            elif doubled and self.char(at + 1) == right:
                self.at = at + 2
                break
            elif inside or not self.ends(at, left or right, right, context):
                inside = not inside
            else:
                self.at = at + 1
                break
        else:
            at = self.at = len(text)
        return text[begin:at].rstrip()

    def cut_short(self, begin: int, at: int, right: str) -> bool:
        """Whether a value without its closing mark ends at a comma or brace, as what follows suggests."""
        mark = self.find(right, at + 1)
        if mark < len(self.text):
            return self.char(self.after(mark + 1)) not in (",", "}")
        start = self.after(at + 1)
        brace = self.text.find("}", start)
        if (brace if brace >= 0 else len(self.text)) - start > 1:
            return False
        return brace < 0 or self.text.rfind("{", begin, at) <= self.text.rfind("}", begin, at)

    def ends(self, at: int, left: str, right: str, context: str) -> bool:
        """Whether a closing mark ends its text, or belongs to it."""
        stops = left + right + "}" * (context == "key" or "value" in self.within) + ":" * (context == "key")
        stops += "]," if "list" in self.within else ""
        match = re.compile(f"[{re.escape(stops)}]").search(self.text, at + 1)
        place = match.start() if match else len(self.text)
        if context == "value":
            comma = self.text.find(",", at + 1, place)
            if comma >= 0 and not any(map(str.isalpha, self.text[at + 1 : comma])):
                place = comma
        char = self.char(place)
        if char == "," and context == "value":
            return self.char(self.after(self.find(right, place + 1) + 1)) != "}"
        if char and char in left + right and self.char(place - 1) != "\\" and context == "value":
            following = self.find(right, place + 1) + 1
            match = re.compile(f"[:,{right}]").search(self.text, following)
            return match is not None and match.group() == ":"
        return True
