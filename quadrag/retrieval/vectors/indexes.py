"""Indexes over the vectors that `dense` wrote, for corpora too large to compare every vector: faiss, Milvus.

``--index NAME[:WHERE][,OPTION=N...]``. A further one is a file with a `VectorIndex`, and a line in `INDEXES`. It looks
at a part of the vectors: the rows that it finds are ranked here by their exact products, and whenever it is opened its
recall is measured.
"""

import importlib
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np

from quadrag.errors import QuadragError, pick
from quadrag.printing import say

from ..encoder import Vectors
from ..passages import Hits
from ..search import Indexes
from .exact import Rows, exact, nearest

# The class in the file of that name, and the form of what says where it lies.
INDEXES = {"faiss": ("FaissIndex", ""), "milvus": ("MilvusIndex", r"[^,]+\.db|\w+://[^,]+")}
VERSION = 2  # of how approximate indexes are set here, for run records and the keys of indexes
DEPTH = 10  # recall is of so many
_SAMPLE = 100  # passages that are searched for what is near them, evenly spread over all
_QUERIES = 1024  # searched at once
_BESIDE = 100  # rows asked for beyond the k where every vector is compared: some of them may tie
_LEAST = 39  # vectors a list, below which faiss warns
_OPTION = re.compile("(nlist|nprobe|rerank)=([1-9][0-9]*)")


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
        """Return for each query at most k rows with their exact products, as `dense.nearest` does."""
        hits: list[Hits] = []
        for start in range(0, len(queries), _QUERIES):
            block = queries[start : start + _QUERIES]
            rows = self.find(block, min(max(k, self.set.get("rerank", k + _BESIDE)), len(self.vectors)))
            hits += [rank(self.vectors, query, near, k) for query, near in zip(block, rows, strict=True)]
        return hits

    def _measure_recall(self, sample: Rows, depth: int) -> float:
        """Return which share of what is nearest to passages is found, themselves aside; equal scores count alike."""
        if not depth:
            return 1.0
        queries, shares = self.vectors[sample], []
        both = zip(sample, nearest(self.vectors, queries, depth + 1), self.nearest(queries, depth + 1), strict=True)
        for own, right, found in both:
            lowest = [score for row, score in right if row != own][:depth][-1]
            shares.append(min(depth, sum(score >= lowest for row, score in found if row != own)))
        return sum(shares) / (depth * len(sample))


def rank(vectors: Vectors, query: Vectors, rows: Rows, k: int) -> Hits:
    """Rank some rows by their exact products with a query, equal ones by lower row; -1 is none."""
    near = np.sort(rows[rows >= 0])
    scores = exact(query[None], np.zeros_like(near), vectors, near)
    return [(int(near[n]), float(scores[n])) for n in np.lexsort((near, -scores))[:k]]


def make_index(text: str) -> VectorIndex:
    """Make the index that ``--index`` names."""
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
