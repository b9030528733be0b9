"""Dense retrieval: the vectors of all passages in one memory-mapped file, searched exactly or by an index.

Exact search compares every vector with a query, in float32, a block of rows at a time. What float32's rounding could
have kept out of the top k is computed again in float64, pair by pair. So the ranking is that of the exact products, and
a passage's score does not depend on where it lies.

An index, ``--index NAME[:WHERE][,OPTION=N...]``, is for corpora too large for that: it looks at a part of the vectors.
The rows that it finds are ranked here by their exact products, and whenever it is opened its recall is measured. A
further one is a file with a `VectorIndex`, and a line in `INDEXES`.
"""

from __future__ import annotations

import importlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from quadrag import parallel
from quadrag.errors import QuadragError, pick
from quadrag.parts import Retrieval
from quadrag.printing import Progress, say
from quadrag.records import write_text

from ..encoder import Encoder, Vectors
from ..passages import Hits, PassageStore
from ..search import Indexes, Ranker, Retriever

FILE, _DONE = "vectors.npy", "done"
FORM = 1  # of the file's form, for the key of an index
_TEXTS = 512  # encoded between two writes
_QUERIES = 1024  # compared at once
_SCORES = 1 << 23  # of a block, in float32 32 MiB: what is small enough to be looked through while in the cache
_PAIRS = 1 << 13  # multiplied again at once

# The class in the file of that name, and the form of what says where it lies.
INDEXES = {"faiss": ("FaissIndex", ""), "milvus": ("MilvusIndex", r"[^,]+\.db|\w+://[^,]+")}
VERSION = 2  # of how approximate indexes are set here, for run records and the keys of indexes
DEPTH = 10  # recall is of so many
_SAMPLE = 100  # passages that are searched for what is near them, evenly spread over all
_BESIDE = 100  # rows asked for beyond the k where every vector is compared: some of them may tie
_LEAST = 39  # vectors a list, below which faiss warns
_OPTION = re.compile("(nlist|nprobe|rerank)=([1-9][0-9]*)")

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


