"""Records inside a page: JSON, gzip, base64, in blocks that a browser unpacks when it needs them.

A character, or half of a pair, takes one byte where it is among the page's most frequent ones, else two, or three: of
Chinese gzip makes less so than of UTF-8, UTF-16 or GB 18030. The block `characters` has them all, the frequent first.
"""

import base64
import gzip
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quadrag.records import dumps

from .answers import Answers

ITEMS, PASSAGES = 50, 256  # in a block
# Ranks below the first take one byte, below the second two; the script (`parts.js`) knows them too.
ONE, TWO = 192, 192 + 63 * 256

Blocks = Sequence[tuple[str, str]]  # name and text of each
_Units = NDArray[np.uint16]


def pack_answers(answers: Answers) -> Blocks:
    """Pack what the viewer takes: an index at once, the whole of single items and passages by blocks."""
    if not answers.items:
        return ()
    index = {**answers.index, "sizes": {"items": ITEMS, "passages": PASSAGES}}
    passages = list(answers.passages)
    return pack_all(
        [("index", index), *_cut("items", answers.items, ITEMS), *_cut("passages", passages, PASSAGES)],
    )


def pack_all(values: Iterable[tuple[str, Any]]) -> Blocks:
    """Pack named values that JSON can hold, each into a block, and their characters; the same give the same blocks."""
    texts = [(name, np.frombuffer(dumps(value).encode("utf-16-le"), "<u2")) for name, value in values]
    counts = sum((np.bincount(text, minlength=1 << 16) for _, text in texts), np.zeros(1 << 16, np.int64))
    ranked = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].astype("<u2")
    ranks = np.zeros(1 << 16, np.uint16)
    ranks[ranked] = np.arange(len(ranked))
    blocks = [("characters", ranked.tobytes()), *((name, _shorten(ranks[text])) for name, text in texts)]
    return [(name, base64.b64encode(gzip.compress(content, mtime=0)).decode("ascii")) for name, content in blocks]


def _cut(name: str, values: Sequence[Any], size: int) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the blocks of a list, `size` values in each: ``name-0``, ``name-1`` and so on."""
    for number, start in enumerate(range(0, len(values), size)):
        yield f"{name}-{number}", values[start : start + size]


def _shorten(ranks: _Units) -> bytes:
    """Write ranks as one byte each, two with the first from `ONE` on, or three of which the first is 255."""
    two, three = ranks >= ONE, ranks >= TWO
    rest = ranks.astype(np.int64) - ONE
    first = np.where(three, 255, np.where(two, ONE + (rest >> 8), ranks))
    second = np.where(three, ranks >> 8, rest & 255)
    table = np.stack([first, second, ranks & 255], axis=1).astype(np.uint8)
    return table[np.stack([np.ones_like(two), two, three], axis=1)].tobytes()
