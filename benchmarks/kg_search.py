"""Fuzzy search of CRAG's graph beside rank_bm25, over made names; what a store costs to open, small and large.

Both get the same names and the same queries, and both give the best ten. Names and queries are drawn with a named seed:
words from a vocabulary half as large as the names are many, spread as unevenly as Zipf's law has it, "the" and "of"
among them; three of four queries are names, the others two names and common words, which is harder than what people
ask. Every score of rank_bm25 is compared with ours, bit by bit, on all queries; `--peers 2` shares the peer's out to
two processes after one alone has been timed. A store is opened in a fresh process: seconds, and what it takes of
memory, to open and to answer the first search. It does not measure whether the names found are the right ones.

    pip install rank_bm25
    python benchmarks/kg_search.py
    python benchmarks/kg_search.py --names 30000 --sizes 10000 --queries 200     # a quick look
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import random
import sqlite3
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from measuring import apart, resident, table

from quadrag.baselines.crag.kg.names import terms
from quadrag.baselines.crag.kg.search import Search, write

SEED = 2333
TIMED = 50  # queries that rank_bm25 is timed on, one process, nothing else running


def made_names(count: int) -> list[str]:
    draw = random.Random(SEED)
    words = max(count // 2, 2)

    def name() -> str:
        parts = [f"w{int(words ** draw.random())}" for _ in range(draw.choice((1, 2, 2, 2, 3, 3, 4, 5)))]
        if draw.random() < 0.25:
            parts.insert(0, "the")
        if draw.random() < 0.15:
            parts.insert(len(parts) // 2 + 1, "of")
        return " ".join(parts)

    return [name() for _ in range(count)]


def made_queries(names: list[str], count: int) -> list[str]:
    draw = random.Random(SEED + 1)
    return [
        draw.choice(names) if draw.random() < 0.75 else f"the {draw.choice(names)} of {draw.choice(names)}"
        for _ in range(count)
    ]


def ours(path: Path, queries: list[str]) -> tuple[list[float], list[list[tuple[int, float]]]]:
    """Milliseconds a query, and the results."""
    index = Search(sqlite3.connect(path), "names")
    for query in queries[:20]:
        index.find(query)
    cost, results = [], []
    for query in queries:
        started = time.perf_counter()
        results.append(index.find(query))
        cost.append((time.perf_counter() - started) * 1000)
    return cost, results


def theirs(names: list[str], queries: list[str]) -> tuple[list[float], list[list[tuple[int, float]]]]:
    """The same of rank_bm25; only what upstream does is timed, then equal scores are put in our order."""
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([terms(name) for name in names])
    gc.collect()
    gc.freeze()
    cost, results = [], []
    for query in queries:
        started = time.perf_counter()
        scores = index.get_scores(terms(query))
        np.argsort(scores)[::-1][:10]
        cost.append((time.perf_counter() - started) * 1000)
        near = np.flatnonzero(scores >= max(np.partition(scores, -10)[-10], np.finfo(float).tiny))
        best = sorted(near.tolist(), key=lambda i: (-scores[i], -i))[:10]
        results.append([(i, float(scores[i])) for i in best])
    return cost, results


def opened(path: Path, query: str) -> dict[str, float]:
    """What it costs to open a whole graph and to search it once; this process has only imported what that needs."""
    from quadrag.baselines.crag.kg.graph import Graph

    bare = resident(os.getpid()) * 1000
    started = time.perf_counter()
    graph = Graph(path)
    seconds = time.perf_counter() - started
    memory = resident(os.getpid()) * 1000
    started = time.perf_counter()
    graph.movie_get_person_info(query)
    first = time.perf_counter() - started
    return {"open": seconds, "first": first, "bare": bare, "opened": memory, "searched": resident(os.getpid()) * 1000}


def graph_of(names: list[str], folder: Path) -> Path:
    """A graph of made people, through upstream's format and `quadrag kg build`."""
    import json

    from quadrag.baselines.crag.kg.build import build

    source = folder / "source"
    (source / "movie").mkdir(parents=True)
    people = {f"{name} n{n}": {"name": name, "id": n, "birthday": None} for n, name in enumerate(names)}
    (source / "movie" / "person_db.json").write_text(json.dumps(people))
    build(source, folder / "kg.sqlite")
    return folder / "kg.sqlite"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", type=int, default=300_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--sizes", type=int, nargs="*", default=[100_000, 1_000_000], help="of the graphs to open")
    parser.add_argument(
        "--peers", type=int, default=1, help="processes that score the remaining queries for comparison"
    )
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        names = made_names(options.names)
        queries = made_queries(names, options.queries)
        with sqlite3.connect(folder / "names.sqlite") as connection:
            started = time.perf_counter()
            write(connection, "names", names)
        built = time.perf_counter() - started
        size = (folder / "names.sqlite").stat().st_size / 1e6
        asked = statistics.mean(len(terms(query)) for query in queries)
        print(
            f"{len(names):,} names, {len(queries):,} queries of {asked:.1f} terms, index {built:.1f} s, {size:.0f} MB"
        )

        cost, found = apart(ours, folder / "names.sqlite", queries)
        peer, expected = apart(theirs, names, queries[:TIMED])
        rest = queries[TIMED:]
        if rest:
            with ProcessPoolExecutor(options.peers, multiprocessing.get_context("spawn")) as pool:
                shares = [rest[n :: options.peers] for n in range(options.peers)]
                done = list(pool.map(theirs, [names] * options.peers, shares))
            others: list[Any] = [None] * len(rest)
            for n, (_, results) in enumerate(done):
                others[n :: options.peers] = results
            expected += others
        equal = sum(a == b for a, b in zip(found, expected, strict=True))
        same = statistics.mean(cost[: len(peer)])
        body = [
            ["rank_bm25", str(len(peer)), f"{statistics.mean(peer):.0f}", f"{np.percentile(peer, 99):.0f}", "1"],
            ["quadrag", str(len(peer)), f"{same:.2f}", "", f"{statistics.mean(peer) / same:.0f}"],
            ["quadrag", str(len(cost)), f"{statistics.mean(cost):.2f}", f"{np.percentile(cost, 99):.2f}", ""],
        ]
        table(["who", "queries", "mean, ms", "p99, ms", "times as fast"], body)
        print(f"\nnames, order and scores equal to the bit: {equal:,} of {len(queries):,} queries")

        body = []
        for count in options.sizes:
            (folder / str(count)).mkdir()
            path = apart(graph_of, made_names(count), folder / str(count))
            costs = apart(opened, path, "the w5 of w700")
            cells = [costs["open"], costs["first"], costs["bare"], costs["opened"], costs["searched"]]
            body.append([f"{count:,}", f"{path.stat().st_size / 1e6:.0f}", *(f"{cell:.4g}" for cell in cells)])
        if body:
            memory = ["before, MB", "opened, MB", "searched, MB"]
            table(["entities", "file, MB", "to open, s", "first search, s", *memory], body)


if __name__ == "__main__":
    main()
