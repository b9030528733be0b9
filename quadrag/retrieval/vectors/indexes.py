"""Indexes over the vectors of passages, by one interface: exact search here, faiss, Milvus.

``--index NAME[:WHERE][,KIND][,OPTION=N...]``. A further one is a file with a `VectorIndex`, and a line in `INDEXES`.
All of them read the vectors that `dense` wrote. One that looks at a part of the vectors alone is `Approximate`: the
rows that it finds are ranked here by their exact products, and whenever it is opened its recall is measured.
"""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from quadrag.errors import QuadragError, unknown_name
from quadrag.progress import say

from ..encoder import Vectors
from ..passages import Hits
from ..store import Indexes
from .dense import Rows, check_search, exact, nearest

INDEXES = {"exact": ("indexes", "Exact"), "faiss": ("faiss", "FaissIndex"), "milvus": ("milvus", "MilvusIndex")}
VERSION = 2  # of how approximate indexes are set here, for run records and the keys of indexes
DEPTH = 10  # recall is of so many
_SAMPLE = 100  # passages that are searched for what is near them, evenly spread over all
_QUERIES = 1024  # searched at once
_LEAST = 39  # vectors a list, below which faiss warns


class Spec(NamedTuple):
    """What ``--index`` says: the index's name, where it lies, its kind, its options; "" and {} where it is silent."""

    text: str
    name: str
    where: str = ""
    kind: str = ""
    options: Mapping[str, int] = {}


class VectorIndex(ABC):
    """One way to search vectors."""

    kinds: tuple[str, ...] = ()  # that a spec may ask for
    placed = False  # whether a spec says where
    form = ""  # of a spec, for messages

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        allowed = {"nlist", "nprobe", "rerank"} if self.kinds else set()
        if spec.kind not in ("", *self.kinds) or spec.options.keys() - allowed or bool(spec.where) != self.placed:
            raise self.refuse()

    def refuse(self) -> QuadragError:
        """Say that the spec is not understood."""
        return QuadragError(f"index {self.spec.text!r} is not understood; expected {self.form}")

    def describe(self) -> dict[str, Any]:
        """Return what decides the rows that it finds; {} where these are the exact ones."""
        return {}

    def check(self) -> None:  # noqa: B027  # exact search needs nothing
        """Find out before long work whether it can be used."""

    @abstractmethod
    def open(self, vectors: Vectors, indexes: Indexes, key: Mapping[str, Any]) -> None:
        """Open the index of vectors under their key; it is built where there is none."""

    @abstractmethod
    def nearest(self, queries: Vectors, k: int) -> list[Hits]:
        """Return for each query at most k rows with their exact products, as `dense.nearest` does."""


class Exact(VectorIndex):
    """Every vector is compared."""

    form = "exact"

    def open(self, vectors: Vectors, indexes: Indexes, key: Mapping[str, Any]) -> None:
        """See `VectorIndex.open`."""
        self._vectors = vectors

    def nearest(self, queries: Vectors, k: int) -> list[Hits]:
        """See `VectorIndex.nearest`."""
        return nearest(self._vectors, queries, k)


