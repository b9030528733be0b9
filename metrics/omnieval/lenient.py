# SPDX-License-Identifier: Apache-2.0
"""How `official` reads a verdict: as OmniEval's code, which has json_repair 0.30.0 mend a reply that is no JSON.

The mending is our own, held by `tests/metrics/omnieval_vectors.json`, replies as that library read them. Nothing is
checked against a scale: that is the quirk.
"""

import json
import re
from bisect import bisect_left
from typing import Any

from .scales import FIELD, NAMES


def official(reply: str, key: str) -> int | None:
    """Return the integer that a reply gives to `prediction`, else to the metric's name; None where there is none.

    As Python's `int`: 1.9 is 1, "2" is 2, true is 1, "1.5" and lists are nothing. A reply of several JSON values, or of
    a list, is nothing.
    """
    try:
        try:
            found = json.loads(reply)
        except json.JSONDecodeError:
            found = _Mended(reply).whole()
        if not isinstance(found, dict):
            return None
        verdict = int(found.get(FIELD, found.get(NAMES[key])))
        float(verdict)  # one beyond all floats has no half
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    return verdict


_OPENING = re.compile(r"[{\[]")
_VALUE_START = re.compile(r"[{}\[\"'\u201c\-.]|[^\W_]")
_TEXT_START = re.compile(r"[\"'\u201c]|[^\W_]")
_NUMBER = {"value": re.compile(r"[-0-9.eE/,]+"), "list": re.compile(r"[-0-9.eE/]+")}
_LITERAL = re.compile("true|false|null", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]")
_SOLID = re.compile(r"\S")
_CLOSING = {'"': '"', "'": "'", "\u201c": "\u201d"}
# What a text's end is looked for at: escapes are passed over, quotation marks judged, and in a value commas and braces.
_MARKS = {
    (right, in_value): re.compile(rf"\\[{right}tnrb\\]|{right}" + "|[,}]" * in_value)
    for right in _CLOSING.values()
    for in_value in (True, False)
}
_BARE_KEY_MARKS = re.compile(r"[:\s\"]")


