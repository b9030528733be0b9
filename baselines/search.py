"""Search: from a corpus and settings to passages, through indexes that are built once and kept.

The chunks, and each index over them, lie in folders named by all that decides their content; see `store.py`. Fusion and
reranking follow the authors' choice: each list is cut at top_k; then both are fused, or their union is scored again.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quadrag.errors import QuadragError
from quadrag.progress import Progress
from quadrag.records import Passage

from .benchmark import Retrieval
from .chunk import Chunking
from .passages import VERSION, PassageStore
from .store import IndexStore
from .task import Corpus

_LONG = 2.0  # seconds
Hits = list[list[tuple[int, float]]]  # per query (row of the store, score), best first


def identity(retriever: str, settings: Retrieval) -> dict[str, Any]:
    """Return what decides the passages found beside corpus and settings: versions, and weights by content or commit.

    Raises:
        QuadragError: a setting cannot be used, or what identifies a model cannot be had.
    """
    chunking = Chunking(settings.chunk_size, settings.chunk_overlap, settings.chunk_tokenizer)
    found: dict[str, Any] = {"chunks": chunking.describe()}
    if settings.index is not None:
        from .milvus import address

        address(settings.index)
    if retriever != "dense":
        from .bm25 import Bm25Index

        found["bm25"] = Bm25Index.describe(settings.tokenizer)
    if retriever != "bm25":
        from .encoder import Encoder

        found["embedding"] = Encoder(settings.embedding, on_passages=settings.instruction == "both").describe()
    if retriever == "hybrid-rerank":
        from .rerank import Reranker

        found["reranker"] = Reranker(settings.reranker).describe()
    return found


class Search:
    """A corpus that can be searched under one set of settings."""

    def __init__(self, corpus: Corpus, retriever: str, settings: Retrieval, store: IndexStore | None = None) -> None:
        """Open the passages and the indexes that a retriever needs; those that are lacking are built.

        Args:
            corpus: what is searched.
            retriever: ``bm25``, ``dense``, ``hybrid`` or ``hybrid-rerank``.
            settings: of chunks, indexes and depth.
            store: where indexes lie; None is the user's cache folder.

        Raises:
            QuadragError: a setting cannot be used, an extra is lacking, or a file of the corpus is wrong.
        """
        self._retriever, self._settings = retriever, settings
        self._store = store or IndexStore()
        chunking = Chunking(settings.chunk_size, settings.chunk_overlap, settings.chunk_tokenizer)
        self._key = {
            "kind": "passages",
            "version": VERSION,
            "corpus": corpus.fingerprint,
            "chunks": chunking.describe(),
        }

        def build(folder: Path) -> None:
            with _announced("cutting the corpus into passages"):
                PassageStore.build(corpus.documents(), folder, chunking)

        if settings.index is not None:
            from .milvus import address

            address(settings.index)
        # Before the passages are cut: a model that is not there should say so at once.
        encoder = self._encoder() if retriever != "bm25" else None
        self._reranker = self._cross_encoder() if retriever == "hybrid-rerank" else None
        self._folders: list[Path] = []  # of what is searched
        self.passages = PassageStore.open(self._get(self._key, build))
        self._indexes: list[Any] = []
        if retriever != "dense":
            self._indexes.append(self._bm25())
        if encoder is not None:
            self._indexes.append(self._dense(encoder))

    def _get(self, key: Mapping[str, Any], build: Callable[[Path], None]) -> Path:
        folder = self._store.get(key, build)
        self._folders.append(folder)
        return folder

    def find(self, queries: Sequence[str]) -> list[list[Passage]]:
        """Return the passages of each query, best first, `top_k` at most; what nothing fits has none.

        Raises:
            QuadragError: an index was altered since it was built, as far as that shows, or a model fails.
        """
        try:
            return self._found(queries)
        except (IndexError, UnicodeDecodeError) as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, why: str) -> QuadragError:
        places = ", ".join(map(str, self._folders))
        return QuadragError(f"an index was altered since it was built ({why}); remove {places} to build it again")

    def _found(self, queries: Sequence[str]) -> list[list[Passage]]:
        k = self._settings.top_k
        lists = [index.search(queries, k) for index in self._indexes]
        if self._retriever == "hybrid":
            from .fuse import fuse

            hits: Hits = [fuse(found, k) for found in zip(*lists, strict=True)]
        elif self._reranker is not None:
            hits = self._reranked(queries, lists, k)
        else:
            hits = lists[0]
        if not all(math.isfinite(score) for found in hits for _, score in found):
            raise self._damaged("a score is no number")
        return [[self.passages[row]._replace(score=round(score, 6)) for row, score in found] for found in hits]

    def _reranked(self, queries: Sequence[str], lists: Sequence[Hits], k: int) -> Hits:
        from .fuse import union

        unions = [union(found) for found in zip(*lists, strict=True)]
        texts = [[self.passages[row].text for row in rows] for rows in unions]
        assert self._reranker is not None
        return [
            self._reranker.rerank(query, rows, shown, k)
            for query, rows, shown in zip(queries, unions, texts, strict=True)
        ]

    def _bm25(self) -> Any:
        from .bm25 import Bm25Index

        terms = self._settings.tokenizer
        key = {"kind": "bm25", "passages": self._key, **Bm25Index.describe(terms)}

        def build(folder: Path) -> None:
            with _announced(f"indexing {len(self.passages):,} passages for BM25 over {terms} terms"):
                Bm25Index.build(self.passages, folder, terms=terms)

        return Bm25Index.open(self._get(key, build))

    def _encoder(self) -> Any:
        from .encoder import Encoder

        encoder = Encoder(self._settings.embedding, on_passages=self._settings.instruction == "both")
        encoder.check()
        return encoder

    def _cross_encoder(self) -> Any:
        from .rerank import Reranker

        reranker = Reranker(self._settings.reranker)
        reranker.check()
        return reranker

    def _dense(self, encoder: Any) -> Any:
        from . import dense

        key = {"kind": "dense", "passages": self._key, "version": dense.VERSION, **encoder.key()}
        with Progress(f"encoding with {self._settings.embedding}", len(self.passages)) as progress:
            if self._settings.index is not None:
                from .milvus import MilvusIndex

                return MilvusIndex.get(self._settings.index, key, self.passages, encoder, progress=progress.update)

            def build(folder: Path) -> None:
                dense.DenseIndex.build(self.passages, folder, encoder, progress=progress.update)

            return dense.DenseIndex.open(self._get(key, build), encoder)


@contextmanager
def _announced(what: str) -> Iterator[None]:
    """Say on stderr what takes long, and then how long it took; what is done at once goes without a word."""
    started = time.monotonic()
    word = threading.Timer(_LONG, print, (f"{what} ...",), {"file": sys.stderr, "flush": True})
    word.daemon = True
    word.start()
    try:
        yield
    finally:
        word.cancel()
    if (seconds := time.monotonic() - started) > _LONG:
        print(f"{what}: {seconds:.1f} s, kept for later runs", file=sys.stderr, flush=True)
