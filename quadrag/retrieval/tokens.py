"""Tokens of a text and where each starts: by a tokenizer.json, or by tiktoken's cl100k_base, as OpenAI's models count.

tiktoken downloads an encoding's file when it is first used. The wheel of llama-index-core holds the same file: where
that package is installed, with or without what it needs, nothing is downloaded. tiktoken checks the file's sha256.
"""

import os
import re
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from quadrag.errors import NotReady, QuadragError, one_line, tell_extra

CL100K = "cl100k_base"
_FILE, _CACHE = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4", "TIKTOKEN_CACHE_DIR"  # as tiktoken calls it in a cache
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Return a text with U+FFFD for each half of a surrogate pair, which has no UTF-8."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def head(text: str, size: int, tokenizer: str | None = None) -> tuple[str, int]:
    """Return a text's first `size` characters, or tokens of a tokenizer as in `Chunking`, and their number.

    A character of more tokens than are left is left out.
    """
    if tokenizer is None:
        return text[:size], min(len(text), size)
    cuts, counts = token_cuts(tokenizer, text)
    at = max(bisect_right(counts, size) - 1, 0)
    return text[: cuts[at]], counts[at]


def token_cuts(name: str, text: str) -> tuple[list[int], list[int]]:
    """Return the places where tokens start, each once, the text's end too, and the number of tokens before each."""
    starts = _starts(name, text)
    cuts, counts = [0], [0]
    for number, start in enumerate(starts):
        if start > cuts[-1] and number:
            cuts.append(start)
            counts.append(number)
    if len(text) > cuts[-1]:
        cuts.append(len(text))
        counts.append(len(starts))
    return cuts, counts


def count_tokens(name: str | None) -> Callable[[str], int]:
    """Return what counts the tokens of a text; the characters where no tokenizer is named."""
    if name is None:
        return len
    return (lambda text: len(_encode(text))) if name == CL100K else lambda text: len(_starts(name, text))


def _starts(name: str, text: str) -> list[int]:
    text = clean(text)
    if name != CL100K:
        return [start for start, _ in load_tokenizer(name).encode(text, add_special_tokens=False).offsets]
    starts: list[int] = _load_cl100k().decode_with_offsets(_encode(text))[1]
    return starts


def _encode(text: str) -> list[int]:
    tokens: list[int] = _load_cl100k().encode(text, allowed_special="all")
    return tokens


@lru_cache(maxsize=1)
def _load_cl100k() -> Any:
    try:
        import tiktoken
    except ImportError:
        raise NotReady(f"tokens of {CL100K} need tiktoken; {tell_extra('tokens')}") from None
    if _CACHE not in os.environ and (installed := list(distributions(name="llama-index-core"))):
        os.environ[_CACHE] = str(installed[0].locate_file("llama_index/core/_static/tiktoken_cache"))
    try:
        return tiktoken.get_encoding(CL100K)
    except Exception as error:  # requests has many kinds, and a damaged file raises ValueError
        raise QuadragError(
            f"tiktoken has no file of {CL100K} ({type(error).__name__}); pip install --no-deps llama-index-core, which "
            f"holds it, or name with {_CACHE} a folder that holds it as {_FILE}"
        ) from None


@lru_cache(maxsize=4)
def load_tokenizer(name: str) -> Any:
    """Load a tokenizer, its truncation and padding off."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise NotReady(f"sizes in tokens need the package tokenizers; {tell_extra('dense')}") from None
    path = Path(name).expanduser()
    path = path / "tokenizer.json" if path.is_dir() else path
    try:
        tokenizer = Tokenizer.from_file(str(path)) if path.is_file() else Tokenizer.from_pretrained(name)
    except Exception as error:  # tokenizers raises Exception itself; the Hub's client has many kinds
        raise QuadragError(
            f"no tokenizer from {name!r} ({one_line(error, 120)}); expected a tokenizer.json, "
            "a folder that holds one, or a name on the Hub"
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
