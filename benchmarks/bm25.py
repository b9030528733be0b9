"""BM25 of `quadrag.retrieval.bm25` beside rank_bm25, on the real CRUD-RAG corpus and its real events.

Both get the same chunks (128 characters, nothing stripped), the same terms and the same queries. rank_bm25 scores every
passage for every query in Python, so that it is asked only a few; its rate is per query. Quality is not measured.

    pip install rank_bm25 numba
    python benchmarks/bm25.py REAL/CRUD_RAG
    python benchmarks/bm25.py REAL/CRUD_RAG --fraction 0.05     # a quick look; the ratios are those of a small corpus
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from measuring import apart, peak, table, timed

from quadrag.benchmark import Document
from quadrag.data.builders import open_builder, rows
from quadrag.retrieval import bm25
from quadrag.retrieval.bm25 import Bm25Index
from quadrag.retrieval.chunk import Chunking
from quadrag.retrieval.passages import PassageStore
from quadrag.retrieval.terms import analyser

K = 8


def cut(corpus: str, folder: Path, fraction: float) -> int:
    """Write the first part of the corpus as a passage store, and return its number of chunks."""
    builder, _ = open_builder("crud_rag", "corpus", corpus)
    documents = [Document(row["id"], "", row["body"]) for row in rows(builder, "corpus")]
    return len(PassageStore.build(documents[: round(len(documents) * fraction)], folder, Chunking(sentences=False)))


def ours(store: Path, folder: Path, terms: str, queries: list[str], rounds: int) -> dict[str, float]:
    """Build and search with one thread; seconds, queries a second without and with numba, and the peak memory."""
    with peak() as memory:
        building, index = timed(lambda: Bm25Index.build(PassageStore(store), folder, terms))
        rates = {}
        for name, worth in (("numpy", 10**18), ("numba", 0)):
            bm25._WORTH_COMPILING = worth
            index.search(queries, K)
            seconds = [timed(lambda: index.search(queries, K))[0] for _ in range(rounds)]
            rates[name] = len(queries) / statistics.median(seconds)
    return {"build": building, **rates, "memory": memory[0]}


def peer(store: Path, terms: str, queries: list[str]) -> dict[str, float]:
    """Let rank_bm25 do the same."""
    from rank_bm25 import BM25Okapi

    analyse = analyser(terms)
    texts = list(PassageStore(store).texts())
    building, index = timed(lambda: BM25Okapi([analyse(text) for text in texts], k1=1.2, b=0.75))

    def best(query: str) -> Any:
        return np.argsort(index.get_scores(analyse(query)))[::-1][:K]

    best(queries[0])
    seconds, _ = timed(lambda: [best(query) for query in queries])
    return {"build": building, "rate": len(queries) / seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", help="the root of a CRUD_RAG checkout, with the corpus and its splits")
    parser.add_argument("--fraction", type=float, default=1.0, help="of the corpus, from its start")
    parser.add_argument("--terms", nargs="+", default=["jieba", "unigram"], choices=["jieba", "rjieba", "unigram"])
    parser.add_argument("--peer-queries", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found = sorted(Path(options.corpus).rglob("split_merged.json"))
    queries = [row["event"] for row in json.loads(found[0].read_text(encoding="utf-8"))["event_summary"]]
    body = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "store").mkdir()
        chunks = apart(cut, options.corpus, root / "store", options.fraction)
        print(f"{chunks:,} chunks of 128 characters; {len(queries)} queries, top-{K}")
        for terms in options.terms:
            (root / terms).mkdir()
            theirs = apart(peer, root / "store", terms, queries[: options.peer_queries])
            mine = apart(ours, root / "store", root / terms, terms, queries, options.rounds)
            cells = [f"{theirs['build']:.1f}", f"{mine['build']:.1f}", f"{theirs['rate']:.3f}"]
            cells += [f"{mine[name]:.0f} ({mine[name] / theirs['rate']:,.0f})" for name in ("numpy", "numba")]
            body.append([terms, *cells, f"{mine['memory']:.2f}"])
    head = ["terms", "rank_bm25 built, s", "ours", "its queries a second", "ours, numpy (to it)", "numba", "memory, GB"]
    table(head, body)


if __name__ == "__main__":
    main()