class Approximate(VectorIndex):
    """An index that compares a part of the vectors, and those in a short form."""

    def settings(self, rows: int) -> dict[str, Any]:
        """Return the numbers of an index over so many rows, to which a class adds ``kind``; the user's own come first.

        ``nlist`` are the lists that the vectors are sorted into, ``nprobe`` those that are looked through for a query,
        ``rerank`` the rows of them that are then ranked exactly.
        """
        lists = 1 << int(np.log2(max(1.0, min(rows**0.5, rows / _LEAST))))
        found = {"nlist": lists, **self.spec.options}
        return {"nprobe": max(16, found["nlist"] // 8), "rerank": 100, **found}

    @abstractmethod
    def open_built(self, indexes: Indexes, key: Mapping[str, Any]) -> None:
        """Open the index over `vectors` with the numbers in `set`, which is built where there is none."""

    @abstractmethod
    def find(self, queries: Vectors, count: int) -> Rows:
        """Return for each query the rows found nearest, int64 [m, count]; -1 where there are fewer."""

    def open(self, vectors: Vectors, indexes: Indexes, key: Mapping[str, Any]) -> None:
        """See `VectorIndex.open`; the recall is measured and told."""
        self.vectors, self.set = vectors, self.settings(len(vectors))
        self.open_built(indexes, key)
        if "nprobe" not in self.set:  # every vector is compared
            return
        sample = np.linspace(0, len(vectors) - 1, min(_SAMPLE, len(vectors))).astype(np.int64)
        depth = min(DEPTH, len(vectors) - 1)
        right = nearest(vectors, vectors[sample], depth + 1)
        others = [[score for row, score in hits if row != own][:depth] for own, hits in zip(sample, right, strict=True)]
        floors = np.array(others, np.float32)
        recall = self._recall(sample, floors)
        numbers = ", ".join(f"{name} {self.set[name]}" for name in ("nlist", "nprobe", "rerank"))
        name = f"{self.spec.name} {self.set['kind']} ({numbers})"
        indexes.told["index"] = {"name": name, "recall": round(recall, 4), "depth": DEPTH, "sample": len(sample)}
        say(
            f"index {name}: recall@{DEPTH} {recall:.4f} against exact search, with {len(sample)} of the passages as "
            "queries"
        )

    def nearest(self, queries: Vectors, k: int) -> list[Hits]:
        """See `VectorIndex.nearest`."""
        check_search(self.vectors, queries, k)
        found: list[Hits] = []
        for start in range(0, len(queries), _QUERIES):
            block = queries[start : start + _QUERIES]
            rows = self.find(block, min(max(k, self.set["rerank"]), len(self.vectors)))
            found += [rank(self.vectors, query, near, k) for query, near in zip(block, rows, strict=True)]
        return found

    def _recall(self, sample: Rows, floors: Vectors) -> float:
        """Return which share of what is nearest to passages is found, themselves aside; equal scores count alike."""
        depth = floors.shape[1]
        found = self.nearest(self.vectors[sample], depth + 1)
        right = [
            sum(score >= floor[-1] for row, score in hits if row != own)
            for own, hits, floor in zip(sample, found, floors, strict=True)
        ]
        return float(np.minimum(right, depth).sum() / (depth * len(sample))) if depth else 1.0


def rank(vectors: Vectors, query: Vectors, rows: Rows, k: int) -> Hits:
    """Rank some rows by their exact products with a query, equal ones by lower row; -1 is none."""
    near = np.sort(rows[rows >= 0])
    scores = exact(np.broadcast_to(query, (len(near), len(query))), vectors[near])
    return [(int(near[n]), float(scores[n])) for n in np.lexsort((near, -scores))[:k]]


def parse(text: str | None) -> Spec:
    """Read what ``--index`` says; None is exact search."""
    if text is None:
        return Spec("exact", "exact")
    head, *parts = text.split(",")
    name, _, where = head.partition(":")
    if name not in INDEXES:
        raise unknown_name("index", name, INDEXES)
    kind = parts.pop(0) if parts and "=" not in parts[0] else ""
    options = {}
    for part in parts:
        option, _, value = part.partition("=")
        if not value.isascii() or not value.isdigit() or int(value) < 1 or option in options:
            raise QuadragError(f"index {text!r} has {part!r}; expected OPTION=N, N from 1, each option once")
        options[option] = int(value)
    return Spec(text, name, where, kind, options)


def make_index(text: str | None) -> VectorIndex:
    """Make the index that ``--index`` names; nothing is imported that it needs, and nothing opened."""
    spec = parse(text)
    file, name = INDEXES[spec.name]
    found: VectorIndex = getattr(importlib.import_module(f".{file}", __package__), name)(spec)
    return found