def _search(passages: Vectors, queries: Vectors, k: int) -> list[Hits]:
    count = len(passages)
    k = min(k, count)
    best = np.full((len(queries), k), -np.inf, np.float32)
    rows = np.full((len(queries), k), count, np.int64)  # a row that loses every tie
    off = rounding(queries.shape[1])
    step = max(1, min(_SCORES // len(queries), 1 << 16))  # passages compared with so many queries at once
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


class VectorIndex(ABC):
    """One way to search vectors; nothing is imported or opened when it is made.

    `where` is where it lies, "" of one that lies with the vectors; `options` are the numbers that the user gives.
    """

    name: ClassVar[str]
    kind = "IVF_SQ8"

    def __init__(self, where: str, options: Mapping[str, int]) -> None:
        self.where, self.options = where, options

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return what decides the rows found, {} where these are the exact ones; raises where it cannot be had."""

    @abstractmethod
    def open_built(self, indexes: Indexes, key: Mapping[str, Any]) -> None:
        """Open the index over `vectors`, known by their key, with the numbers in `set`; it is built where it lacks."""

    @abstractmethod
    def find(self, queries: Vectors, count: int) -> Rows:
        """Return for each query the rows found nearest, int64 [m, count]; -1 where there are fewer."""

    def settings(self, rows: int) -> dict[str, Any]:
        """Return the numbers of an index over so many rows; the user's own come first.

        ``nlist`` are the lists that the vectors are sorted into, ``nprobe`` those that are looked through for a query,
        ``rerank`` the rows of them that are then ranked exactly.
        """
        lists = 1 << int(np.log2(max(1.0, min(rows**0.5, rows / _LEAST))))
        numbers = {"nlist": lists, **self.options}
        return {"nprobe": max(16, numbers["nlist"] // 8), "rerank": 100, **numbers}

    def open(self, vectors: Vectors, indexes: Indexes, key: Mapping[str, Any]) -> None:
        """Open the index of vectors under their key; its recall is measured for the run's record."""
        self.vectors, self.set = vectors, self.settings(len(vectors))
        self.open_built(indexes, key)
        if "nprobe" not in self.set:  # every vector is compared
            return
        sample = np.linspace(0, len(vectors) - 1, min(_SAMPLE, len(vectors))).astype(np.int64)
        recall = self._measure_recall(sample, min(DEPTH, len(vectors) - 1))
        numbers = ", ".join(f"{name} {self.set[name]}" for name in ("nlist", "nprobe", "rerank"))
        name = f"{self.name} {self.kind} ({numbers})"
        indexes.found["index"] = {"name": name, "recall": round(recall, 4), "depth": DEPTH, "sample": len(sample)}
        say(
            f"index {name}: recall@{DEPTH} {recall:.4f} against exact search, with {len(sample)} of the passages as "
            "queries"
        )

    def nearest(self, queries: Vectors, k: int) -> list[Hits]:
        hits: list[Hits] = []
        for start in range(0, len(queries), _QUERIES):
            block = queries[start : start + _QUERIES]
            rows = self.find(block, min(max(k, self.set.get("rerank", k + _BESIDE)), len(self.vectors)))
            for query, found in zip(block, rows, strict=True):
                near = np.sort(found[found >= 0])
                scores = exact(query[None], np.zeros_like(near), self.vectors, near)
                # Equal ones by lower row.
                hits.append([(int(near[n]), float(scores[n])) for n in np.lexsort((near, -scores))[:k]])
        return hits

    def _measure_recall(self, sample: Rows, depth: int) -> float:
        """Return which share of what is nearest to passages is found, themselves aside; equal scores count alike."""
        if not depth:
            return 1.0
        queries, shares = self.vectors[sample], []
        both = zip(sample, nearest(self.vectors, queries, depth + 1), self.nearest(queries, depth + 1), strict=True)
        for searched, exact_hits, hits in both:
            lowest = [score for row, score in exact_hits if row != searched][:depth][-1]
            shares.append(min(depth, sum(score >= lowest for row, score in hits if row != searched)))
        return sum(shares) / (depth * len(sample))


def make_index(text: str) -> VectorIndex:
    head, *parts = text.split(",")
    name, _, where = head.partition(":")
    kind, places = pick("index", name, INDEXES)
    options = [match.groups() for part in parts if (match := _OPTION.fullmatch(part))]
    if len(options) < len(parts) or not re.fullmatch(places, where):
        raise QuadragError(
            f"index {text!r} is not understood; expected faiss, milvus:FILE.db for Milvus Lite or "
            "milvus:http://HOST:PORT, and behind it ,nlist=N ,nprobe=N ,rerank=N where wanted"
        )
    made = getattr(importlib.import_module(f".{name}", __package__), kind)
    return cast("VectorIndex", made(where, {option: int(value) for option, value in options}))


class Dense(Retriever):
    def __init__(self, settings: Retrieval) -> None:
        super().__init__(settings)
        self._index = make_index(settings.index) if settings.index is not None else None
        self._encoder = Encoder(settings.embedding, settings.trust, on_passages=settings.instruction == "both")

    def describe(self) -> dict[str, Any]:
        self._encoder.check()
        index = self._index.describe() if self._index is not None else None
        return {"embedding": self._encoder.describe(), **({"index": index} if index else {})}

    def open(self, indexes: Indexes) -> Ranker:
        passages, encoder, index = indexes.passages, self._encoder, self._index

        def build(folder: Path) -> None:
            with Progress(f"encoding with {encoder.name}", len(passages)) as progress:
                write_vectors(passages, folder, encoder.documents, progress.update)

        key = {"kind": "dense", "passages": indexes.key, "version": FORM, **encoder.key()}
        vectors = indexes.store.open(key, build, open_vectors, resumes=True)
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
    vectors: Vectors = np.load(folder / FILE, mmap_mode="r")  # they stay on disk until they are compared
    return vectors


def _append(path: Path, vectors: Vectors, done: int, total: int) -> None:
    # Written, not mapped: a full disk is then an error and not the end of the process.
    with path.open("r+b" if done else "wb") as file:
        form = {"descr": "<f4", "fortran_order": False, "shape": (total, vectors.shape[1])}
        np.lib.format.write_array_header_1_0(file, form)
        file.seek(done * vectors.shape[1] * 4, os.SEEK_CUR)
        file.write(np.ascontiguousarray(vectors, np.float32).data)
