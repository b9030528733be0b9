"""Texts that repeat much of an article, found in a corpus of any size: by the share of its shingles (Broder 1997).

A shingle is a run of characters, white space left out. Those of the articles are kept as numbers of 64 bits, a few tens
of bytes for each character; the corpus, however long, is read once and not kept. What many articles share is looked at
last (prefix filtering, Chaudhuri et al. 2006): it changes the time and never what is found.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

SHINGLE = 12  # characters: long enough that a shared phrase of the trade (a ministry's name, say) is no duplicate
OVERLAP = 0.3  # of the article's shingles
_BATCH = 500  # documents looked at together
_COMMON = 8  # articles that hold a shingle before it counts as common
_BLANK = re.compile(r"[\s\ufeff]")
_END = "\0"  # parts texts; no article holds it


class NearDuplicate(NamedTuple):
    """An article's id, a document that repeats it, the share of its shingles that is there, and how many they are."""

    article: str
    document: Any
    share: float
    shared: int


def near_duplicates(
    articles: Mapping[str, str], documents: Iterable[Any], size: int = SHINGLE, overlap: float = OVERLAP
) -> Iterator[NearDuplicate]:
    """Yield the documents that repeat at least a share of an article, in the corpus's order.

    `articles`: their texts by id.
    `documents`: with a ``text``; read once.
    `size`: characters of a shingle.
    """
    names = list(articles)
    weights = np.random.default_rng(0).integers(1, 2**63, size, dtype=np.uint64) * 2 + 1
    index = _Index((_tally(_shingles(_bare(text), weights))[0] for text in articles.values()), overlap)
    stream = iter(documents)
    while batch := list(itertools.islice(stream, _BATCH)):
        texts = [_bare(document.text) + _END for document in batch]
        there, keys = index.find(_shingles("".join(texts), weights))
        inside = np.searchsorted(np.cumsum([len(text) for text in texts]), there, "right")
        at, article, shared = index.count(inside, keys)
        share = shared / index.totals[article]
        for hit in np.flatnonzero(share >= overlap):
            yield NearDuplicate(names[article[hit]], batch[at[hit]], float(share[hit]), int(shared[hit]))


class _Index:
    """Which articles hold a shingle, each shingle known by its place among all, its key.

    A phrase of the trade stands in thousands of articles, and would put each of them beside every document that has it.
    So an article leaves half of the shingles that a document must share with it out, its most common ones, where they
    are common at all. A document that shares enough shares as many of the others as are then lacking, and for such
    pairs alone what was left out is counted too.
    """

    def __init__(self, articles: Iterable[Any], overlap: float) -> None:
        own = list(articles)
        self.totals = np.array([len(found) for found in own], np.int64)
        known = np.concatenate([np.empty(0, np.uint64), *own])
        del own
        order = np.argsort(known)
        known, owners = known[order], np.repeat(np.arange(len(self.totals), dtype=np.int32), self.totals)[order]
        del order
        first = np.append(True, known[1:] != known[:-1])[: len(known)]
        key = np.cumsum(first, dtype=np.int32) - 1
        self._known = known[first]
        del known, first
        self._rest = np.uint64(64 - min(max(len(key).bit_length() + 2, 16), 27))
        self._maybe = np.zeros(1 << (64 - int(self._rest)), bool)  # by their first bits: most need not be searched for
        self._maybe[self._known >> self._rest] = True

        held = np.bincount(key).astype(np.int32)
        common = np.flatnonzero(held[key] > _COMMON)
        common = common[np.lexsort((-held[key[common]], owners[common]))]
        rank = np.arange(len(common)) - np.searchsorted(owners[common], owners[common])
        needed = np.maximum((overlap * self.totals).astype(np.int64), 1)
        left_out = common[rank < needed[owners[common]] // 2]
        left_out = left_out[np.lexsort((left_out, owners[left_out]))]  # in the order of keys, which is searched faster
        counts = np.bincount(owners[left_out], minlength=len(self.totals))
        self._least = needed - counts
        self._common, self._commons = key[left_out], _bounds(counts)
        kept = np.ones(len(key), bool)
        kept[left_out] = False
        self._owners, self._owned = owners[kept], _bounds(np.bincount(key[kept], minlength=len(self._known)))

    def find(self, shingles: Any) -> tuple[Any, Any]:
        """Return the places of those shingles that an article holds, and their keys."""
        there = np.flatnonzero(self._maybe[shingles >> self._rest])
        there = there[np.argsort(shingles[there])]  # a search in order is several times faster
        keys = np.searchsorted(self._known, shingles[there])
        right = self._known[np.minimum(keys, len(self._known) - 1)] == shingles[there]
        return there[right], keys[right]

    def count(self, inside: Any, keys: Any) -> tuple[Any, Any, Any]:
        """Count the shingles that documents and articles share.

        `inside`: the document's number in which each shingle stands.

        Returns:
            Document, article and number of the pairs that may share enough.
        """
        # A shingle that stands twice in a document counts once.
        held, _ = _tally(inside * len(self._known) + keys)
        inside, keys = np.divmod(held, max(len(self._known), 1))
        places, counts = _spread(self._owned, keys)
        pairs, shared = _tally(np.repeat(inside, counts) * len(self.totals) + self._owners[places])
        at, article = np.divmod(pairs, max(len(self.totals), 1))
        likely = shared >= self._least[article]
        at, article, shared = at[likely], article[likely], shared[likely]
        places, counts = _spread(self._commons, article)
        wanted = np.repeat(at, counts) * len(self._known) + self._common[places]
        too = held[np.minimum(np.searchsorted(held, wanted), len(held) - 1)] == wanted
        shared += np.bincount(np.repeat(np.arange(len(at)), counts)[too], minlength=len(at))
        return at, article, shared


def _tally(numbers: Any) -> tuple[Any, Any]:
    """Return numbers in order, each once, and how often each stands there; `numbers` is put in order too."""
    numbers.sort()
    first = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)])
    return numbers[first], np.diff(first, append=len(numbers))


def _bounds(counts: Any) -> Any:
    return np.append(0, np.cumsum(counts))


def _spread(bounds: Any, chosen: Any) -> tuple[Any, Any]:
    """Return all places of the chosen groups, and how many each has."""
    ends = bounds[chosen + 1]
    counts = ends - bounds[chosen]
    return np.repeat(ends - np.cumsum(counts), counts) + np.arange(counts.sum()), counts


def _bare(text: str) -> str:
    return _BLANK.sub("", text).replace(_END, "")


def _shingles(text: str, weights: Any) -> Any:
    """Return the number of every shingle of a text, in order: a weighted sum of its characters, modulo 2**64."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    count = max(len(codes) - len(weights) + 1, 0)
    found = np.zeros(count, np.uint64)
    for at, weight in enumerate(weights):
        found += codes[at : at + count] * weight
    return found
