"""Dense retrieval: the vectors of all passages in one memory-mapped file, every one of them compared with a query.

Nothing is approximated. Inner products are taken in float32, a block of rows at a time; what float32's rounding could
have kept out of the top k is computed again in float64, pair by pair. So the ranking is that of the exact products, and
a passage's score does not depend on where it lies. How texts become vectors is `retrieval.encoder`'s work.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from quadrag import parallel
from quadrag.errors import QuadragError
from quadrag.records import write_text

from ..encoder import PRESETS, Encoder, Progress, TextEncoder, Vectors
from ..passages import Hits, PassageStore, Rows

__all__ = ["PRESETS", "DenseIndex", "Encoder", "Rows", "exact", "nearest"]


FILE, _DONE = "vectors.npy", "done"
VERSION = 1  # of the file's form, for the key of an index
_TEXTS = 4096  # encoded between two writes
_QUERIES = 1024  # compared at once
_SCORES = 1 << 23  # of a block, in float32 32 MiB: what is small enough to be looked through while in the cache
_PAIRS = 1 << 13  # multiplied again at once

Scores = npt.NDArray[np.float32]


class DenseIndex:
    """The vectors of a store's passages, in its order, with the encoder that made them."""

    def __init__(self, vectors: Vectors, encoder: TextEncoder) -> None:
        self.vectors, self.encoder = vectors, encoder

    @classmethod
    def build(
        cls, store: PassageStore, folder: Path, encoder: TextEncoder, *, progress: Progress | None = None
    ) -> DenseIndex:
        """Encode all passages and write their vectors; what an earlier build left is not made again."""
        if not len(store):
            raise QuadragError("the corpus has no passages; expected at least one with text to encode")
        counter = folder / _DONE  # of the rows that are written
        done = int(counter.read_text()) if counter.is_file() else 0
        texts = islice(store.encoded(), done, None)
        blocks = iter(lambda: list(islice(texts, _TEXTS)), [])

        def encode(block: list[str]) -> Vectors:
            return encoder.documents(block, _from(done, len(store), progress))

        # Elsewhere nobody is told how far a block is.
        for vectors in parallel.each(encode if parallel.workers() == 1 else encoder.documents, blocks):
            _append(folder / FILE, vectors, done, len(store))
            done += len(vectors)
            write_text(counter, str(done))
        counter.unlink(missing_ok=True)
        return cls.open(folder, encoder)

    @classmethod
    def open(cls, folder: Path, encoder: TextEncoder) -> DenseIndex:
        """Open an index; its vectors stay on disk until they are compared."""
        try:
            vectors = np.load(folder / FILE, mmap_mode="r")
            if vectors.ndim != 2 or vectors.dtype != np.float32:
                raise ValueError(f"found {vectors.dtype} {vectors.shape}, expected float32 [n, d]")
        except (OSError, ValueError, EOFError) as error:
            raise QuadragError(
                f"{folder} holds no vectors that can be read ({error}); expected {FILE}, remove the folder to build it "
                "again"
            ) from error
        return cls(vectors, encoder)

    def __len__(self) -> int:
        return len(self.vectors)

    def search(self, queries: Sequence[str], k: int) -> list[Hits]:
        """Return for each query the k passages with the highest inner products, equal ones by lower row."""
        return nearest(self.vectors, self.encoder.queries(queries), k)


def nearest(passages: Vectors, queries: Vectors, k: int) -> list[Hits]:
    """Return for each query the k rows with the highest products as `exact` gives them, equal ones by lower row.

    Passages are float32 [n, d], queries [m, d], rows of unit length at most.
    """
    check_search(passages, queries, k)
    found: list[Hits] = []
    for start in range(0, len(queries), _QUERIES):
        found += _search(passages, queries[start : start + _QUERIES], k)
    return found


def check_search(passages: Vectors, queries: Vectors, k: int) -> None:
    """Refuse what cannot be searched."""
    if k < 1:
        raise QuadragError(f"top-k {k} is too small; expected at least 1")
    if queries.shape[1] != passages.shape[1]:
        raise QuadragError(
            f"queries have {queries.shape[1]} dimensions and the index {passages.shape[1]}; expected those of one model"
        )


def exact(queries: Vectors, passages: Vectors) -> Scores:
    """Return the inner products of paired rows, float32 [n]: each summed for itself in float64, and rounded once."""
    products = np.empty(len(queries), np.float32)
    for start in range(0, len(queries), _PAIRS):
        part = slice(start, start + _PAIRS)
        left, right = queries[part].astype(np.float64), passages[part].astype(np.float64)
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
            _merge(best, rows, which, places + start, _pairs(queries, which, block, places))
    return [
        [(int(row), float(score)) for row, score in zip(*pair, strict=True)] for pair in zip(rows, best, strict=True)
    ]


def _pairs(queries: Vectors, which: Rows, block: Vectors, places: Rows) -> Scores:
    parts = [slice(start, start + _PAIRS) for start in range(0, len(which), _PAIRS)]
    return np.concatenate([exact(queries[which[part]], block[places[part]]) for part in parts])


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


def _from(done: int, total: int, progress: Progress | None) -> Progress | None:
    return None if progress is None else lambda part, _: progress(done + part, total)
