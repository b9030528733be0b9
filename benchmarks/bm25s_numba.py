"""BM25 queries beside bm25s' own compiled code: the same index, terms and events, one thread each, rounds by turns.

What is printed for each kind of terms: milliseconds of a processor a query for both, cutting the queries into terms
included, and the ratio of each round. The best scores must be equal to 1e-5: bm25s adds in another order.

    pip install numba
    python benchmarks/bm25s_numba.py REAL/CRUD_RAG
    python benchmarks/bm25s_numba.py REAL/CRUD_RAG --fraction 0.05     # a quick look
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from bm25 import K, cut
from measuring import apart

from quadrag.baselines.retrieval import bm25
from quadrag.baselines.retrieval.passages import PassageStore


def processor(function: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    result = function()
    return time.process_time() - started, result


def compare(index: bm25.Bm25Index, queries: list[str], rounds: int) -> str:
    bm25._WORTH_COMPILING = 0
    peer = bm25s.BM25.load(index.folder / "0", mmap=True, load_vocab=False, backend="numba")
    peer.unique_token_ids_set = set(index._numbers.values())

    def theirs() -> Any:
        known = [[index._numbers[t] for t in index._analyse(query) if t in index._numbers] for query in queries]
        return peer.retrieve(known, k=K, n_threads=1, show_progress=False).scores

    def ours() -> list[list[float]]:
        return [[score for _, score in hits] for hits in index.search(queries, K)]

    np.testing.assert_allclose(ours(), theirs(), rtol=1e-5)
    pairs = [(processor(theirs)[0], processor(ours)[0]) for _ in range(rounds)]
    peers, own = (statistics.median(times) * 1000 / len(queries) for times in zip(*pairs, strict=True))
    ratios = sorted(one / other for one, other in pairs)
    return f"| {peers:.2f} | {own:.2f} | {statistics.median(ratios):.2f} | {ratios[0]:.2f} to {ratios[-1]:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", help="the root of a CRUD_RAG checkout, with the corpus and its splits")
    parser.add_argument("--fraction", type=float, default=1.0, help="of the corpus, from its start")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    bm25._SHARD = 10**18  # bm25s searches one index: one shard
    found = sorted(Path(options.corpus).rglob("split_merged.json"))[0]
    queries = [row["event"] for row in json.loads(found.read_text(encoding="utf-8"))["event_summary"]]
    with tempfile.TemporaryDirectory() as root:
        places = {name: Path(root, name) for name in ("store", "unigram", "rjieba")}
        for place in places.values():
            place.mkdir()
        print(f"{apart(cut, options.corpus, places['store'], options.fraction):,} chunks; top-{K}")
        print("| terms | bm25s, ms | quadrag, ms | ratio | rounds |\n|---|---|---|---|---|")
        store = PassageStore.open(places.pop("store"))
        for terms, place in places.items():
            index = bm25.Bm25Index.build(store, place, terms, workers=0)
            print(f"| {terms} {compare(index, queries[: options.queries], options.rounds)}", flush=True)


if __name__ == "__main__":
    main()
