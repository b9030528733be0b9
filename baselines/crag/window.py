"""The windows of a prompt, for the web and for the graph: their sizes, and passages in order until one is full.

Windows are the paper's (4K tokens of the web and 2K of the graph), or with ``pages`` the released baseline's (4,000
characters; with a graph 2,000 of each). Four characters stand for a token where no tokenizer is named. What a prompt
puts around and between passages is not counted.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from quadrag.records import Passage

from ..retrieval.chunk import head

TOKEN = 4  # characters that stand for a token of English
# Windows of the web and of the graph, in tokens (snippets: arXiv:2406.04744, section 5.1) or in characters (pages).
_TOKENS = {"snippets": (4000, 0), "snippets-kg": (4000, 2000)}
_CHARACTERS = {"pages": (4000, 0), "pages-kg": (2000, 2000)}


def windows(retriever: str, options: Mapping[str, Any]) -> tuple[int, int]:
    """Return the sizes of the two windows, web and graph, in tokens where a tokenizer is named, else in characters."""
    counted = options.get("window_tokenizer") is not None
    if retriever in _TOKENS:
        web, graph = (size if counted else size * TOKEN for size in _TOKENS[retriever])
    else:
        web, graph = (size // TOKEN if counted else size for size in _CHARACTERS[retriever])
    given = [options.get(name) for name in ("web_window", "kg_window")]
    return web if given[0] is None else given[0], graph if given[1] is None else given[1]


def fill(passages: Iterable[Passage], size: int, tokenizer: str | None = None) -> tuple[Passage, ...]:
    """Take passages until a window is full, the last one cut.

    Args:
        passages: in the order in which they are shown; those without text are left out.
        size: of the window, in characters or in tokens of `tokenizer`, from 0.
        tokenizer: as in `baselines.retrieval.chunk.Chunking`.

    Raises:
        QuadragError: the tokenizer cannot be had.
    """
    shown: list[Passage] = []
    for passage in passages:
        if size <= 0:
            break
        if not passage.text.strip():
            continue
        text, used = head(passage.text, size, tokenizer)
        if not text.strip():
            break
        shown.append(passage._replace(text=text))
        size -= used
    return tuple(shown)
