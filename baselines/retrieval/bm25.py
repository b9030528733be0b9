"""BM25 over a passage store, by bm25s: Lucene's variant, every score computed when the index is built.

The score of passage d for query q is the sum over q's terms t, each as often as it stands there, of
``idf(t) * tf / (tf + k1 * (1 - b + b * |d| / avgdl))`` with ``idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))``: Robertson
and Zaragoza, "The Probabilistic Relevance Framework", as Kamphuis et al. (ECIR 2020) write Lucene's form exactly.

bm25s holds, saves, maps and sums the scores. Its own loops over passages and its choice of the best stand aside: the
matrix is laid out from counts, whole arrays at a time, and equal scores go to the lower row, where bm25s leaves them to
chance. Sums are taken in one order, in 32 bits, compiled or not: results do not depend on what is installed.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quadrag.errors import QuadragError

from .passages import Hits, PassageStore
from .terms import Counts, analyser, count
from .terms import describe as describe_terms

K1, B, METHOD = 1.2, 0.75, "lucene"
VERSION = 1  # of what stands in the folder, for the key of an index
_TERMS_FILE = "terms.json"

# bm25s' numpy code takes about 2.3 ns to add one passage's score for one term, compiled code 0.9 ns, and 0.6 s to be
# compiled: worth it from about this many additions, half of what 900 events ask of 400,000 passages in words.
_WORTH_COMPILING = 400_000_000

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


class Bm25Index:
    """An index in a folder, its arrays memory-mapped; rows are those of the store it was built from."""

    def __init__(self, folder: Path) -> None:
        """Open the index in a folder.

        Raises:
            QuadragError: the folder holds none that can be read, or the package of its terms cannot be used.
        """
        import bm25s

        try:
            self.terms: str = json.loads((folder / _TERMS_FILE).read_text(encoding="utf-8"))["name"]
            self._bm25 = bm25s.BM25.load(folder, mmap=True, backend="numpy")
        except (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise QuadragError(
                f"{folder} holds no BM25 index that can be read ({error}); remove the folder to build it again"
            ) from error
        self.folder = folder
        self._analyse = analyser(self.terms)

    @classmethod
    def open(cls, folder: Path) -> Bm25Index:
        """Open the index in a folder; the same as the constructor."""
        return cls(folder)

    @staticmethod
    def describe(terms: str) -> dict[str, Any]:
        """Return what decides an index beside the passages, for its key.

        Raises:
            QuadragError: there are no such terms, or their package cannot be used.
        """
        settings = {"method": METHOD, "k1": K1, "b": B, "bm25s": version("bm25s"), "format": VERSION}
        return {"terms": describe_terms(terms), **settings}

    @classmethod
    def build(cls, store: PassageStore, folder: Path, terms: str = "unigram", workers: int | None = None) -> Bm25Index:
        """Index a store's passages.

        Args:
            store: the passages; row r of the index is its row r.
            folder: where the files go; it is there.
            terms: ``unigram``, ``jieba`` or ``rjieba``.
            workers: processes that count terms; None decides by the store's size.

        Returns:
            The index, open.

        Raises:
            QuadragError: there are no such terms, or their package cannot be used.
        """
        _save(count(store, terms, workers), folder, terms)
        return cls(folder)

    def __len__(self) -> int:
        return int(self._bm25.scores["num_docs"])

    def search(self, queries: Sequence[str], k: int) -> list[Hits]:
        """Find the best passages for each query.

        Args:
            queries: any texts; terms that no passage holds add nothing.
            k: passages a query at most; there are fewer where fewer hold one of its terms.

        Returns:
            Per query, row and score (above 0), best first, equal scores by row.
        """
        found = [self._known(query) for query in queries]
        spans = self._bm25.scores["indptr"]
        additions = sum(int(((spans[ids + 1] - spans[ids]) * times).sum()) for ids, times in found)
        add = _compiled() if additions >= _WORTH_COMPILING or _compiled.cache_info().currsize else None
        return [self._best(ids, times, k, add) for ids, times in found]

    def _known(self, query: str) -> tuple[Ints, Ints]:
        """Return the numbers of a query's known terms, in order of appearance, and how often each stands there."""
        numbers = self._bm25.vocab_dict
        times = Counter(numbers[term] for term in self._analyse(query) if term in numbers)
        return np.fromiter(times.keys(), np.int64, len(times)), np.fromiter(times.values(), np.int64, len(times))

    def _best(self, ids: Ints, times: Ints, k: int, add: Callable[..., None] | None) -> Hits:
        if not len(ids) or k < 1:
            return []
        if add is None:
            sums: Floats = self._bm25.get_scores_from_ids(np.repeat(ids, times))
        else:
            scores = self._bm25.scores
            sums = np.zeros(len(self), np.float32)
            # Rows without a sign: no check for indexes from the end, which saves a third of the time.
            rows, spans = scores["indices"].view(np.uint32), scores["indptr"]
            add(sums, scores["data"], rows, spans[ids], spans[ids + 1], times)
        return top(sums, k)


