"""The one exception a user of quadrag is meant to read, and how other errors become a line of it.

It does not cover programming errors: those keep their own types and their traceback.
"""

import difflib
import errno
import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

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
    """A run is worse than another one, or below what was asked of it, or neither can be told since a score is invalid.

    Its code is 4, or 3 where a score is invalid.
    """

    def __init__(self, message: str, code: int = 4) -> None:
        super().__init__(message)
        self.code = code


def tell_extra(name: str) -> str:
    """Say how one of quadrag's extras is installed, from whatever folder quadrag is used."""
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
    """Return what has a name; QuadragError, as of `unknown_name`, where nothing has."""
    if name not in known:
        raise unknown_name(kind, name, known)
    return known[name]


def one_line(text: object, longest: int | None = None) -> str:
    """Return a text, or that of an error, as one line, of so many characters at most, that a terminal shows as is."""
    line = " ".join(_UNSEEN.sub("", str(text)).split())
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}…"


def unreadable_index(folder: object, error: Exception) -> QuadragError:
    """Return the error of an index that is there and cannot be read."""
    return QuadragError(f"{folder} is no index that can be read ({one_line(error)}); remove it, and it is built again")
