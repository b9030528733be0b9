"""What comes from outside is read into plain values, or ends in the one exception that a user is meant to read.

Parsers raise several kinds of errors at hostile text, and a nesting that they bear may still be too deep for whoever
shows or copies the value, so a bound far below theirs holds here. Programming errors keep their types and traceback.
"""

import difflib
import errno
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

_Value = TypeVar("_Value")

# What a terminal obeys or a reader does not see: colours and the like, control characters, turns of direction, joints.
_UNSEEN = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)

NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)  # numbers of an OSError: no more files or connections can be opened


# What few need is no option, but a field of a spec.
_FIELDS: dict[str, str] = {
    "--api": "system: {api: completions, template: T}",
    "--template": "system: {api: completions, template: T}",
    "--top-p": "system: {sampling: {top_p: P}}",
    "--sampling-top-k": "system: {sampling: {top_k: N}}",
    "--repetition-penalty": "system: {sampling: {repetition_penalty: X}}",
    "--stop": "system: {sampling: {stop: [TEXT]}}",
    "--chunk-overlap": "retrieval: {chunk_overlap: P}",
    "--chunk-tokenizer": "retrieval: {chunk_tokenizer: T}",
    "--chunk-source": "retrieval: {chunk_source: files}",
    "--instruction": "retrieval: {instruction: both}",
    "--reranker": "retrieval: {reranker: M}",
    "--entity-name": "entity_model: {name: NAME}",
    "--judge-name": "judges: [{name: NAME}]",
    "--judge-max-tokens": "judges: [{sampling: {max_tokens: N}}]",
    "--max-reply-bytes": "calls: {max_reply_bytes: N}",
}


class UnknownScore(KeyError):
    """A name that stands for no one score of a result; the message says which there are."""


class QuadragError(Exception):
    """Bad input or a failed outside part; the message is one line that says what was found, expected and what to do.

    The command line prints the message and exits with the code.
    """

    code = 2


class NotReady(QuadragError):
    """A package, a file or the user's leave to run a model's code is not given; the message says how each is."""


class GateFailed(QuadragError):
    """A run is worse than another one or below what was asked of it; or, with code 3, a measurement is invalid."""

    def __init__(self, message: str, code: int = 4) -> None:
        super().__init__(message)
        self.code = code


def tell_extra(name: str) -> str:
    return f"from the checkout: pip install '.[{name}]'"


def unknown_name(kind: str, name: str, known: Iterable[str]) -> QuadragError:
    """Return the error for a name that is not among the known ones, nearest first; `kind` is the noun, ``"config"``."""
    if field := _FIELDS.get(f"--{str(name).lstrip('-').replace('_', '-')}"):
        return QuadragError(f"{name} is a field of a spec; in a file of --spec: {field}")
    names = list(known)
    if not names:
        return QuadragError(
            f"unknown {kind} {name!r}: none is installed; install quadrag again, or the package it is in"
        )
    if near := difflib.get_close_matches(str(name), names, n=3, cutoff=0.4):
        return QuadragError(f"unknown {kind} {name!r}; nearest: {', '.join(near)}")
    return QuadragError(f"unknown {kind} {name!r}; known: {', '.join(names[:12])}{', ...' * (len(names) > 12)}")


def pick(kind: str, name: str, known: Mapping[str, _Value]) -> _Value:
    if name not in known:
        raise unknown_name(kind, name, known)
    return known[name]


def one_line(text: object, longest: int | None = None) -> str:
    """Return a text, or that of an error, as one line, of so many characters at most, that a terminal shows as is."""
    line = " ".join(_UNSEEN.sub("", str(text)).split())
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}…"


def clean(value: _Value) -> _Value:
    """Return a text, or the texts of lists and mappings, as UTF-8 can hold it: half of a surrogate pair is U+FFFD."""
    if isinstance(value, str):
        return cast(_Value, value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
    if isinstance(value, list):
        return cast(_Value, [clean(part) for part in value])
    return cast(_Value, {name: clean(part) for name, part in value.items()}) if isinstance(value, dict) else value


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


def read_yaml(path: str | Path, expected: str) -> Any:
    """Read a file as YAML; errors as of `parse_json`, and where it cannot be read."""
    try:
        content = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise QuadragError(f"cannot read {path} ({error.strerror}); expected {expected}") from None
    return parse_yaml(content, path, expected)


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
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise not_utf8(path, expected) from None


def not_utf8(where: object, expected: str) -> QuadragError:
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
