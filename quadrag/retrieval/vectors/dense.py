"""Dense retrieval: the vectors of all passages in one memory-mapped file, every one of them compared with a query.

Nothing is approximated. Inner products are taken in float32, a block of rows at a time; what float32's rounding could
have kept out of the top k is computed again in float64, pair by pair. So the ranking is that of the exact products, and
a passage's score does not depend on where it lies. How texts become vectors is `retrieval.encoder`'s work.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quadrag import parallel
from quadrag.errors import QuadragError
from quadrag.parts import Retrieval
from quadrag.progress import Progress
from quadrag.records import write_text

from ..encoder import Encoder, Vectors
from ..passages import Hits, PassageStore
from ..search import Indexes, Ranker, Retriever, unreadable

FILE, _DONE = "vectors.npy", "done"
VERSION = 1  # of the file's form, for the key of an index
_TEXTS = 512  # encoded between two writes
_QUERIES = 1024  # compared at once
_SCORES = 1 << 23  # of a block, in float32 32 MiB: what is small enough to be looked through while in the cache
_PAIRS = 1 << 13  # multiplied again at once

Rows = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float32]


class Dense(Retriever):
    """Vectors of a sentence embedding, all compared, or searched by one of `indexes.INDEXES`."""

    def __init__(self, settings: Retrieval) -> None:
        super().__init__(settings)
        from .indexes import make_index

        self._index = make_index(settings.index) if settings.index is not None else None
        self._encoder = Encoder(settings.embedding, settings.trust, on_passages=settings.instruction == "both")

    def describe(self) -> dict[str, Any]:
        """See `Retriever.describe`."""
        self._encoder.check()
        index = self._index.describe() if self._index is not None else None
        return {"embedding": self._encoder.describe(), **({"index": index} if index else {})}

    def open(self, indexes: Indexes) -> Ranker:
        """See `Retriever.open`."""
        passages, encoder, index = indexes.passages, self._encoder, self._index

        def build(folder: Path) -> None:
            with Progress(f"encoding with {encoder.name}", len(passages)) as progress:
                write_vectors(passages, folder, encoder.documents, progress.update)

        key = {"kind": "dense", "passages": indexes.key, "version": VERSION, **encoder.key()}
        vectors = open_vectors(indexes.store.get(key, build, resumes=True))
        if index is None:
            return lambda queries, k: nearest(vectors, encoder.queries(queries), k)
        index.open(vectors, indexes, key)
        return lambda queries, k: index.nearest(encoder.queries(queries), k)


def write_vectors(
    passages: PassageStore,
    folder: Path,
    encode: Callable[[list[str]], Vectors],
    progress: Callable[[int], None],
) -> None:
    """Encode all passages and write their vectors; what an earlier call left is not made again."""
    if not len(passages):
        raise QuadragError("the corpus has no passages; expected at least one with text to encode")
    counter = folder / _DONE  # of the rows that are written
    done = int(counter.read_text()) if counter.is_file() else 0
    texts = islice(passages.encoded(), done, None)
    for vectors in parallel.each(encode, iter(lambda: list(islice(texts, _TEXTS)), [])):
        _append(folder / FILE, vectors, done, len(passages))
        done += len(vectors)
        write_text(counter, str(done))
        progress(done)


def open_vectors(folder: Path) -> Vectors:
    """Open the vectors of passages, which stay on disk until they are compared."""
    try:
        vectors: Vectors = np.load(folder / FILE, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise unreadable(folder, error) from error
    return vectors


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


def _append(path: Path, vectors: Vectors, done: int, total: int) -> None:
    # Written, not mapped: a full disk is then an error and not the end of the process.
    with path.open("r+b" if done else "wb") as file:
        form = {"descr": "<f4", "fortran_order": False, "shape": (total, vectors.shape[1])}
        np.lib.format.write_array_header_1_0(file, form)
        file.seek(done * vectors.shape[1] * 4, os.SEEK_CUR)
        file.write(np.ascontiguousarray(vectors, np.float32).data)
