"""The retrievers that search a corpus: what decides the hits of each, and how its indexes are opened.

Fusion and reranking follow CRUD-RAG's authors: each list is cut at top_k; then both are fused, or their union is scored
again. `registry` has their names.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from quadrag.parts import Retrieval
from quadrag.progress import Progress

from .bm25 import Bm25Index
from .encoder import Encoder
from .fuse import fuse, union
from .passages import Hits, PassageStore
from .rerank import Reranker
from .store import Indexes

Ranker = Callable[[Sequence[str], int], list[Hits]]  # the hits of each query, at most k


class Retriever(ABC):
    """One way to find passages, under some settings."""

    def __init__(self, settings: Retrieval) -> None:
        self.settings = settings

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return what decides the hits beside corpus and settings: versions, and weights by content or commit."""

    def check(self) -> None:  # noqa: B027  # without a model there is nothing to check
        """Find out whether all can be had, before long work: a model that is not there says so at once."""

    @abstractmethod
    def open(self, indexes: Indexes) -> Ranker:
        """Open the indexes, which are built where they are lacking."""


class Bm25(Retriever):
    """Terms weighted by BM25."""

    def describe(self) -> dict[str, Any]:
        """See `Retriever.describe`."""
        return {"bm25": Bm25Index.describe(self.settings.tokenizer)}

    def open(self, indexes: Indexes) -> Ranker:
        """See `Retriever.open`."""
        terms = self.settings.tokenizer

        def build(folder: Path) -> None:
            with Progress(f"indexing for BM25 over {terms} terms", len(indexes.passages)):
                Bm25Index.build(indexes.passages, folder, terms=terms)

        key = {"kind": "bm25", "passages": indexes.key, **Bm25Index.describe(terms)}
        index = Bm25Index(indexes.store.get(key, build))
        return lambda queries, k: index.search(queries, k)


def name_encoder(settings: Retrieval) -> Encoder:
    """Name the encoder of a search, with what it puts before texts."""
    return Encoder(settings.embedding, on_passages=settings.instruction == "both", trust=settings.trust)


class Dense(Retriever):
    """Vectors of a sentence embedding, searched by one of `vectors.indexes.INDEXES`."""

    def __init__(self, settings: Retrieval) -> None:
        super().__init__(settings)
        from .vectors.indexes import make_index

        self._index = make_index(settings.index)
        self._encoder = name_encoder(settings)

    def describe(self) -> dict[str, Any]:
        """See `Retriever.describe`."""
        index = self._index.describe()
        return {"embedding": self._encoder.describe(), **({"index": index} if index else {})}

    def check(self) -> None:
        """See `Retriever.check`."""
        self._encoder.check()
        self._index.check()

    def open(self, indexes: Indexes) -> Ranker:
        """See `Retriever.open`."""
        from .vectors import dense

        def build(folder: Path) -> None:
            with Progress(f"encoding with {self.settings.embedding}", len(indexes.passages)) as progress:
                dense.DenseIndex.build(indexes.passages, folder, self._encoder, progress=progress.update)

        key = {"kind": "dense", "passages": indexes.key, "version": dense.VERSION, **self._encoder.key()}
        vectors = dense.DenseIndex.open(indexes.store.get(key, build, resumes=True), self._encoder).vectors
        self._index.open(vectors, indexes, key)
        return lambda queries, k: self._index.nearest(self._encoder.queries(queries), k)


class Hybrid(Retriever):
    """BM25 and vectors, fused by reciprocal rank."""

    def __init__(self, settings: Retrieval) -> None:
        super().__init__(settings)
        self._parts = (Bm25(settings), Dense(settings))

    def describe(self) -> dict[str, Any]:
        """See `Retriever.describe`."""
        return {name: value for part in self._parts for name, value in part.describe().items()}

    def check(self) -> None:
        """See `Retriever.check`."""
        for part in self._parts:
            part.check()

    def open(self, indexes: Indexes) -> Ranker:
        """See `Retriever.open`."""
        rankers = [part.open(indexes) for part in self._parts]

        def rank(queries: Sequence[str], k: int) -> list[Hits]:
            lists = zip(*(one(queries, k) for one in rankers), strict=True)
            return self._join(queries, list(lists), indexes.passages, k)

        return rank

    def _join(
        self, queries: Sequence[str], lists: Sequence[Sequence[Hits]], passages: PassageStore, k: int
    ) -> list[Hits]:
        return [fuse(found, k) for found in lists]


class HybridRerank(Hybrid):
    """The union of both, scored again by a cross-encoder."""

    def __init__(self, settings: Retrieval) -> None:
        super().__init__(settings)
        self._reranker = Reranker(settings.reranker, trust=settings.trust)

    def describe(self) -> dict[str, Any]:
        """See `Retriever.describe`."""
        return {**super().describe(), "reranker": self._reranker.describe()}

    def check(self) -> None:
        """See `Retriever.check`."""
        super().check()
        self._reranker.check()

    def _join(
        self, queries: Sequence[str], lists: Sequence[Sequence[Hits]], passages: PassageStore, k: int
    ) -> list[Hits]:
        unions = [union(found) for found in lists]
        texts = [[passages[row].text for row in rows] for rows in unions]
        return [
            self._reranker.rerank(query, rows, shown, k)
            for query, rows, shown in zip(queries, unions, texts, strict=True)
        ]
