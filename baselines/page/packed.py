"""Records inside a page: JSON, gzip, base64, in blocks that a browser unpacks when it needs them."""

import base64
import gzip
import re
from collections.abc import Iterator, Sequence
from typing import Any

from quadrag.records import dumps

from .answers import Answers

ITEMS, PASSAGES = 50, 256  # in a block

# Characters that browsers have at another place of GB 18030 than Python.
_ELSEWHERE = re.compile("[\u1e3f\u9fb4-\u9fbb\ue000-\uf8ff\ufe10-\ufe19]")

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

    It begins with the name of its encoding, the shorter one: Chinese takes two bytes a character in GB 18030, not 3.
    """
    text = dumps(value)
    names = ("utf-8",) if _ELSEWHERE.search(text) else ("utf-8", "gb18030")
    name, encoded = min(((name, text.encode(name)) for name in names), key=lambda one: len(one[1]))
    return f"{name} {base64.b64encode(gzip.compress(encoded, mtime=0)).decode('ascii')}"
