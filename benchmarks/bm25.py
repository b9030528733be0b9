"""BM25 beside bm25s, on the real CRUD-RAG corpus and its real events, in one thread each, each in a fresh process.

Both get the same chunks of 128 characters, the same terms and the same queries; to build counts the terms too. Quality
is not measured.

    python benchmarks/bm25.py REAL/CRUD_RAG --fraction 0.25
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measuring import apart, peak, table, timed

from quadrag.benchmark import Document
from quadrag.data.builders import open_builder, rows
from quadrag.retrieval.bm25 import build_index, open_index
from quadrag.retrieval.chunk import Chunking
from quadrag.retrieval.passages import PassageStore
from quadrag.retrieval.terms import analyser

K = 8


def cut(corpus: str, folder: Path, fraction: float) -> int:
    """Write the first part of the corpus as a passage store, and return its number of chunks."""
    builder, _ = open_builder("crud_rag", "corpus", corpus)
    documents = [Document(row["id"], "", row["body"]) for row in rows(builder, "corpus")]
    return len(PassageStore.build(documents[: round(len(documents) * fraction)], folder, Chunking()))


def ours(store: Path, terms: str) -> Callable[[list[str]], Any]:
    with tempfile.TemporaryDirectory() as folder:
        build_index(PassageStore(store), Path(folder), terms)
        rank = open_index(Path(folder), terms)
    return lambda queries: rank(queries, K)


def bm25s(store: Path, terms: str) -> Callable[[list[str]], Any]:
    from bm25s import BM25

    analyse, index = analyser(terms), BM25(method="lucene", k1=1.2, b=0.75, backend="numpy")
    index.index([analyse(text) for block in PassageStore(store).blocks() for text in block], show_progress=False)
    return lambda queries: index.retrieve([analyse(query) for query in queries], k=K, show_progress=False, n_threads=0)


def measure(build: Callable[..., Any], store: Path, terms: str, queries: list[str]) -> tuple[float, float, float]:
    """Return the seconds to build, those to search, and the peak memory in GB."""
    with peak() as memory:
        building, search = timed(lambda: build(store, terms))
        search(queries[:1])
        searching = min(timed(lambda: search(queries))[0] for _ in range(3))
    return building, searching, memory[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", help="the root of a CRUD_RAG checkout, with the corpus and its splits")
    parser.add_argument("--fraction", type=float, default=1.0, help="of the corpus, from its start")
    options = parser.parse_args()
    (splits, *_) = sorted(Path(options.corpus).rglob("split_merged.json"))
    queries = [row["event"] for row in json.loads(splits.read_text(encoding="utf-8"))["event_summary"]]
    body = []
    with tempfile.TemporaryDirectory() as folder:
        print(f"{apart(cut, options.corpus, Path(folder), options.fraction):,} chunks; {len(queries)} queries, top-{K}")
        for terms in ("jieba", "unigram"):
            own, peer = (apart(measure, build, Path(folder), terms, queries) for build in (ours, bm25s))
            cells = [f"{a:.1f} / {b:.1f} ({b / a:.2f})" for a, b in zip(own, peer, strict=True)]
            body.append([terms, *cells])
    table(["terms", "to build, s, quadrag / bm25s (peer to ours)", "to search, s", "memory, GB"], body)


if __name__ == "__main__":
    main()
