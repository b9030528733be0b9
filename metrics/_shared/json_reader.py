# SPDX-License-Identifier: Apache-2.0
"""JSON objects in a model's reply, whatever stands around them.

Where asked, slips of the pen are mended: commas too many, Python's words for null and truth, typographic and single
quotes, raw line breaks, keys without quotes, comments, and what a cut reply leaves open; nothing beyond that.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

_LONGEST = 100_000  # characters that are mended
_DEEPEST = 40  # brackets within each other
_TRIES = 50  # opening braces from which an object is read
_CLOSERS = {"{": "}", "[": "]"}
_WORDS = {"None": "null", "True": "true", "False": "false", "undefined": "null", "NaN": "null"}
# A string ends at the quote that began it or its partner, or with the text; an apostrophe within a word ends none.
_STRINGS = [r'"((?:[^"\\]+|\\.?)*)"?'] + [
    rf"{left}((?:[^{right}\\]+|\\.?|{right}(?!\s*(?:[,:\]}}]|\Z)))*){right}?"
    for left, right in ("''", "\u201c\u201d", "\u2018\u2019")
]
_COMMENT = r"//[^\n]*|/\*(?:.*?\*/|.*)"
_BARE = r"[^\s,:\[\]{}\"'\u201c\u2018]+"
_TOKEN = re.compile("|".join([r"[\[\]{}:,]", *_STRINGS, _COMMENT, _BARE]), re.DOTALL)
_COLON = re.compile(r"\s*:")
_EXACT, _LAX = json.JSONDecoder(), json.JSONDecoder(strict=False)


def objects(text: str, mend: bool = True, inner: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a model's reply in their order; never raises.

    `mend` reads what is nearly JSON too, in the first 100,000 characters; `inner` gives, after an object, also those
    within it.
    """
    text = text[:_LONGEST] if mend else text
    spot = -1
    for _ in range(_TRIES):
        spot = text.find("{", spot + 1)
        if spot < 0:
            return
        value, end = _decode(_LAX if mend else _EXACT, text, spot)
        if value is None and mend:
            mended, end = _mend(text, spot)
            value, _ = _decode(_LAX, mended, 0)
        if value is not None:
            yield value
            spot = spot if inner else end - 1


def _decode(decoder: json.JSONDecoder, text: str, spot: int) -> tuple[dict[str, Any] | None, int]:
    try:
        value, end = decoder.raw_decode(text, spot)
    except (ValueError, RecursionError):  # ValueError also for a number of too many digits
        return None, spot
    return value, end


def _mend(text: str, spot: int) -> tuple[str, int]:
    """Return the object that begins at `spot` as it was probably meant, and where it ends; empty where none was."""
    out: list[str] = []
    closers: list[str] = []
    for token in _TOKEN.finditer(text, spot):
        word = token[0]
        if token.lastindex:
            out.append(_string(token[token.lastindex]))
        elif word in _CLOSERS:
            closers.append(_CLOSERS[word])
            if len(closers) > _DEEPEST:
                return "", spot
            out.append(word)
        elif word in ("}", "]"):
            if word != closers[-1]:
                return "", spot
            _drop_comma(out)
            out.append(closers.pop())
            if not closers:
                return " ".join(out), token.end()
        elif word == ",":
            _drop_comma(out)
            out.append(word)
        elif word == ":":
            out.append(word)
        elif not word.startswith(("//", "/*")):
            word = _WORDS.get(word, word)
            # A key without quotes, else a number or a word of JSON.
            out.append(json.dumps(word) if _COLON.match(text, token.end()) else word)
    _drop_comma(out)
    if out[-1] == ":":
        out.append("null")
    return " ".join(out + closers[::-1]), len(text)


def _drop_comma(out: list[str]) -> None:
    if out[-1] == ",":
        out.pop()


def _string(raw: str) -> str:
    plain = re.sub(r'\\.|"', lambda found: '\\"' if found[0] == '"' else found[0].replace("\\'", "'"), raw, flags=re.S)
    try:
        value = json.loads(f'"{plain}"', strict=False)
    except ValueError:  # an escape that JSON does not know
        value = raw.replace("\\", "")
    return json.dumps(value)
