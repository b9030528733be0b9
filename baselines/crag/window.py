"""The windows of a prompt, for the web and for the graph: their sizes, and passages in order until one is full.

Sizes are in tokens: the paper's (4,000 of the web and 2,000 of the graph), or with ``pages`` the released baseline's
(4,000 characters; with a graph 2,000 of each). Where no tokenizer is named, four characters stand for a token. What a
prompt puts around and between passages is not counted.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from quadrag.records import Passage

from ..retrieval.chunk import head

TOKEN = 4  # characters that stand for a token of English
# The web's and the graph's, in tokens (snippets: arXiv:2406.04744, section 5.1).
_TOKENS = {
    "snippets": (4000, 0),
    "snippets-kg": (4000, 2000),
    "pages": (4000 // TOKEN, 0),
    "pages-kg": (2000 // TOKEN, 2000 // TOKEN),
}


def windows(retriever: str, options: Mapping[str, Any]) -> tuple[int, int]:
    """Return the sizes of the two windows, web and graph, in tokens where a tokenizer is named, else in characters."""
    unit = TOKEN if options.get("window_tokenizer") is None else 1
    given = (options.get("web_window"), options.get("kg_window"))
    web, graph = (usual if own is None else own for usual, own in zip(_TOKENS[retriever], given, strict=True))
    return web * unit, graph * unit


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