class _Mended:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.within: list[str] = []  # "value" of an object or "list", the innermost last
        self.dangling = False  # a key had no value: the library then takes the prose after the object for a value too
        # Looked for from many places, found once: else a long reply would take the square of its length.
        self.solid: dict[int, int] = {}
        self.marks: dict[str, list[int]] = {}

    def whole(self) -> Any:
        """Return its one object or list; None where there are several, or none."""
        found: list[Any] = []
        while opening := _OPENING.search(self.text, self.at):
            self.at = opening.start()
            found.append(self.value())
        prose = self.dangling and _WORD.search(self.text, self.at)
        return found[0] if len(found) == 1 and not prose else None

    def char(self, at: int | None = None) -> str:
        at = self.at if at is None else at
        return self.text[at : at + 1]

    def seek(self, pattern: re.Pattern[str]) -> str:
        """Go to where a pattern next matches, else to the end; return the character there."""
        found = pattern.search(self.text, self.at)
        self.at = found.start() if found else len(self.text)
        return self.char()

    def after(self, at: int) -> int:
        """Where the blanks from a place on end."""
        if not self.text[at : at + 1].isspace():
            return at
        if at not in self.solid:
            found = _SOLID.search(self.text, at)
            self.solid[at] = found.start() if found else len(self.text)
        return self.solid[at]

    def find(self, mark: str, at: int) -> int:
        """Where a quotation mark next stands without a backslash, else the text's length."""
        if mark not in self.marks:
            self.marks[mark] = [found.start() for found in re.finditer(rf"(?<!\\){mark}", self.text)] + [len(self.text)]
        return self.marks[mark][bisect_left(self.marks[mark], min(at, len(self.text)))]

    def follower(self, mark: str, at: int) -> str:
        """The character behind the next mark and its blanks; "" for none."""
        return self.char(self.after(self.find(mark, at) + 1))

    def value(self) -> Any:
        """Read the next value; "" where there is none before an object's brace or the end."""
        char, context = self.seek(_VALUE_START), self.within[-1] if self.within else ""
        if not char or (char == "}" and context == "value"):
            return ""
        if char == "}":
            self.at += 1
            return self.value()
        if char == "{":
            return self.object()
        if char == "[":
            return self.list()
        if char in "-." or char.isdigit():
            return self.number(context)
        if literal := _LITERAL.match(self.text, self.at):
            self.at = literal.end()
            return {"t": True, "f": False}.get(char.lower())
        return self.string(context)

    def object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.at += 1
        while self.char() not in ("", "}"):
            key = self.key()
            self.at = self.after(self.at)
            if self.char() in ("", "}"):
                self.dangling = True
                break
            self.at += 1  # the colon, or whatever stands in its place
            self.within.append("value")
            found[key] = self.value()
            self.within.pop()
            self.at = self.after(self.at + (self.char() in (",", "'", '"')))
        self.at += 1
        return found

    def list(self) -> list[Any]:
        """Go past a list. What it holds is no verdict, and is not kept."""
        self.at += 1
        self.within.append("list")
        while self.char() not in ("", "]", "}") and self.value() != "":
            while self.char() == "," or self.char().isspace():
                self.at += 1
        self.within.pop()
        self.at += self.char() in ("", "]")
        return []

    def key(self) -> str:
        """Read the next key, past whatever comes before one; a word with no colon after it is a comment."""
        while start := self.seek(_TEXT_START):
            key = self.string("key")
            follows = self.after(self.at)
            if start not in _CLOSING and follows > self.at:
                self.at = follows
                key = key if self.char() in (":", ",") else ""
            if key or self.char() == ":":
                return key
        return ""

    def number(self, context: str) -> Any:
        match = _NUMBER[context].match(self.text, self.at)
        digits = match.group() if match else ""  # none: a digit of another script
        if len(digits) > 1 and digits[-1] in "-eE/,":
            digits = digits[:-1]
        self.at += len(digits)
        try:
            return float(digits) if re.search("[.eE]", digits) else int(digits)
        except ValueError:
            return self.value() if digits == "-" else digits

    def string(self, context: str) -> str:
        """Read a text, in quotation marks or without, where it may end in many wrong ways."""
        left = self.char() if self.char() in _CLOSING else ""
        right, doubled = _CLOSING.get(left, '"'), False
        self.at += bool(left)
        if left and self.char() == left:
            if context == "key" and self.char(self.at + 1) == ":":
                self.at += 1
                return ""
            doubled = self.char(self.find(right, self.at + 1) + 1) == right
            self.at += doubled or self.char(self.after(self.at + 1)) not in (",", "]", "}")
        begin = self.at
        end, self.at = self.end_of_string(left, right, doubled, context)
        return self.text[begin:end].rstrip()

    def end_of_string(self, left: str, right: str, doubled: bool, context: str) -> tuple[int, int]:
        """Where the text that begins here ends, and where reading goes on."""
        begin, inside, in_value = self.at, False, context == "value"
        marks = _MARKS[right, in_value] if left or context != "key" else _BARE_KEY_MARKS
        for mark in marks.finditer(self.text, begin):
            at, char = mark.start(), mark.group()
            if char != right:
                if len(char) == 1 and (not in_value or self.cut_short(begin, at, right)):
                    return at, at
            elif at == begin:
                return at, at + 1
            elif not left and in_value:
                return at, at - 1 if self.follower(right, at + 1) == ":" else at + 1
            elif doubled and self.char(at + 1) == right:
                return at, at + 2
            elif inside or (in_value and not self.ends(at, left or right, right)):
                inside = not inside
            else:
                return at, at + 1
        return len(self.text), len(self.text)

    def cut_short(self, begin: int, at: int, right: str) -> bool:
        """Whether a value without its closing mark ends at a comma or brace, as what follows suggests."""
        if self.find(right, at + 1) < len(self.text):
            return self.follower(right, at + 1) not in (",", "}")
        start = self.after(at + 1)
        brace = self.text.find("}", start)
        if (brace if brace >= 0 else len(self.text)) - start > 1:
            return False
        return brace < 0 or self.text.rfind("{", begin, at) <= self.text.rfind("}", begin, at)

    def ends(self, at: int, left: str, right: str) -> bool:
        """Whether a closing mark ends an object's value, or belongs to it."""
        stop = re.compile(f"[{left}{right}}}" + (r"\],]" if "list" in self.within else "]")).search(self.text, at + 1)
        place = stop.start() if stop else len(self.text)
        comma = self.text.find(",", at + 1, place)
        if comma >= 0 and not any(map(str.isalpha, self.text[at + 1 : comma])):
            place = comma
        char = self.char(place)
        if char == ",":
            return self.follower(right, place + 1) != "}"
        if char and char in left + right and self.char(place - 1) != "\\":
            follows = re.compile(f"[:,{right}]").search(self.text, self.find(right, place + 1) + 1)
            return follows is not None and follows.group() == ":"
        return True
