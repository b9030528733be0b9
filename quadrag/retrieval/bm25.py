"""BM25 over a passage store, by bm25s: Lucene's variant, every score computed when the index is built.

The score of passage d for query q is the sum over q's terms t, each as often as it stands there, of
``idf(t) * tf / (tf + k1 * (1 - b + b * |d| / avgdl))`` with ``idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))``: Robertson
and Zaragoza, "The Probabilistic Relevance Framework", as Kamphuis et al. (ECIR 2020) write Lucene's form exactly.

bm25s holds, saves, maps and adds the scores, in the order of the query's terms, in 32 bits. They are laid out here from
counts, whole arrays at a time, and equal sums go to the lower row, where bm25s leaves them to chance.
"""

import math
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from quadrag.errors import unreadable_index
from quadrag.printing import Progress

from .passages import Hits, PassageStore
from .search import Indexes, Ranker, Retriever
from .terms import analyser, count, describe_terms

K1, B, METHOD = 1.2, 0.75, "lucene"
VERSION = 4  # of what stands in the folder, for the key of an index
_AT_ONCE = 1 << 20  # scores computed in one go


class Bm25(Retriever):
    """Terms weighted by BM25."""

    def describe(self) -> dict[str, Any]:
        """See `Retriever.describe`."""
        own = {"method": METHOD, "k1": K1, "b": B, "bm25s": version("bm25s"), "format": VERSION}
        return {"bm25": {"terms": describe_terms(self.settings.tokenizer), **own}}

    def open(self, indexes: Indexes) -> Ranker:
        """See `Retriever.open`."""
        terms = self.settings.tokenizer

        def build(folder: Path) -> None:
            with Progress(f"indexing for BM25 over {terms} terms", len(indexes.passages)):
                build_index(indexes.passages, folder, terms)

        key = {"kind": "bm25", "passages": indexes.key, **self.describe()["bm25"]}
        return open_index(indexes.store.get(key, build), terms)


def build_index(store: PassageStore, folder: Path, terms: str) -> None:
    """Index a store's passages, row for row, in a folder that is there."""
    import bm25s

    index = bm25s.BM25(k1=K1, b=B, method=METHOD, backend="numpy")
    index.vocab_dict, counts = _count_all(store, terms)
    index.scores, index.nonoccurrence_array = _scores(counts), None
    index.save(folder, show_progress=False)


def open_index(folder: Path, terms: str) -> Ranker:
    """Return what ranks passages by an index whose arrays stay on disk.

    It returns row and score (above 0) of at most k passages a query, best first, equal scores by row.
    """
    import bm25s

    try:
        index = bm25s.BM25.load(folder, mmap=True, backend="numpy")
    except (OSError, EOFError, ValueError, TypeError) as error:
        raise unreadable_index(folder, error) from error
    for name in ("data", "indices", "indptr"):
        index.scores[name] = index.scores[name].view(np.ndarray)  # slices of a memmap take a fifth of a search's time
    analyse, numbers = analyser(terms), index.vocab_dict

    def rank(queries: Sequence[str], k: int) -> list[Hits]:
        # Each term as often as it stands in the query, at its first place.
        known = ([numbers[term] for term in Counter(analyse(query)).elements() if term in numbers] for query in queries)
        return [_top(index.get_scores_from_ids(ids), k) if ids else [] for ids in known]

    return rank


def _top(scores: npt.NDArray[np.float32], k: int) -> Hits:
    """Return row and score of the `k` highest scores above 0, best first, equal scores by row."""
    # The k-th best of the maxima of groups is at most the k-th best score: few rows are left to sort. Eight groups for
    # each score wanted, since a group gives one maximum however many of the best it holds.
    groups, lowest = 8 * k, 0
    if groups <= len(scores):
        maxima = scores[: len(scores) // groups * groups].reshape(-1, groups).max(axis=0)
        lowest = np.partition(maxima, -k)[-k]
    rows = np.flatnonzero(scores >= lowest if lowest > 0 else scores > 0)
    best = rows[np.argsort(-scores[rows], kind="stable")[:k]]
    return list(zip(best.tolist(), scores[best].tolist(), strict=True))


def _count_all(store: PassageStore, terms: str) -> tuple[dict[str, int], Any]:
    """Return the numbers of all terms, and how often each stands in each passage, as a matrix by columns."""
    numbers: dict[str, int] = {}
    blocks = []
    for names, block in count(store, terms):
        columns = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32)
        blocks.append((block.data, columns[block.indices], block.indptr))
    shapes = [(len(starts) - 1, len(numbers)) for *_, starts in blocks]
    parts = [scipy.sparse.csr_array(block, shape) for block, shape in zip(blocks, shapes, strict=True)]
    return numbers, scipy.sparse.vstack(parts, format="csr").tocsc()


def _scores(counts: Any) -> dict[str, Any]:
    total, _ = counts.shape
    lengths = counts.sum(axis=1)
    norms = K1 * ((1 - B) + B * lengths / (lengths.mean() or 1 if total else 1))
    holding = np.diff(counts.indptr)
    data = np.repeat(_idf(holding, total), holding)
    for start in range(0, len(data), _AT_ONCE):
        here = slice(start, start + _AT_ONCE)
        data[here] *= counts.data[here] / (norms[counts.indices[here]] + counts.data[here])
    return {"data": data, "indices": counts.indices, "indptr": counts.indptr, "num_docs": total}


def _idf(holding: npt.NDArray[np.int64], total: int) -> npt.NDArray[np.float32]:
    # Each number once, by math.log as bm25s does: numpy's may differ in the last bit.
    numbers, which = np.unique(holding, return_inverse=True)
    values = [math.log(1 + (total - df + 0.5) / (df + 0.5)) for df in numbers.tolist()]
    return np.array(values, dtype=np.float32)[which]
