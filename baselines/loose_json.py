"""JSON objects in a model's reply, read tolerantly: text around them, fences, slips of the pen, a cut end.

Mended are commas too many, Python's words for null and truth, typographic and single quotes around strings, raw line
breaks in strings, comments, and what a cut reply leaves open. Nothing is guessed beyond that: text that is then still
no JSON gives no object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_LONGEST = 100_000  # characters that are read
_DEEPEST = 40  # brackets within each other
_TRIES = 50  # opening braces from which an object is read
_CLOSERS = {"{": "}", "[": "]"}
# What may end a string: the quote that began it, or its typographic partner.
_QUOTES = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019"}
_BARE = re.compile(r"[^\s,:\[\]{}\"'\u201c\u2018]+")
_KEY = re.compile(r"\s*:")
_END = re.compile(r"\s*(?:[,:\]}]|\Z)")
_WORDS = {"None": "null", "True": "true", "False": "false", "undefined": "null", "NaN": "null"}
_DECODER = json.JSONDecoder(strict=False)


def objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects of a text in their order, mended where need be; never raises."""
    text = text[:_LONGEST]
    spot = -1
    for _ in range(_TRIES):
        spot = text.find("{", spot + 1)
        if spot < 0:
            return
        value, end = _exact(text, spot)
        if value is None:
            mended, end = _mended(text, spot)
            value, _ = _exact(mended, 0)
        if value is not None:
            yield value
            spot = end - 1


def _exact(text: str, spot: int) -> tuple[dict[str, Any] | None, int]:
    try:
        value, end = _DECODER.raw_decode(text, spot)
    except (ValueError, RecursionError):  # ValueError also for a number of too many digits
        return None, spot
    return (value if isinstance(value, dict) else None), end


def _mended(text: str, spot: int) -> tuple[str, int]:
    """Return the object that begins at `spot` as it was probably meant, and where it ends; empty where too deep."""
    out: list[str] = []
    open_: list[str] = []
    while spot < len(text):
        character = text[spot]
        if character in _CLOSERS:
            open_.append(_CLOSERS[character])
            if len(open_) > _DEEPEST:
                return "", spot
            out.append(character)
        elif character in "}]":
            _drop_comma(out)
            if character != open_[-1]:
                return "", spot
            out.append(open_.pop())
            if not open_:
                return "".join(out), spot + 1
        elif character in _QUOTES:
            string, spot = _string(text, spot)
            out.append(string)
            continue
        elif text.startswith(("//", "/*"), spot):
            ends = ("\n", "*/")[text[spot + 1] == "*"]
            end = text.find(ends, spot + 2)
            spot = len(text) if end < 0 else end + len(ends)
            continue
        elif match := _BARE.match(text, spot):
            word = _WORDS.get(match[0], match[0])
            # A key without quotes, else a number or a word of JSON.
            out.append(json.dumps(word) if _KEY.match(text, match.end()) else word)
            spot = match.end()
            continue
        elif character == ",":
            _drop_comma(out)
            out.append(character)
        else:
            out.append(character if character == ":" else " ")
        spot += 1
    _drop_comma(out)
    if out and out[-1].strip() == ":":
        out.append("null")
    return "".join(out) + "".join(reversed(open_)), spot


def _drop_comma(out: list[str]) -> None:
    while out and not out[-1].strip():
        out.pop()
    if out and out[-1] == ",":
        out.pop()


def _string(text: str, spot: int) -> tuple[str, int]:
    """Read a string, which ends at its quote or with the text, as JSON text; an apostrophe within a word ends none."""
    close = _QUOTES[text[spot]]
    start, spot = spot + 1, spot + 1
    while spot < len(text):
        if text[spot] == "\\":
            spot += 2
            continue
        if text[spot] == close and (close == '"' or _END.match(text, spot + 1)):
            break
        spot += 1
    raw = text[start : min(spot, len(text))]
    plain = re.sub(r'\\.|"', lambda found: '\\"' if found[0] == '"' else found[0].replace("\\'", "'"), raw, flags=re.S)
    try:
        value = json.loads(f'"{plain}"', strict=False)
    except ValueError:  # an escape that JSON does not know
        value = raw.replace("\\", "")
    return json.dumps(value), spot + 1