def top(scores: Floats, k: int) -> Hits:
    """Return row and score of the `k` highest scores above 0, best first, equal scores by row."""
    # The k-th best of the maxima of blocks is at most the k-th best score: few rows are left to sort. Eight blocks for
    # each score wanted, since a block gives one maximum however many of the best it holds.
    width = max(1, len(scores) // (8 * k))
    blocks = len(scores) // width
    floor = np.float32(0)
    if blocks >= k:
        maxima = scores[: blocks * width].reshape(blocks, width).max(axis=1)
        floor = np.partition(maxima, blocks - k)[blocks - k]
    rows = np.flatnonzero(scores >= floor if floor > 0 else scores > 0)
    best = rows[np.argsort(-scores[rows], kind="stable")[:k]]
    return list(zip(best.tolist(), scores[best].tolist(), strict=True))


def _save(blocks: Iterable[Counts], folder: Path, terms: str) -> None:
    import bm25s

    index = bm25s.BM25(k1=K1, b=B, method=METHOD, backend="numpy")
    index.scores, index.vocab_dict = _matrix(blocks)
    index.nonoccurrence_array = None
    index.save(folder, show_progress=False)
    described = json.dumps(describe_terms(terms), indent=1)
    (folder / _TERMS_FILE).write_text(described + "\n", encoding="utf-8")


def _matrix(found: Iterable[Counts]) -> tuple[dict[str, Any], dict[str, int]]:
    """Lay out the scores as bm25s does: by term, then by row.

    Returns:
        What bm25s keeps as `scores` and `vocab_dict`.
    """
    numbers: dict[str, int] = {}
    ids, blocks = [], []
    for block in found:
        ids.append(np.array([numbers.setdefault(t, len(numbers)) for t in block.terms], dtype=np.int64))
        blocks.append(block._replace(terms=[]))  # for memory's sake: each block's words are strings of its own
    passages = np.zeros(len(numbers), np.int64)
    for its, block in zip(ids, blocks, strict=True):
        passages[its] += block.passages
    lengths = np.concatenate([np.zeros(0, np.int64), *(block.lengths for block in blocks)])
    spans = np.concatenate([[0], np.cumsum(passages)])
    idf = _idf(passages, len(lengths))
    norms = K1 * ((1 - B) + B * lengths / lengths.mean()) if lengths.any() else np.ones(len(lengths))
    data, rows = np.empty(spans[-1], np.float32), np.empty(spans[-1], np.int32)
    heads, start = spans[:-1].copy(), 0
    for its in ids:
        block = blocks.pop(0)
        # Each term's entries go where those of the blocks before ended.
        before = np.cumsum(block.passages) - block.passages
        places = np.repeat(heads[its] - before, block.passages) + np.arange(len(block.rows))
        heads[its] += block.passages
        rows[places] = block.rows + start
        norm = norms[start : start + len(block.lengths)][block.rows]
        data[places] = np.repeat(idf[its], block.passages) * (block.frequencies / (norm + block.frequencies))
        start += len(block.lengths)
    return {"data": data, "indices": rows, "indptr": spans, "num_docs": len(lengths)}, numbers


def _idf(passages: Ints, total: int) -> Floats:
    # Each count once, by math.log as bm25s does: numpy's may differ in the last bit.
    counts, which = np.unique(passages, return_inverse=True)
    values = [math.log(1 + (total - df + 0.5) / (df + 0.5)) for df in counts.tolist()]
    return np.array(values, dtype=np.float32)[which]


@lru_cache
def _compiled() -> Callable[..., None] | None:
    """Return `_add` for compilation at its first call; None where numba is not installed, or told not to compile."""
    try:
        import numba
    except ImportError:
        return None
    # Not kept on disk: it compiles in less time than the search of a few hundred events takes without it.
    return None if numba.config.DISABLE_JIT else numba.njit(nogil=True)(_add)


def _add(scores: Floats, data: Floats, rows: Any, starts: Ints, stops: Ints, times: Ints) -> None:
    """Add the entries of each term to `scores`, `times` times; one call of bm25s' sum, and in its order."""
    # A slice counts from 0, and most terms stand once in a query: either told apart saves the compiled loop a third.
    for term in range(len(starts)):
        places, values = rows[starts[term] : stops[term]], data[starts[term] : stops[term]]
        if times[term] == 1:
            for entry in range(len(places)):
                scores[places[entry]] += values[entry]
        else:
            for entry in range(len(places)):
                score = scores[places[entry]]
                for _ in range(times[term]):
                    score += values[entry]
                scores[places[entry]] = score
