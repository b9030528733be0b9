"""BM25 of `quadrag.baselines.retrieval.bm25` beside rank_bm25, on the real CRUD-RAG corpus and its real events.

Both get the same chunks (128 characters, nothing stripped), the same terms and the same queries. What is printed: the
seconds to cut the corpus into terms and to index them, the queries a second at top-8, and how both and the peak memory
grow from an eighth of the corpus to all of it. rank_bm25 scores every passage for every query in Python, so that it is
asked only a few; its rate is per query.

    pip install rank_bm25 numba
    python benchmarks/bm25.py REAL/CRUD_RAG
    python benchmarks/bm25.py REAL/CRUD_RAG --fraction 0.05     # a quick look; the ratios are those of a small corpus
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from measuring import apart, exponent, peak, processor, table, timed

from quadrag.baselines.core.document import Document
from quadrag.baselines.retrieval import bm25
from quadrag.baselines.retrieval.bm25 import Bm25Index
from quadrag.baselines.retrieval.chunk import Chunking
from quadrag.baselines.retrieval.passages import PassageStore
from quadrag.baselines.retrieval.terms import analyser, count
from quadrag.data.builders import open_builder, rows

K = 8
ALL = 397_917  # chunks of the 36 files of the real data
NEVER = 10**18


def cut(corpus: str, folder: Path, fraction: float) -> int:
    """Write the first part of the corpus as a passage store, and return its number of chunks."""
    builder, _ = open_builder("crud_rag", "corpus", corpus)
    documents = [Document(row["id"], "", row["body"]) for row in rows(builder, "corpus")]
    return len(PassageStore.build(documents[: round(len(documents) * fraction)], folder, Chunking(sentences=False)))


def part(store: Path, folder: Path, size: int) -> None:
    """Write the first `size` chunks of a store as a store of their own."""
    texts = PassageStore.open(store).texts(0, size)
    PassageStore.build((Document(str(n), "", text) for n, text in enumerate(texts)), folder, Chunking(10**6))


# Ours


def build(store: Path, folder: Path, terms: str, workers: int) -> dict[str, float]:
    """Build an index; seconds to count terms, to lay out and save the scores, and the peak memory."""
    passages = PassageStore.open(store)
    used = processor()
    with peak() as memory:
        counting, blocks = timed(lambda: list(count(passages, terms, workers)))
        indexing, _ = timed(lambda: bm25._save(blocks, folder, terms))
    return {"terms": counting, "index": indexing, "memory": memory[0], "processor": processor() - used}


def search(folder: Path, queries: list[str], compiled: bool, rounds: int) -> dict[str, float]:
    """Search with one thread; seconds to open and to compile, and the median rate of warm rounds."""
    bm25._WORTH_COMPILING = 0 if compiled else NEVER
    index = Bm25Index.open(folder)
    first, _ = timed(lambda: index.search(queries[:1], K))
    index.search(queries, K)
    seconds = [timed(lambda: index.search(queries, K))[0] for _ in range(rounds)]
    return {
        "first": first,
        "rate": len(queries) / statistics.median(seconds),
        "best": len(queries) / min(seconds),
        "worst": len(queries) / max(seconds),
    }


# The peer


def peer(store: Path, terms: str, queries: list[str]) -> dict[str, float]:
    """Let rank_bm25 do the same; seconds to cut into terms, to index, and its rate at top-8."""
    from rank_bm25 import BM25Okapi

    analyse = analyser(terms)
    texts = list(PassageStore.open(store).texts())
    used = processor()
    cutting, corpus = timed(lambda: [analyse(text) for text in texts])
    indexing, index = timed(lambda: BM25Okapi(corpus, k1=1.2, b=0.75))

    used = processor() - used

    def best(query: str) -> Any:
        scores = index.get_scores(analyse(query))
        return np.argsort(scores)[::-1][:K]

    gc.collect()
    best(queries[0])
    seconds, _ = timed(lambda: [best(query) for query in queries])
    return {"terms": cutting, "index": indexing, "rate": len(queries) / seconds, "processor": used}


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
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("store", "eighth", "quarter", "half"):
            (root / name).mkdir()
        chunks = apart(cut, options.corpus, root / "store", options.fraction)
        note = "" if chunks == ALL else f", not the {ALL:,} of the whole"
        print(f"{chunks:,} chunks of 128 characters{note}; {len(queries)} queries, top-{K}")
        parts = {"eighth": chunks // 8, "quarter": chunks // 4, "half": chunks // 2, "store": chunks}
        for name, size in list(parts.items())[:-1]:
            apart(part, root / "store", root / name, size)

        building, searching, growing = [], [], []
        for terms in options.terms:
            theirs = apart(peer, root / "store", terms, queries[: options.peer_queries])
            ours: dict[str, dict[str, float]] = {}
            for name in parts:
                place = root / f"{terms}-{name}"
                place.mkdir()
                ours[name] = apart(build, root / name, place, terms, 2)
                ours[name] |= apart(search, place, queries, True, options.rounds)
            place = root / f"{terms}-alone"
            place.mkdir()
            alone = apart(build, root / "store", place, terms, 0)
            plain = apart(search, place, queries, False, options.rounds)
            whole = ours["store"]
            for who, cost in (("rank_bm25", theirs), ("quadrag, no workers", alone), ("quadrag, 2 workers", whole)):
                cells = [cost["terms"], cost["index"], cost["terms"] + cost["index"]]
                its = [theirs["terms"], theirs["index"], theirs["terms"] + theirs["index"]]
                ratios = [f"{cell / one:.2f}" for cell, one in zip(cells[1:], its[1:], strict=True)]
                cells.append(cost["processor"])
                building.append([terms, who, *(f"{cell:.1f}" for cell in cells), *ratios])
            for who, cost in (("rank_bm25", theirs), ("quadrag, numpy", plain), ("quadrag, numba warm", whole)):
                spread = f"{cost['worst']:.0f} to {cost['best']:.0f}" if "best" in cost else ""
                first = f"{cost['first']:.2f}" if "first" in cost else ""
                ratio = f"{cost['rate'] / theirs['rate']:.0f}"
                searching.append([terms, who, f"{cost['rate']:.4g}", spread, ratio, first])
            sizes = list(parts.values())
            for what in ("terms", "index", "query", "memory"):
                if what == "query":
                    costs = [1000 / ours[name]["rate"] for name in parts]
                else:
                    costs = [ours[name][what] for name in parts]
                growing.append([terms, what, *(f"{cost:.2f}" for cost in costs), exponent(sizes, costs)])
    table(
        ["terms", "seconds", "to cut", "to index", "both", "of a processor", "index to peer", "both to peer"], building
    )
    table(["terms", "queries a second", "median", "rounds", "to peer", "first, s"], searching)
    units = {"terms": "to cut, s", "index": "to index, s", "query": "a query, ms", "memory": "peak memory, GB"}
    growing = [[terms, units[what], *rest] for terms, what, *rest in growing]
    table(["terms", "cost", *(f"{size:,}" for size in parts.values()), "exponent"], growing)


if __name__ == "__main__":
    main()
