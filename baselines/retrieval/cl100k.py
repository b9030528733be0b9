"""The encoding cl100k_base, in whose tokens CRUD-RAG's authors measure chunks; counted by tiktoken.

tiktoken downloads the encoding's file when it is first used. The wheel of llama-index-core holds the same file: where
that package is installed, with or without what it needs, nothing is downloaded. tiktoken checks the file's sha256.
"""

import os
from functools import lru_cache
from importlib.metadata import distributions
from typing import Any

from quadrag.errors import NotReady, QuadragError

NAME = "cl100k_base"
_FILE = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"  # as tiktoken calls it in a cache
_CACHE = "TIKTOKEN_CACHE_DIR"


@lru_cache(maxsize=1)
def _load() -> Any:
    """Load the encoding.

    Raises:
        QuadragError: tiktoken is not installed, or the file cannot be had.
    """
    try:
        import tiktoken
    except ImportError:
        raise NotReady(f"tokens of {NAME} need tiktoken; install it with: pip install 'quadrag[tokens]'") from None
    # With neither, tiktoken downloads the file.
    if _CACHE not in os.environ and (found := list(distributions(name="llama-index-core"))):
        os.environ[_CACHE] = str(found[0].locate_file("llama_index/core/_static/tiktoken_cache"))
    try:
        return tiktoken.get_encoding(NAME)
    except Exception as error:  # requests has many kinds, and a damaged file raises ValueError
        raise QuadragError(
            f"tiktoken has no file of {NAME} ({type(error).__name__}); pip install --no-deps llama-index-core, which "
            f"holds it, or name with {_CACHE} a folder that holds it as {_FILE}"
        ) from None


def count(text: str) -> int:
    """Return how many tokens a text has.

    Raises:
        QuadragError: the encoding cannot be had.
    """
    return len(_load().encode(text, allowed_special="all"))


def starts(text: str) -> list[int]:
    """Return the character in which each token of a text starts.

    Raises:
        QuadragError: the encoding cannot be had.
    """
    encoding = _load()
    found: list[int] = encoding.decode_with_offsets(encoding.encode(text, allowed_special="all"))[1]
    return found
