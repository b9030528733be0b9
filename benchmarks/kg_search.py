"""Fuzzy search of CRAG's graph beside rank_bm25, over made names.

Both get the same names and queries, drawn with a named seed: words spread as unevenly as Zipf's law has it, "the" and
"of" among them; three of four queries are names, the others two names and common words. Every score of rank_bm25 is
compared with ours, bit by bit. It does not measure whether the names found are the right ones.

    pip install rank_bm25
    python benchmarks/kg_search.py
    python benchmarks/kg_search.py --names 30000 --queries 200     # a quick look
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from measuring import apart, table

from quadrag.baselines.crag.kg.search import Search, terms, write

Hits = list[tuple[int, float]]


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
    one = draw.choice
    return [one(names) if draw.random() < 0.75 else f"the {one(names)} of {one(names)}" for _ in range(count)]


def timed(find: Any, queries: list[str]) -> tuple[list[float], list[Any]]:
    """Milliseconds a query, and the results."""
    cost, results = [], []
    for query in queries:
        started = time.perf_counter()
        results.append(find(query))
        cost.append((time.perf_counter() - started) * 1000)
    return cost, results


def ours(path: Path, queries: list[str]) -> tuple[list[float], list[Hits]]:
    index = Search(sqlite3.connect(path), "names")
    timed(index.find, queries[:20])
    return timed(index.find, queries)


def theirs(names: list[str], queries: list[str]) -> tuple[list[float], list[Hits]]:
    """Only what upstream does is timed; then equal scores are put in our order."""
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([terms(name) for name in names])

    def find(query: str) -> Any:
        scores = index.get_scores(terms(query))
        np.argsort(scores)[::-1][:10]
        return scores

    cost, results = [], []
    for query in queries:
        (milliseconds,), (scores,) = timed(find, [query])
        near = np.flatnonzero(scores >= max(np.partition(scores, -10)[-10], np.finfo(float).tiny))
        best = sorted(near.tolist(), key=lambda i: (-scores[i], -i))[:10]
        cost.append(milliseconds)
        results.append([(i, float(scores[i])) for i in best])
    return cost, results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", type=int, default=300_000)
    parser.add_argument("--queries", type=int, default=50)
    options = parser.parse_args()
    names = made_names(options.names)
    queries = made_queries(names, options.queries)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "names.sqlite"
        with sqlite3.connect(path) as connection:
            write(connection, "names", names)
        cost, found = apart(ours, path, queries)
    peer, expected = apart(theirs, names, queries)
    means = [statistics.mean(peer), statistics.mean(cost)]
    body = [
        [who, f"{mean:.2f}", f"{np.percentile(all_of, 99):.2f}", f"{means[0] / mean:.0f}"]
        for who, mean, all_of in zip(("rank_bm25", "quadrag"), means, (peer, cost), strict=True)
    ]
    table(["who", "mean, ms", "p99, ms", "times as fast"], body)
    equal = sum(a == b for a, b in zip(found, expected, strict=True))
    print(f"\nnames, order and scores equal to the bit: {equal:,} of {len(queries):,} queries")


if __name__ == "__main__":
    main()
