"""Records inside a page: JSON, gzip, base64, in blocks that a browser unpacks when it needs them."""

import base64
import gzip
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quadrag.records import dumps

ITEMS, PASSAGES = 50, 64  # in a block


def pack(value: Any) -> str:
    """Pack a value that JSON can hold; the same value gives the same text.

    Half of a surrogate pair, which no browser decodes, becomes a question mark.
    """
    text = dumps(value).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(text, compresslevel=9, mtime=0)).decode("ascii")


def pack_blocks(name: str, values: Sequence[Any], size: int) -> Iterator[tuple[str, str]]:
    """Yield the blocks of a list, `size` values in each: ``name-0``, ``name-1`` and so on, with their texts."""
    for number, start in enumerate(range(0, len(values), size)):
        yield f"{name}-{number}", pack(values[start : start + size])


def pack_answers(
    index: Mapping[str, Any], details: Sequence[Any], passages: Sequence[Any]
) -> list[tuple[str, str]]:
    """Pack what the viewer takes: an index at once, the whole of single items and passages by blocks."""
    sizes = {"items": ITEMS, "passages": PASSAGES}
    return [
        ("index", pack({**index, "sizes": sizes})),
        *pack_blocks("items", details, ITEMS),
        *pack_blocks("passages", passages, PASSAGES),
    ]
