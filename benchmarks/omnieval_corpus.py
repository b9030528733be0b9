"""OmniEval's corpus at its full size, made: 362,558 nodes read by the dataset script, indexed for BM25, searched.

The real one is gated; `made/omnieval.py` says how this one is made. Every step runs in a process of its own, whose peak
is the kernel's (ru_maxrss, pages of mapped files included). The peer, bm25s used plainly on the same terms, gets a
quarter of the nodes, since it keeps the terms of all as Python lists; its best scores are held against ours. Dense
search and its peers are `dense_search.py`'s. It does not measure quality. It takes 5 GB of the disk of temporary files,
and 3 of memory.

    python benchmarks/omnieval_corpus.py
    python benchmarks/omnieval_corpus.py --text REAL/CRUD_RAG --parts bm25
    python benchmarks/omnieval_corpus.py --nodes 20000 --parts encoder      # needs torch; its nodes are the whole's
    python benchmarks/omnieval_corpus.py --nodes 20000      # a quick look
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bm25
import dense_search
import numpy as np
from made.omnieval import ALL, SEED, make
from measuring import apart, exponent, processor, table, timed

from quadrag import catalogue
from quadrag.baselines.core.settings import WHOLE
from quadrag.baselines.omnieval.benchmark import BENCHMARK
from quadrag.baselines.retrieval.bm25 import K1, METHOD, B, Bm25Index
from quadrag.baselines.retrieval.chunk import Chunking
from quadrag.baselines.retrieval.passages import FILE, PassageStore
from quadrag.baselines.retrieval.terms import analyser
from quadrag.data import builders

CORPUS = BENCHMARK.corpus
K = BENCHMARK.retrieval.top_k
PARTS = {"quarter": 4, "half": 2, "all": 1}


# Reading it


def peaks() -> dict[str, float]:
    """Return the most memory, in GB, that this process had, and the largest of those that it started."""
    who = {"peak": resource.RUSAGE_SELF, "worker": resource.RUSAGE_CHILDREN}
    return {name: resource.getrusage(each).ru_maxrss * 1024 / 1e9 for name, each in who.items()}


def plain(folder: Path) -> int:
    """The peer of reading: each line through json alone."""
    with next(folder.rglob("corpus.jsonl")).open(encoding="utf-8") as file:
        return sum(len(json.loads(line)["contents"]) for line in file)


def stream(folder: Path) -> int:
    """Read the config `corpus` as `load_dataset(..., streaming=True)` does."""
    builder = catalogue.builder_class("omnieval")(config_name="corpus")
    builders.point_to(builder, folder)
    return sum(len(row["contents"]) for row in builder.as_streaming_dataset(split="corpus"))


def store(folder: Path) -> int:
    """Write the passage store as the baseline does."""
    builder, _ = builders.open_builder("omnieval", CORPUS.config, str(folder))
    documents = map(CORPUS.document, builders.rows(builder, CORPUS.config))
    (folder / "all").mkdir()
    return len(PassageStore.build(documents, folder / "all", Chunking(WHOLE)))


def measured(function: Callable[..., int], folder: Path) -> dict[str, float]:
    used = processor()
    seconds, result = timed(lambda: function(folder))
    return {"seconds": seconds, "processor": processor() - used, "result": result, **peaks()}


# BM25


def build(passages: Path, folder: Path, terms: str) -> dict[str, float]:
    """Build as `Bm25Index.build` does, with the workers that it chooses."""
    folder.mkdir()
    cost = bm25.build(passages, folder, terms, None)
    disk = sum(path.stat().st_size for path in folder.iterdir()) / 1e9
    return cost | peaks() | {"disk": disk}


def search(folder: Path, queries: list[str], compiled: bool, rounds: int) -> dict[str, float]:
    bm25.K = K
    return bm25.search(folder, queries, compiled, rounds) | peaks()


def hits(folder: Path, queries: list[str]) -> list[list[tuple[int, float]]]:
    return Bm25Index.open(folder).search(queries, K)


def peer(passages: Path, terms: str, queries: list[str], rounds: int) -> dict[str, Any]:
    """Let bm25s do the same as its README shows: lists of terms in, the best out."""
    import bm25s

    analyse = analyser(terms)
    texts = PassageStore.open(passages).texts()
    used = processor()
    cutting, corpus = timed(lambda: [analyse(text) for text in texts])
    index = bm25s.BM25(k1=K1, b=B, method=METHOD, backend="numpy")
    indexing, _ = timed(lambda: index.index(corpus, show_progress=False))
    used = processor() - used

    def best() -> Any:
        asked = [analyse(query) for query in queries]
        return index.retrieve(asked, k=K, show_progress=False, n_threads=0).scores

    scores = best()
    rates = [len(queries) / timed(best)[0] for _ in range(rounds)]
    cost = {"terms": cutting, "index": indexing, "processor": used}
    cost |= {"rate": statistics.median(rates), "best": max(rates), "worst": min(rates)}
    return cost | peaks() | {"scores": scores}


def reading(root: Path, nodes: int, characters: int) -> None:
    ways = {"json alone, line by line": plain, "`omnieval` corpus, streaming": stream, "to a passage store": store}
    found = [apart(measured, function, root) for function in ways.values()]
    assert [cost["result"] for cost in found] == [characters, characters, nodes]
    body = []
    for way, cost in zip(ways, found, strict=True):
        ratio = cost["processor"] / found[0]["processor"]
        body.append([way, *(f"{cost[what]:.1f}" for what in ("seconds", "processor")), f"{ratio:.1f}"])
        body[-1].append(f"{cost['peak']:.2f}")
    table(["way", "s", "of a processor", "to json alone", "peak, GB"], body)
    print(f"\nthe passage store: {(root / 'all' / FILE).stat().st_size / 1e6:.0f} MB", flush=True)


def spread(cost: dict[str, float]) -> str:
    return f"{cost['worst']:.0f} to {cost['best']:.0f}"


def say(words: str) -> None:
    """Tell on stderr how far a long run is."""
    print(words, file=sys.stderr, flush=True)


def indexing(root: Path, nodes: int, options: argparse.Namespace) -> None:
    asked = json.loads((root / "queries.json").read_text(encoding="utf-8"))
    queries = [query for query, _ in asked]
    counts = {name: nodes // share for name, share in PARTS.items()}
    for name in list(PARTS)[:-1]:
        (root / name).mkdir()
        apart(bm25.part, root / "all", root / name, counts[name])
    growing, beside, rates = [], [], []
    for terms in options.terms:
        ours = {}
        for name in PARTS:
            place = root / f"{terms}-{name}"
            ours[name] = apart(build, root / name, place, terms)
            ours[name] |= {"rate": apart(search, place, queries, True, options.rounds)["rate"]}
            cost = ours[name]
            say(f"{terms}, {counts[name]:,}: {cost['terms']:.0f} s to cut, {cost['index']:.0f} s to index")
        theirs = apart(peer, root / "quarter", terms, queries, options.rounds)
        line = ["bm25s, numpy", f"{theirs['rate']:.0f}", spread(theirs), "1", f"{theirs['peak']:.2f}"]
        rates.append([terms, f"{counts['quarter']:,}", *line])
        for name, how in (("quarter", "numpy"), ("quarter", "numba warm"), ("all", "numpy"), ("all", "numba warm")):
            cost = apart(search, root / f"{terms}-{name}", queries, how != "numpy", options.rounds)
            ratio = f"{cost['rate'] / theirs['rate']:.1f}" if name == "quarter" else ""
            line = [f"quadrag, {how}", f"{cost['rate']:.0f}", spread(cost), ratio, f"{cost['peak']:.2f}"]
            rates.append([terms, f"{counts[name]:,}", *line])
        found = apart(hits, root / f"{terms}-all", queries)
        own = sum(row in [each for each, _ in best] for (_, row), best in zip(asked, found, strict=True))
        print(f"\n{terms}: {own} of {len(asked)} queries find the node they were cut from among the first {K}")
        costs = {
            "to cut, s": lambda cost: cost["terms"],
            "to index, s": lambda cost: cost["index"],
            "both, seconds of a processor": lambda cost: cost["processor"],
            "a query, ms": lambda cost: 1000 / cost["rate"],
            "peak of the process, GB": lambda cost: cost["peak"],
            "peak of a worker, GB": lambda cost: cost["worker"],
            "all processes at once, GB": lambda cost: cost["memory"],
            "index on disk, GB": lambda cost: cost["disk"],
        }
        for what, of in costs.items():
            values = [of(cost) for cost in ours.values()]
            power = exponent(list(counts.values()), values) if all(values) else ""
            growing.append([terms, what, *(f"{value:.2f}" for value in values), power])
        for best, scores in zip(apart(hits, root / f"{terms}-quarter", queries), theirs["scores"], strict=True):
            assert np.allclose([score for _, score in best], scores[: len(best)], rtol=1e-5)
        for who, cost in (("bm25s", theirs), ("quadrag", ours["quarter"])):
            both, its = cost["terms"] + cost["index"], theirs["terms"] + theirs["index"]
            cells = [cost["terms"], cost["index"], both, cost["processor"]]
            ratios = [both / its, cost["processor"] / theirs["processor"]]
            beside.append([terms, who, *(f"{cell:.1f}" for cell in cells), *(f"{ratio:.2f}" for ratio in ratios)])
            beside[-1].append(f"{cost['peak'] if who == 'bm25s' else cost['memory']:.2f}")
    table(["terms", "cost", *(f"{count:,}" for count in counts.values()), "exponent"], growing)
    table(["terms", "nodes", "", "queries a second", "rounds", "to peer", "peak, GB"], rates)
    print(f"\nbeside bm25s on {counts['quarter']:,} nodes")
    head = ["terms", "", "to cut, s", "to index, s", "both, s", "of a processor", "both to peer", "processor to peer"]
    table([*head, "memory, GB"], beside)


def encode(passages: Path, name: str, texts: int) -> None:
    """Time an encoder on nodes drawn from all, and say what all would take: as many of each length, at this rate."""
    from quadrag.baselines.retrieval.encoder import Encoder

    found = PassageStore.open(passages)
    rows = random.Random(SEED + 3).sample(range(len(found)), min(texts, len(found)))
    nodes = [found[row].text for row in sorted(rows)]
    encoder = Encoder(name)
    encoder.documents(nodes[:64])
    seconds, _ = timed(lambda: encoder.documents(nodes))
    rate = len(nodes) / seconds
    print(
        f"\n{name}: {len(nodes):,} nodes of {sum(map(len, nodes)) / len(nodes):.0f} characters, {rate:.1f} a second; "
        f"{ALL:,} would take {ALL / rate / 3600:.1f} hours; peak {peaks()['peak']:.2f} GB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=ALL, help="fewer for a quick look")
    parser.add_argument("--text", metavar="FOLDER", help="a CRUD_RAG checkout whose news the nodes are cut from")
    parser.add_argument("--parts", nargs="+", default=["bm25", "dense"], choices=["bm25", "dense", "encoder"])
    parser.add_argument("--terms", nargs="+", default=["unigram", "rjieba"], choices=["jieba", "rjieba", "unigram"])
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--encoder", default="all-MiniLM-L6-v2")
    parser.add_argument("--texts", type=int, default=2000, help="nodes that the encoder is timed on")
    options = parser.parse_args()

    began = time.perf_counter()
    print(f"load average {', '.join(f'{load:.1f}' for load in os.getloadavg())}")
    with tempfile.TemporaryDirectory(prefix="quadrag-bench-") as folder:
        root = Path(folder)
        os.environ |= {"HF_HOME": str(root / "hf"), "HF_HUB_OFFLINE": "1"}
        made = apart(make, root, options.nodes, options.text, options.queries)
        kind = "news" if options.text else "words of jieba's dictionary"
        of_all = "" if options.nodes == ALL else f" of {ALL:,}"
        print(f"{options.nodes:,}{of_all} nodes, {made['characters']:,} characters of {kind}, seed {SEED};", end=" ")
        print(f"corpus.jsonl of {made['bytes'] / 1e6:.0f} MB, made in {made['seconds']:.0f} s", flush=True)
        reading(root, options.nodes, made["characters"])
        if "bm25" in options.parts:
            indexing(root, options.nodes, options)
        if "encoder" in options.parts:
            apart(encode, root / "all", options.encoder, options.texts)
    if "dense" in options.parts:
        print(flush=True)
        shapes = {"passages": options.nodes, "dimension": 768, "queries": options.queries, "top_k": K}
        apart(dense_search.search, argparse.Namespace(**shapes, rounds=options.rounds))
    print(f"\nload average {os.getloadavg()[0]:.1f}; {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
