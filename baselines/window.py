"""A window of a prompt: passages in their order until it is full, the last one cut.

Sizes are in characters, or in tokens of a tokenizer the user names. What a prompt puts around and between passages is
not counted.
"""

from __future__ import annotations

from collections.abc import Iterable

from quadrag.records import Passage

from .chunk import head


def fill(passages: Iterable[Passage], size: int, tokenizer: str | None = None) -> tuple[Passage, ...]:
    """Take passages until a window is full.

    Args:
        passages: in the order in which they are shown; those without text are left out.
        size: of the window, in characters or in tokens of `tokenizer`, from 0.
        tokenizer: as in `baselines.chunk.Chunking`.

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
