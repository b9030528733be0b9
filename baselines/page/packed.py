"""Records inside a page: JSON, gzip, base64, in blocks that a browser unpacks when it needs them."""

import base64
import gzip
from collections.abc import Iterator, Sequence
from typing import Any

from quadrag.records import dumps

from .answers import Answers

ITEMS, PASSAGES = 50, 256  # in a block

Blocks = Sequence[tuple[str, str]]  # name and text of each


def pack_answers(answers: Answers) -> Blocks:
    """Pack what the viewer takes: an index at once, the whole of single items and passages by blocks."""
    if not answers.items:
        return ()
    index = {**answers.index, "sizes": {"items": ITEMS, "passages": PASSAGES}}
    passages = list(answers.passages)
    return [
        ("index", pack(index)),
        *_pack_blocks("items", answers.items, ITEMS),
        *_pack_blocks("passages", passages, PASSAGES),
    ]


def _pack_blocks(name: str, values: Sequence[Any], size: int) -> Iterator[tuple[str, str]]:
    """Yield the blocks of a list, `size` values in each: ``name-0``, ``name-1`` and so on, with their texts."""
    for number, start in enumerate(range(0, len(values), size)):
        yield f"{name}-{number}", pack(values[start : start + size])


def pack(value: Any) -> str:
    """Pack a value that JSON can hold; the same value gives the same text.

    It begins with the name of its encoding, the smaller one: Chinese takes two bytes a character in UTF-16, not three.
    """
    text = dumps(value)
    encoding, found = min(
        ((name, gzip.compress(text.encode(name), mtime=0)) for name in ("utf-8", "utf-16le")),
        key=lambda one: len(one[1]),
    )
    return f"{encoding} {base64.b64encode(found).decode('ascii')}"
