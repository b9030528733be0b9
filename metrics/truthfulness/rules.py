# SPDX-License-Identifier: Apache-2.0
"""What is decided of an answer without a judge: whether it is missing, and which accepted answers settle it.

The rules follow CRAG's evaluation code as it was meant (Yang et al., NeurIPS 2024, arXiv:2406.04744; as released it
cannot run).
"""

import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from .fold import fold
from .refusals import declines

CORRECT, INCORRECT, MISSING = "correct", "incorrect", "missing"
UNSURE, INVALID = "i don't know", "invalid"  # the protocol's
_UNSURE = re.compile(rf"{UNSURE}(?! ?\w)")
MAX_TOKENS = 75  # the challenge's, of Llama 2's tokenizer


class Ruling(NamedTuple):
    """The outcome where the rules settle it, else "" and the accepted answers to ask the judge about."""

    outcome: str
    open: tuple[str, ...] = ()


def distinct(texts: Sequence[str]) -> list[str]:
    """Return accepted answers stripped and in order, each once whatever its case; blank ones are none."""
    found: dict[str, str] = {}
    for text in texts:
        found.setdefault(text.strip().lower(), text.strip())
    return [text for text in found.values() if text]


def settle(answer: str, golds: Sequence[str], profile: str) -> Ruling:
    """Decide what needs no judge.

    An answer that says `i don't know`, in any case, is missing; for "corrected" not where it goes on with what it does
    not know and then tells something. Of the accepted answers, an equal one (ignoring case) accepts, and so does one
    with `invalid` in it where the answer has it too; one of the two with `invalid` alone rejects. The others are open.

    Both are stripped. "official" knows the straight apostrophe alone and has an empty answer judged; "corrected"
    compares as folded, and takes for missing an empty answer, and one that only declines to answer.
    """

    def plain(text: str) -> str:
        return text.lower() if profile == "official" else fold(text).casefold()

    said = plain(answer)
    if profile == "official":
        missing = UNSURE in said
    else:
        missing = not said or bool(_UNSURE.search(said)) or (declines(said) and said not in map(plain, golds))
    if missing:
        return Ruling(MISSING)
    undecided: list[str] = []
    for gold in golds:
        wanted = plain(gold)
        both = (INVALID in said) + (INVALID in wanted)
        if said == wanted or both == 2:
            return Ruling(CORRECT)
        if not both:
            undecided.append(gold)
    return Ruling("", tuple(undecided)) if undecided else Ruling(INCORRECT)


def trimmer(tokenizer: Any) -> Callable[[str], str]:
    """Return what cuts an answer to 75 tokens, by an object with `encode` and `decode`, or a function of a text.

    The protocol encodes (which prepends BOS), keeps ids[1:76] and decodes. Whatever ids the tokenizer gives to the
    empty text too are left out here, so that a tokenizer without BOS loses no token.
    """
    if tokenizer is None:
        return str
    encode, decode = getattr(tokenizer, "encode", None), getattr(tokenizer, "decode", None)
    if callable(encode) and callable(decode):

        def ids(text: str) -> list[Any]:
            found = encode(text)
            return list(getattr(found, "ids", found))

        empty = ids("")

        def cut(text: str) -> str:
            found = ids(text)
            head = int(found[:1] == empty[:1])
            tail = empty[head:]
            if tail and found[-len(tail) :] == tail:
                found = found[: -len(tail)]
            return _text(decode(found[head : head + MAX_TOKENS]))

        return cut
    if not callable(tokenizer):
        kind = type(tokenizer).__name__
        raise ValueError(f"tokenizer is {kind}; expected an object with encode and decode, or a function of a text")
    return lambda text: _text(tokenizer(text))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"tokenizer returned {type(value).__name__}; expected the text of at most {MAX_TOKENS} tokens")
    return value


def tokenizer_name(tokenizer: Any) -> str:
    """Name a tokenizer for the signature, without its folder; "none" for None."""
    if tokenizer is None:
        return "none"
    name = getattr(tokenizer, "name_or_path", None) or getattr(tokenizer, "__name__", None) or type(tokenizer).__name__
    return f"{PurePath(name).name}-{MAX_TOKENS}"
