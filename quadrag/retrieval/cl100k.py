"""OpenAI's encodings, counted by tiktoken: cl100k_base, in whose tokens CRUD-RAG's authors measure chunks, and o200k.

tiktoken downloads an encoding's file when it is first used. The wheel of llama-index-core holds the same files: where
that package is installed, with or without what it needs, nothing is downloaded. tiktoken checks the file's sha256.
"""

import os
from functools import lru_cache
from importlib.metadata import distributions
from typing import Any

from quadrag.errors import NotReady, QuadragError, tell_extra

NAME = "cl100k_base"
_FILES = {  # as tiktoken calls them in a cache
    NAME: "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}
_CACHE = "TIKTOKEN_CACHE_DIR"


def count(text: str, name: str = NAME) -> int:
    """Return how many tokens a text has."""
    return len(_load(name).encode(text, allowed_special="all"))


def starts(text: str) -> list[int]:
    """Return the character in which each token of a text starts."""
    encoding = _load(NAME)
    offsets: list[int] = encoding.decode_with_offsets(encoding.encode(text, allowed_special="all"))[1]
    return offsets


@lru_cache(maxsize=2)
def _load(name: str) -> Any:
    tiktoken = _import_tiktoken()
    try:
        return tiktoken.get_encoding(name)
    except Exception as error:  # requests has many kinds, and a damaged file raises ValueError
        raise QuadragError(
            f"tiktoken has no file of {name} ({type(error).__name__}); pip install --no-deps llama-index-core, which "
            f"holds it, or name with {_CACHE} a folder that holds it as {_FILES[name]}"
        ) from None


def _import_tiktoken() -> Any:
    """Import tiktoken, and name the folder of its files, which it would download."""
    try:
        import tiktoken
    except ImportError:
        raise NotReady(f"tokens of OpenAI's encodings need tiktoken; {tell_extra('tokens')}") from None
    if _CACHE not in os.environ and (installed := list(distributions(name="llama-index-core"))):
        os.environ[_CACHE] = str(installed[0].locate_file("llama_index/core/_static/tiktoken_cache"))
    return tiktoken
