"""Exact search: every vector is compared with a query, in float32, a block of rows at a time.

What float32's rounding could have kept out of the top k is computed again in float64, pair by pair. So the ranking is
that of the exact products, and a passage's score does not depend on where it lies.
"""

import numpy as np
import numpy.typing as npt

from ..encoder import Vectors
from ..passages import Hits

_QUERIES = 1024  # compared at once
_SCORES = 1 << 23  # of a block, in float32 32 MiB: what is small enough to be looked through while in the cache
_PAIRS = 1 << 13  # multiplied again at once

Rows = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float32]


def nearest(passages: Vectors, queries: Vectors, k: int) -> list[Hits]:
    """Return for each query the k rows with the highest products as `exact` gives them, equal ones by lower row.

    Passages are float32 [n, d], queries [m, d], rows of unit length at most.
    """
    hits: list[Hits] = []
    for start in range(0, len(queries), _QUERIES):
        hits += _search(passages, queries[start : start + _QUERIES], k)
    return hits


def exact(queries: Vectors, which: Rows, passages: Vectors, rows: Rows) -> Scores:
    """Return the inner products of paired rows, float32 [n]: each summed for itself in float64, and rounded once.

    The pairs are query ``which[i]`` and passage ``rows[i]``.
    """
    products = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), _PAIRS):
        part = slice(start, start + _PAIRS)
        left, right = queries[which[part]].astype(np.float64), passages[rows[part]].astype(np.float64)
        products[part] = np.einsum("ij,ij->i", left, right)
    return products


def rounding(dimension: int) -> float:
    """Return how far a float32 inner product of rows of unit length can be off, however it is summed.

    The bound is d u / (1 - d u) with u = 2 ** -24 (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
    section 3.1), and a little for the rounding of the lengths and of what is compared with it.
    """
    return (dimension + 16) * 2.0**-24


def block_rows(queries: int) -> int:
    """Return how many passages are compared with so many queries at once."""
    return max(1, min(_SCORES // queries, 1 << 16))


def _search(passages: Vectors, queries: Vectors, k: int) -> list[Hits]:
    count = len(passages)
    k = min(k, count)
    best = np.full((len(queries), k), -np.inf, np.float32)
    rows = np.full((len(queries), k), count, np.int64)  # a row that loses every tie
    off = rounding(queries.shape[1])
    step = block_rows(len(queries))
    buffer = np.empty((len(queries), step), np.float32)
    for start in range(0, count, step):
        block = np.asarray(passages[start : start + step])
        scores = np.matmul(queries, block.T, out=buffer[:, : len(block)])
        # The rows of a block come after all seen before, so that an equal score is not enough.
        floor = best[:, -1] - off
        hits = scores > floor[:, None]
        if len(block) > k and np.count_nonzero(hits) > 4 * best.size:
            lowest = np.partition(scores, len(block) - k, axis=1)[:, len(block) - k]
            hits &= scores >= (lowest - 2 * off)[:, None]
        which, places = np.divmod(np.flatnonzero(hits), len(block))  # np.nonzero takes forty times as long
        if len(which):
            _merge(best, rows, which, places + start, exact(queries, which, block, places))
    return [
        [(int(row), float(score)) for row, score in zip(*pair, strict=True)] for pair in zip(rows, best, strict=True)
    ]


def _merge(best: Scores, rows: Rows, which: Rows, new: Rows, scores: Scores) -> None:
    k = best.shape[1]
    touched = np.unique(which)
    which = np.concatenate([np.repeat(touched, k), which])
    scores = np.concatenate([best[touched].ravel(), scores])
    new = np.concatenate([rows[touched].ravel(), new])
    order = np.lexsort((new, -scores, which))
    which, scores, new = which[order], scores[order], new[order]
    first = np.searchsorted(which, touched)
    place = np.arange(len(which)) - np.repeat(first, np.diff(np.append(first, len(which))))
    kept = place < k
    best[which[kept], place[kept]] = scores[kept]
    rows[which[kept], place[kept]] = new[kept]
