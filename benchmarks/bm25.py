"""BM25 beside bm25s, on the real CRUD-RAG corpus and its real events, in one thread each, each in a fresh process.

Both get the same chunks of 128 characters, the same terms and the same queries; to build counts the terms too. Quality
is not measured.

    python benchmarks/bm25.py REAL/CRUD_RAG --fraction 0.25
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measuring import apart, options_of, peak, table, timed

from quadrag.benchmark import Document
from quadrag.data.builders import open_builder, rows
from quadrag.retrieval.bm25 import analyser, build_index, open_index
from quadrag.retrieval.chunk import Chunking
from quadrag.retrieval.passages import PassageStore

K = 8


def cut(corpus: str, folder: str, fraction: float) -> int:
    builder, _ = open_builder("crud_rag", "corpus", corpus)
    documents = [Document(row["id"], "", row["body"]) for row in rows(builder, "corpus")]
    return len(PassageStore.build(documents[: round(len(documents) * fraction)], Path(folder), Chunking()))


def ours(store: PassageStore, terms: str) -> Callable[[list[str]], Any]:
    with tempfile.TemporaryDirectory() as folder:
        build_index(store, Path(folder), terms)
        rank = open_index(Path(folder), terms)
    return lambda queries: rank(queries, K)


def theirs(store: PassageStore, terms: str) -> Callable[[list[str]], Any]:
    import bm25s

    analyse, index = analyser(terms), bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numpy")
    index.index([analyse(text) for block in store.blocks() for text in block], show_progress=False)
    return lambda queries: index.retrieve([analyse(query) for query in queries], k=K, show_progress=False, n_threads=0)


def measure(build: Callable[..., Any], folder: str, terms: str, queries: list[str]) -> tuple[float, float, float]:
    """Return the seconds to build, those to search, and the peak memory in GB."""
    building, search = timed(build, PassageStore(Path(folder)), terms)
    searching = min(timed(search, queries)[0] for _ in range(3))
    return building, searching, peak()


if __name__ == "__main__":
    parser = options_of(__doc__, fraction=1.0)
    parser.add_argument("corpus", help="the root of a CRUD_RAG checkout, with the corpus and its splits")
    options = parser.parse_args()
    (splits, *_) = sorted(Path(options.corpus).rglob("split_merged.json"))
    queries = [row["event"] for row in json.loads(splits.read_text(encoding="utf-8"))["event_summary"]]
    body = []
    with tempfile.TemporaryDirectory() as folder:
        print(f"{apart(cut, options.corpus, folder, options.fraction):,} chunks; {len(queries)} queries, top-{K}\n")
        for terms in ("jieba", "unigram"):
            own, peer = (apart(measure, build, folder, terms, queries) for build in (ours, theirs))
            body.append([terms, *(f"{a:.1f} / {b:.1f} ({b / a:.2f})" for a, b in zip(own, peer, strict=True))])
    print(table("terms | to build, s, quadrag / bm25s (peer to ours) | to search, s | memory, GB", body))
