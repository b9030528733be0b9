"""JSON, YAML and other libraries' values that come from outside, read into plain values, or one clear line.

Parsers raise several kinds of errors at hostile text, and a nesting that they bear may still be too deep for whoever
shows or copies the value, so a bound far below theirs holds here. Nothing is said here of what a value should be.
"""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError, one_line
from quadrag.printing import clean

DEEPEST = 100  # lists and objects in each other; no file of ours or of upstream has ten


class Unreadable(Exception):
    """What came is not of its form; the message says in a line what it is, and what was expected."""


def parse_json(text: str | bytes, where: object, expected: str = "JSON") -> Any:
    """Read a text, or bytes in UTF-8, as JSON; NaN and infinities as Python's `json` does.

    QuadragError, which names its place, as ``answers.jsonl:3``, and what is `expected` there, where it is no JSON, no
    UTF-8, nested deeper than `DEEPEST`, or holds a number that cannot be read.
    """
    return _parse("JSON", json.loads, text, where, expected)


def parse_yaml(text: str | bytes, where: object, expected: str) -> Any:
    """Read a text as YAML, plain values alone; arguments and errors as of `parse_json`."""
    import yaml

    return _parse("YAML", yaml.safe_load, text, where, expected)


def _parse(kind: str, load: Callable[[str], Any], text: str | bytes, where: object, expected: str) -> Any:
    try:
        value = load(text.decode("utf-8-sig") if isinstance(text, bytes) else text)
        deep = is_deeper(value, DEEPEST)
    except UnicodeDecodeError:
        raise not_utf8(where, expected) from None
    except RecursionError:
        deep = True
    except Exception as error:  # of the parsers' many kinds
        problem = re.sub(r"(: line 1 column \d+)? \(char \d+\)", "", one_line(error, 160))
        raise QuadragError(f"{where} is not {kind} ({problem}); expected {expected}") from None
    if deep:
        raise QuadragError(f"{where} is nested more than {DEEPEST} deep; expected {expected}")
    return value


def is_deeper(value: Any, depth: int) -> bool:
    """Whether lists and objects stand in each other more than `depth` deep, as an alias of YAML within itself does."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(depth):
        if not level:
            return False
        values = [part for each in level for part in (each.values() if isinstance(each, dict) else each)]
        # Each container once: aliases of YAML may name one many times.
        level = [*{id(part): part for part in values if isinstance(part, (dict, list))}.values()]
    return bool(level)


def read_text(path: Path, expected: str = "text") -> str:
    """Read a file of text, with or without a byte order mark; QuadragError where it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise not_utf8(path, expected) from None


def not_utf8(where: object, expected: str) -> QuadragError:
    """Return the error about a text in another encoding."""
    return QuadragError(
        f"{where} is not UTF-8; expected {expected} in UTF-8: convert it, as by `iconv -f GB18030 -t UTF-8`"
    )


def plain(value: Any) -> Any:
    """Return a scalar of numpy, pandas or torch as Python's own; what is missing to them (NaN, NA, NaT) is None.

    In a text half of a surrogate pair, as of an emoji that was cut apart, becomes U+FFFD: UTF-8 cannot hold it.
    """
    if getattr(value, "shape", None) == () and callable(getattr(value, "item", None)):
        value = value.item()
    if type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and math.isnan(value)):
        return None
    return clean(str.__str__(value)) if isinstance(value, str) else value


def name_kind(value: Any) -> str:
    """Name a value by its type, and a number as well by itself: ``a list``, ``an int (7)``, ``None``."""
    if value is None:
        return "None"
    kind = type(value).__name__
    shown = f" ({value})" if isinstance(value, (int, float)) else ""
    return f"a{'n' * (kind[0].lower() in 'aeiou')} {kind}{shown}"
