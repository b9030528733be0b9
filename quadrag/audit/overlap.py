"""Texts that repeat much of an article, found in a corpus of any size: by the share of its shingles (Broder 1997).

A shingle is a run of characters without white space. Those of the articles are kept as numbers of 64 bits; the corpus,
however long, is read once and not kept.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

SHINGLE = 12  # characters: long enough that a shared phrase of the trade (a ministry's name, say) is no duplicate
OVERLAP = 0.3  # of the article's shingles
_BATCH = 500  # documents looked at together
_FIRST = 24  # bits of a shingle's number by which most are known to be in no article
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
    """Yield the documents, read once, that repeat at least the share `overlap` of the shingles of an article."""
    names = list(articles)
    weights = np.random.default_rng(0).integers(1, 2**63, size, dtype=np.uint64) * 2 + 1
    own = [np.unique(_shingles(_bare(text), weights)) for text in articles.values()]
    totals = np.array([len(shingles) for shingles in own], np.int64)
    known, places = np.unique(np.concatenate([np.empty(0, np.uint64), *own]), return_inverse=True)
    owners = np.repeat(np.arange(len(own)), totals)[np.argsort(places, kind="stable")]
    begins = np.append(0, np.cumsum(np.bincount(places, minlength=len(known))))  # of each shingle's owners
    maybe = np.zeros(1 << _FIRST, bool)
    maybe[known >> np.uint64(64 - _FIRST)] = True
    stream = iter(documents)
    while batch := list(itertools.islice(stream, _BATCH)):
        texts = [_bare(document.text) + _END for document in batch]
        shingles = _shingles("".join(texts), weights)
        there = np.flatnonzero(maybe[shingles >> np.uint64(64 - _FIRST)])
        there = there[np.isin(shingles[there], known)]
        inside = np.searchsorted(np.cumsum([len(text) for text in texts]), there, "right")
        # A shingle that stands twice in a document counts once; of each that is there, all owners.
        held = np.unique(inside * len(known) + np.searchsorted(known, shingles[there]))
        inside, keys = np.divmod(held, max(len(known), 1))
        counts = begins[keys + 1] - begins[keys]
        owned = np.repeat(begins[keys + 1] - np.cumsum(counts), counts) + np.arange(counts.sum())
        pairs, shared = np.unique(np.repeat(inside, counts) * len(names) + owners[owned], return_counts=True)
        at, article = np.divmod(pairs, max(len(names), 1))
        share = shared / totals[article]
        for hit in np.flatnonzero(share >= overlap):
            yield NearDuplicate(names[article[hit]], batch[at[hit]], float(share[hit]), int(shared[hit]))


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
