"""Several rankings into one: reciprocal rank fusion, and the plain union that a reranker is given.

Rankings name rows of one passage store, so that a passage is the same in all; texts are not compared. The algorithm is
that of Cormack, Clarke and Buettcher (SIGIR 2009), with a weight, as CRUD-RAG's authors have it: each ranking is cut at
top_k, and both are fused.
"""

import math
from collections.abc import Sequence
from typing import Any

from quadrag.parts import Retrieval

from .bm25 import Bm25
from .passages import Hits, PassageStore
from .search import Indexes, Ranker, Retriever
from .vectors.dense import Dense

WEIGHT = 0.5  # of each ranking, and with the constant what CRUD-RAG's authors ran
CONSTANT = 60


class Hybrid(Retriever):
    """BM25 and vectors, fused by reciprocal rank."""

    def __init__(self, settings: Retrieval) -> None:
        super().__init__(settings)
        self._parts = (Bm25(settings), Dense(settings))

    def describe(self) -> dict[str, Any]:
        """See `Retriever.describe`."""
        return {name: value for part in self._parts for name, value in part.describe().items()}

    def open(self, indexes: Indexes) -> Ranker:
        """See `Retriever.open`."""
        rankers = [part.open(indexes) for part in self._parts]

        def rank(queries: Sequence[str], k: int) -> list[Hits]:
            lists = zip(*(ranker(queries, k) for ranker in rankers), strict=True)
            return [
                self.join(query, rankings, indexes.passages, k) for query, rankings in zip(queries, lists, strict=True)
            ]

        return rank

    def join(self, query: str, rankings: Sequence[Hits], passages: PassageStore, k: int) -> Hits:
        """Return the k best of a query's rankings."""
        return fuse(rankings, k)


def fuse(rankings: Sequence[Sequence[tuple[int, float]]], k: int) -> Hits:
    """Return the k best rows by the sum over rankings of ``WEIGHT / (rank + CONSTANT)``, the rank from 1.

    Each ranking is best first, no row twice; its scores are not looked at. Equal sums go by their rank in the first
    ranking, then in the second and so on, one that a ranking lacks after those it has.
    """
    ranks: dict[int, list[float]] = {}
    for number, ranking in enumerate(rankings):
        for rank, (row, _) in enumerate(ranking, 1):
            ranks.setdefault(row, [math.inf] * len(rankings))[number] = rank
    scored = [(sum(WEIGHT / (rank + CONSTANT) for rank in places), places, row) for row, places in ranks.items()]
    scored.sort(key=lambda item: (-item[0], item[1]))
    return [(row, score) for score, _, row in scored[:k]]
