"""BM25 of `quadrag.baselines.retrieval.bm25` beside rank_bm25, on the real CRUD-RAG corpus and its real events.

Both get the same chunks (128 characters, nothing stripped), the same terms and the same queries. What is printed: the
seconds to cut the corpus into terms and to index them, the queries a second at top-8, and how both and the peak memory
grow from an eighth of the corpus to all of it. rank_bm25 scores every passage for every query in Python, so that it is
asked only a few; its rate is per query. It does not measure quality: see `retrieval_quality.py`.

With `--passages N` no corpus is read and no peer is asked: N passages of 128 characters are made, of words drawn as
often as jieba's dictionary has them, and indexed in shards. What is printed: seconds, peak memory, disk, milliseconds a
query.

    pip install rank_bm25 numba
    python benchmarks/bm25.py REAL/CRUD_RAG
    python benchmarks/bm25.py REAL/CRUD_RAG --fraction 0.05     # a quick look; the ratios are those of a small corpus
    python benchmarks/bm25.py --passages 1000000 --compare      # and once more as one shard: the same must be found
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import tempfile
from collections.abc import Iterator
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


# Many passages


def drawn(documents: int, seed: int) -> Iterator[str]:
    """Yield texts of 768 characters, six passages each: words and marks, as often as jieba's dictionary has them."""
    import jieba

    with jieba.Tokenizer().get_dict_file() as file:
        lines = [line.decode().split() for line in file]
    words = [*(word for word, *_ in lines), "，", "。"]
    weights = np.array([int(line[1]) for line in lines], float)
    upto = np.cumsum([*weights, weights.sum() * 0.08, weights.sum() * 0.04])
    draw = np.random.default_rng(seed)
    for _ in range(documents):
        text = ""
        while len(text) < 768:
            text += "".join(map(words.__getitem__, np.searchsorted(upto, draw.random(512) * upto[-1]).tolist()))
        yield text[:768]


def make(folder: Path, passages: int) -> int:
    """Write made passages as a store, and return their number."""
    documents = (Document(str(n), "", text) for n, text in enumerate(drawn(-(-passages // 6), 1)))
    return len(PassageStore.build(documents, folder, Chunking(sentences=False)))


def index(store: Path, folder: Path, terms: str, whole: bool) -> dict[str, float]:
    """Build an index, with the workers that it takes itself; seconds, peak memory and what lies on the disk."""
    bm25._SHARD = NEVER if whole else bm25._SHARD
    used = processor()
    with peak() as memory:
        seconds, built = timed(lambda: Bm25Index.build(PassageStore.open(store), folder, terms))
    disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e9
    cost = {"seconds": seconds, "processor": processor() - used, "memory": memory[0], "own": memory[1]}
    return {**cost, "disk": disk, "shards": len(built._shards)}


def ask(folder: Path, queries: list[str]) -> tuple[dict[str, float], Any]:
    """Search with one thread, compiled; what it costs, the peak memory, and what is found."""
    with peak() as memory:
        cost = search(folder, queries, True, 3)
        found = Bm25Index.open(folder).search(queries, K)
    return {**cost, "memory": memory[0], "own": memory[1]}, found


def many(root: Path, passages: int, kinds: list[str], compare: bool) -> None:
    """Make passages, index them by each kind of terms, ask 60 queries, and print what it took."""
    (root / "store").mkdir()
    seconds, number = timed(lambda: apart(make, root / "store", passages))
    queries = [text[:40] for text in drawn(60, 2)]
    print(f"{number:,} passages of 128 characters, made and stored in {seconds:.0f} s; {len(queries)} queries, top-{K}")
    body = []
    for terms in kinds:
        results = []
        for whole in (False, True)[: 1 + compare]:
            place = root / f"{terms}-{whole}"
            place.mkdir()
            built = apart(index, root / "store", place, terms, whole)
            asked, found = apart(ask, place, queries)
            results.append(found)
            cells = [built["seconds"], built["processor"], built["memory"], built["own"], built["disk"]]
            cells += [1000 / asked["rate"], asked["memory"], asked["own"]]
            body.append([terms, f"{built['shards']}", *(f"{cell:.2f}" for cell in cells)])
        assert results[0] == results[-1], "one shard finds something else"
    head = ["terms", "shards", "to build, s", "of a processor", "peak, GB", "unmapped, GB", "disk, GB", "a query, ms"]
    table([*head, "peak, GB", "unmapped, GB"], body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", help="the root of a CRUD_RAG checkout, with the corpus and its splits")
    parser.add_argument("--passages", type=int, help="so many made passages, in place of a corpus")
    parser.add_argument("--compare", action="store_true", help="with --passages: with one shard too")
    parser.add_argument("--fraction", type=float, default=1.0, help="of the corpus, from its start")
    parser.add_argument("--terms", nargs="+", default=["jieba", "unigram"], choices=["jieba", "rjieba", "unigram"])
    parser.add_argument("--peer-queries", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if (options.corpus is None) == (options.passages is None):
        parser.error("expected a corpus or --passages")
    if options.passages:
        with tempfile.TemporaryDirectory() as folder:
            many(Path(folder), options.passages, options.terms, options.compare)
        return

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
