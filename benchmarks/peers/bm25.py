"""Passages found by BM25: characters are terms, so that no cutting is measured."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from peers.peer import OURS, Given, Peer

K = 8


def by_quadrag(given: Given) -> Callable[[], Any]:
    from quadrag.benchmark import Document
    from quadrag.retrieval.bm25 import build_index, open_index
    from quadrag.retrieval.chunk import Chunking
    from quadrag.retrieval.passages import PassageStore

    folder = Path(tempfile.mkdtemp())

    def do() -> list[list[int]]:
        documents = (Document(str(n), "", text) for n, text in enumerate(given["passages"]))
        store = PassageStore.build(documents, folder, Chunking(10**6))
        build_index(store, folder, "unigram")
        return [[row for row, _ in hits] for hits in open_index(folder, "unigram")(given["queries"], K)]

    return do


def terms(texts: list[str]) -> list[list[str]]:
    from quadrag.retrieval.terms import analyser

    return list(map(analyser("unigram"), texts))


def by_bm25s(given: Given) -> Callable[[], Any]:
    import bm25s

    def do() -> list[list[int]]:
        index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        index.index(terms(given["passages"]), show_progress=False)
        return index.retrieve(terms(given["queries"]), k=K, show_progress=False)[0].tolist()

    return do


def by_rank_bm25(given: Given) -> Callable[[], Any]:
    from rank_bm25 import BM25Okapi

    def do() -> list[list[int]]:
        index = BM25Okapi(terms(given["passages"]))
        scores = [index.get_scores(query) for query in terms(given["queries"])]
        return [sorted(range(len(one)), key=lambda row: (-one[row], row))[:K] for one in scores]

    return do


PEERS = (
    Peer(OURS, by_quadrag),
    Peer("bm25s", by_bm25s, ("bm25s",)),
    Peer("rank_bm25", by_rank_bm25, ("rank_bm25",)),
)
