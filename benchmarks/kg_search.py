"""Fuzzy search of CRAG's graph beside rank_bm25, over made names.

Both get the same names and queries, drawn with a named seed: words spread as unevenly as Zipf's law has it, "the" and
"of" among them; three of four queries are names, the others two names and common words. Every score of rank_bm25 is
compared with ours, bit by bit. It does not measure whether the names found are the right ones.

    pip install rank_bm25
    python benchmarks/kg_search.py
    python benchmarks/kg_search.py --names 30000 --queries 200     # a quick look
"""

from __future__ import annotations

import random
import sqlite3
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from measuring import apart, options_of, table, timed

from quadrag.baselines.crag.kg.search import Search, terms, write

Found = tuple[list[float], list[list[tuple[int, float]]]]  # milliseconds a query, and the hits


def made_names(count: int) -> list[str]:
    draw = random.Random(2333)
    words = max(count // 2, 2)
    names = []
    for _ in range(count):
        parts = [f"w{int(words ** draw.random())}" for _ in range(draw.choice((1, 2, 2, 2, 3, 3, 4, 5)))]
        names.append(" ".join(["the"] * (draw.random() < 0.25) + parts + ["of"] * (draw.random() < 0.15)))
    return names


def made_queries(names: list[str], count: int) -> list[str]:
    draw = random.Random(2334)
    name = draw.choice
    return [name(names) if draw.random() < 0.75 else f"the {name(names)} of {name(names)}" for _ in range(count)]


def ours(path: Path, queries: list[str]) -> Found:
    index = Search(sqlite3.connect(path), "names")
    for query in queries[:20]:
        index.find(query)
    cost, hits = zip(*(timed(index.find, query) for query in queries), strict=True)
    return [1000 * seconds for seconds in cost], list(hits)


def theirs(names: list[str], queries: list[str]) -> Found:
    """Only what upstream does is timed; then equal scores are put in our order."""
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([terms(name) for name in names])

    def find(query: str) -> Any:
        scores = index.get_scores(terms(query))
        np.argsort(scores)[::-1][:10]
        return scores

    cost, hits = [], []
    for query in queries:
        seconds, scores = timed(find, query)
        near = np.flatnonzero(scores >= max(np.partition(scores, -10)[-10], np.finfo(float).tiny))
        best = sorted(near.tolist(), key=lambda i: (-scores[i], -i))[:10]
        cost.append(1000 * seconds)
        hits.append([(i, float(scores[i])) for i in best])
    return cost, hits


def main() -> None:
    options = options_of(__doc__, names=300_000, queries=50).parse_args()
    names = made_names(options.names)
    queries = made_queries(names, options.queries)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "names.sqlite"
        with sqlite3.connect(path) as connection:
            write(connection, "names", names)
        cost, found = apart(ours, path, queries)
    peer, expected = apart(theirs, names, queries)
    body = []
    for who, each in (("rank_bm25", peer), ("quadrag", cost)):
        mean = statistics.mean(each)
        body.append([who, f"{mean:.2f}", f"{np.percentile(each, 99):.2f}", f"{statistics.mean(peer) / mean:.0f}"])
    print(table("who | mean, ms | p99, ms | times as fast", body))
    equal = sum(a == b for a, b in zip(found, expected, strict=True))
    print(f"\nnames, order and scores equal to the bit: {equal:,} of {len(queries):,} queries")


if __name__ == "__main__":
    main()
