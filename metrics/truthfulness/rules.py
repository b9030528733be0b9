# SPDX-License-Identifier: Apache-2.0
"""What is decided of an answer without a judge: whether it is missing, and which accepted answers settle it.

The rules follow CRAG's evaluation code as it was meant (Yang et al., NeurIPS 2024, arXiv:2406.04744; as released it
cannot run).
"""

import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

from .fold import fold
from .refusals import declines

CORRECT, INCORRECT, MISSING = "correct", "incorrect", "missing"
UNSURE, INVALID = "i don't know", "invalid"  # the protocol's
_UNSURE = re.compile(rf"{UNSURE}(?! ?\w)")
MAX_TOKENS = 75  # the challenge's, of Llama 2's tokenizer


def distinct(texts: Sequence[str]) -> list[str]:
    """Return accepted answers stripped and in order, each once whatever its case; blank ones are none."""
    found: dict[str, str] = {}
    for text in texts:
        found.setdefault(text.strip().lower(), text.strip())
    return [text for text in found.values() if text]


def settle(answer: str, golds: Sequence[str], profile: str) -> tuple[str, list[str]]:
    """Return the outcome where it needs no judge, else "" and the accepted answers to ask about.

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
        return MISSING, []
    undecided: list[str] = []
    for gold in golds:
        wanted = plain(gold)
        both = (INVALID in said) + (INVALID in wanted)
        if said == wanted or both == 2:
            return CORRECT, []
        if not both:
            undecided.append(gold)
    return "" if undecided else INCORRECT, undecided


def trimmer(tokenizer: Any) -> tuple[Callable[[str], str], str]:
    """Return what cuts an answer to 75 tokens, by an object with `encode` and `decode`, and its name for the signature.

    The protocol encodes (which prepends BOS), keeps ids[1:76] and decodes. Whatever ids the tokenizer gives to the
    empty text too are left out here, so that a tokenizer without BOS loses no token.
    """
    if tokenizer is None:
        return str, "none"
    if not (callable(getattr(tokenizer, "encode", None)) and callable(getattr(tokenizer, "decode", None))):
        raise ValueError(f"tokenizer is {type(tokenizer).__name__}; expected an object with encode and decode")

    def ids(text: str) -> list[Any]:
        encoded = tokenizer.encode(text)
        return list(getattr(encoded, "ids", encoded))

    empty = ids("")

    def cut(text: str) -> str:
        tokens = ids(text)
        head = int(tokens[:1] == empty[:1])
        tail = empty[head:]
        if tail and tokens[-len(tail) :] == tail:
            tokens = tokens[: -len(tail)]
        return str(tokenizer.decode(tokens[head : head + MAX_TOKENS]))

    name = PurePath(getattr(tokenizer, "name_or_path", None) or type(tokenizer).__name__).name
    return cut, f"{name}-{MAX_TOKENS}"
