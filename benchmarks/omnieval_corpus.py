"""OmniEval's corpus at its full size, made: 362,558 nodes read by the dataset script, indexed for BM25, searched.

The real one is gated. This one has the paper's number of nodes and of characters for each of the six sources (Table 2,
`baselines/omnieval/published.csv`), both to the last one. What the table leaves open is assumed: its lengths are
characters; within a source they are log-normal (sigma 0.3); the sources are mixed at random, so that a quarter of the
file is a quarter of each. BSCF-PDF's nodes come out at 3,435 characters, more than the 2,048 that upstream keeps whole:
its documents may be counted before they were cut; the table is followed. Text is words of jieba's dictionary, the n-th
most frequent drawn about as often as 1/n, with commas, full stops and numbers; with ``--text``, passages of the real
news of CRUD-RAG, each at a random place, so that each character comes about six times. All by a named seed.

Every step runs in a process of its own, whose peak is the kernel's (ru_maxrss, pages of mapped files included). The
peer, bm25s used plainly on the same terms, gets a quarter of the nodes, since it keeps the terms of all as Python
lists; its best scores are held against ours. Dense search and its peers are `dense_search.py`'s. It does not measure
quality. It takes 5 GB of the disk of temporary files, and 3 of memory.

    python benchmarks/omnieval_corpus.py
    python benchmarks/omnieval_corpus.py --text REAL/CRUD_RAG --parts bm25
    python benchmarks/omnieval_corpus.py --nodes 20000 --parts encoder      # needs torch; its nodes are the whole's
    python benchmarks/omnieval_corpus.py --nodes 20000      # a quick look
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bm25 as bench
import dense_search
import numpy as np

from quadrag import catalogue
from quadrag.baselines.core.settings import WHOLE
from quadrag.baselines.omnieval.benchmark import BENCHMARK
from quadrag.baselines.retrieval.bm25 import K1, METHOD, B, Bm25Index
from quadrag.baselines.retrieval.chunk import Chunking
from quadrag.baselines.retrieval.passages import FILE, PassageStore
from quadrag.baselines.retrieval.terms import analyser
from quadrag.data import builders

SEED = 362558
SIGMA = 0.3  # of the logarithm of lengths within a source
TITLE = 12  # characters of a node's first line
ASKED = 30  # characters of a query
CORPUS = BENCHMARK.corpus
K = BENCHMARK.retrieval.top_k
PUBLISHED = Path(__file__).parents[1] / "baselines/omnieval/published.csv"
PARTS = {"quarter": 4, "half": 2, "all": 1}


# The corpus


def sources() -> dict[str, tuple[int, int]]:
    """Return nodes and characters of each source, as published."""
    found: dict[str, dict[str, int]] = {}
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["table"] == "2":
                name = row["setting"].partition(";")[0].removeprefix("source=")
                found.setdefault(name, {})[row["metric"]] = int(row["value"])
    return {name: (values["documents"], values["length"]) for name, values in found.items()}


ALL = sum(nodes for nodes, _ in sources().values())


def portions(total: int, weights: np.ndarray) -> np.ndarray:
    """Share a whole number out by weights."""
    return np.diff(np.round(np.cumsum(weights) / weights.sum() * total).astype(np.int64), prepend=0)


def sizes(nodes: int) -> Iterator[tuple[str, int]]:
    """Yield source and length of each node, in the order of the file."""
    draw = np.random.default_rng(SEED)
    table = sources()
    counts = portions(nodes, np.array([count for count, _ in table.values()]))
    names = np.repeat(np.arange(len(table)), counts)
    drawn = [
        portions(round(length * count / whole), np.exp(SIGMA * draw.standard_normal(count)))
        for count, (whole, length) in zip(counts, table.values(), strict=True)
    ]
    lengths, order = np.concatenate(drawn), draw.permutation(nodes)
    for at in order:
        yield list(table)[names[at]], int(lengths[at])


def words() -> Iterator[str]:
    """Yield endless text of words of jieba's dictionary."""
    import jieba

    with jieba.get_dict_file() as file:
        entries = [line.decode("utf-8").split() for line in file]
    known = [entry[0] for entry in sorted(entries, key=lambda entry: (-int(entry[1]), entry[0]))]
    numbers = [f"{n / 100:g}" for n in range(1, 50_001)]
    kinds = [*known, *numbers, "，", "。"]
    draw = np.random.default_rng(SEED + 1)
    while True:
        kind, which = draw.random(1 << 20), draw.random(1 << 20)
        # N ** u, with u even in [0, 1), falls on n about as often as 1/n.
        ids = (len(known) ** which).astype(np.int64) - 1
        ids = np.where(kind < 0.145, len(known) + (which * len(numbers)).astype(np.int64), ids)
        ids[kind < 0.125] = len(kinds) - 1
        ids[kind < 0.09] = len(kinds) - 2
        yield "".join(map(kinds.__getitem__, ids.tolist()))


def pieces(text: str | None, lengths: list[int]) -> Iterator[str]:
    """Yield a text of each length: of words, or from the news in a folder."""
    if text is None:
        stream, held, at = words(), "", 0
        for length in lengths:
            while len(held) - at < length:
                held, at = held[at:] + next(stream), 0
            yield held[at : at + length]
            at += length
        return
    builder, _ = builders.open_builder("crud_rag", "corpus", text)
    news = "".join(row["body"].replace("\n", "") for row in builders.rows(builder, "corpus"))
    draw = random.Random(SEED + 1)
    for length in lengths:
        start = draw.randrange(len(news) - length)
        yield news[start : start + length]


def make(folder: Path, nodes: int, text: str | None, queries: int) -> dict[str, Any]:
    """Write the corpus in upstream's form, and beside it what is asked: parts of nodes, with the nodes' rows."""
    started = time.perf_counter()
    place = folder / "made-2048-256_nodes"
    place.mkdir()
    plan = list(sizes(nodes))
    chosen = set(random.Random(SEED + 2).sample(range(nodes), min(queries, nodes)))
    asked = []
    with (place / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for row, piece in enumerate(pieces(text, [length for _, length in plan])):
            # The first line is the title that a prompt shows; its end counts as one of the characters.
            title = piece[:TITLE]
            contents = f"{title}\n{piece[TITLE + 1 :]}"[: len(piece)]
            node = {"id": f"{plan[row][0]}-{row}", "title": title, "contents": contents}
            file.write(json.dumps(node, ensure_ascii=False) + "\n")
            if row in chosen:
                start = max(0, (len(contents) - ASKED) // 2)
                asked.append((contents[start : start + ASKED].replace("\n", ""), row))
    (folder / "queries.json").write_text(json.dumps(asked, ensure_ascii=False), encoding="utf-8")
    characters = sum(length for _, length in plan)
    seconds = time.perf_counter() - started
    return {"characters": characters, "bytes": (place / "corpus.jsonl").stat().st_size, "seconds": seconds}


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
    used = bench.processor()
    seconds, result = bench.timed(lambda: function(folder))
    return {"seconds": seconds, "processor": bench.processor() - used, "result": result, **peaks()}


# BM25


def build(passages: Path, folder: Path, terms: str) -> dict[str, float]:
    """Build as `Bm25Index.build` does, with the workers that it chooses."""
    folder.mkdir()
    cost = bench.build(passages, folder, terms, None)
    disk = sum(path.stat().st_size for path in folder.iterdir()) / 1e9
    return cost | peaks() | {"disk": disk}


def search(folder: Path, queries: list[str], compiled: bool, rounds: int) -> dict[str, float]:
    bench.K = K
    return bench.search(folder, queries, compiled, rounds) | peaks()


def hits(folder: Path, queries: list[str]) -> list[list[tuple[int, float]]]:
    return Bm25Index.open(folder).search(queries, K)


def peer(passages: Path, terms: str, queries: list[str], rounds: int) -> dict[str, Any]:
    """Let bm25s do the same as its README shows: lists of terms in, the best out."""
    import bm25s

    analyse = analyser(terms)
    texts = PassageStore.open(passages).texts()
    used = bench.processor()
    cutting, corpus = bench.timed(lambda: [analyse(text) for text in texts])
    index = bm25s.BM25(k1=K1, b=B, method=METHOD, backend="numpy")
    indexing, _ = bench.timed(lambda: index.index(corpus, show_progress=False))
    used = bench.processor() - used

    def best() -> Any:
        asked = [analyse(query) for query in queries]
        return index.retrieve(asked, k=K, show_progress=False, n_threads=0).scores

    scores = best()
    rates = [len(queries) / bench.timed(best)[0] for _ in range(rounds)]
    cost = {"terms": cutting, "index": indexing, "processor": used}
    cost |= {"rate": statistics.median(rates), "best": max(rates), "worst": min(rates)}
    return cost | peaks() | {"scores": scores}


def reading(root: Path, nodes: int, characters: int) -> None:
    ways = {"json alone, line by line": plain, "`omnieval` corpus, streaming": stream, "to a passage store": store}
    found = [bench.apart(measured, function, root) for function in ways.values()]
    assert [cost["result"] for cost in found] == [characters, characters, nodes]
    body = []
    for way, cost in zip(ways, found, strict=True):
        ratio = cost["processor"] / found[0]["processor"]
        body.append([way, *(f"{cost[what]:.1f}" for what in ("seconds", "processor")), f"{ratio:.1f}"])
        body[-1].append(f"{cost['peak']:.2f}")
    bench.table(["way", "s", "of a processor", "to json alone", "peak, GB"], body)
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
        bench.apart(bench.part, root / "all", root / name, counts[name])
    growing, beside, rates = [], [], []
    for terms in options.terms:
        ours = {}
        for name in PARTS:
            place = root / f"{terms}-{name}"
            ours[name] = bench.apart(build, root / name, place, terms)
            ours[name] |= {"rate": bench.apart(search, place, queries, True, options.rounds)["rate"]}
            cost = ours[name]
            say(f"{terms}, {counts[name]:,}: {cost['terms']:.0f} s to cut, {cost['index']:.0f} s to index")
        theirs = bench.apart(peer, root / "quarter", terms, queries, options.rounds)
        line = ["bm25s, numpy", f"{theirs['rate']:.0f}", spread(theirs), "1", f"{theirs['peak']:.2f}"]
        rates.append([terms, f"{counts['quarter']:,}", *line])
        for name, how in (("quarter", "numpy"), ("quarter", "numba warm"), ("all", "numpy"), ("all", "numba warm")):
            cost = bench.apart(search, root / f"{terms}-{name}", queries, how != "numpy", options.rounds)
            ratio = f"{cost['rate'] / theirs['rate']:.1f}" if name == "quarter" else ""
            line = [f"quadrag, {how}", f"{cost['rate']:.0f}", spread(cost), ratio, f"{cost['peak']:.2f}"]
            rates.append([terms, f"{counts[name]:,}", *line])
        found = bench.apart(hits, root / f"{terms}-all", queries)
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
            power = bench.exponent(list(counts.values()), values) if all(values) else ""
            growing.append([terms, what, *(f"{value:.2f}" for value in values), power])
        for best, scores in zip(bench.apart(hits, root / f"{terms}-quarter", queries), theirs["scores"], strict=True):
            assert np.allclose([score for _, score in best], scores[: len(best)], rtol=1e-5)
        for who, cost in (("bm25s", theirs), ("quadrag", ours["quarter"])):
            both, its = cost["terms"] + cost["index"], theirs["terms"] + theirs["index"]
            cells = [cost["terms"], cost["index"], both, cost["processor"]]
            ratios = [both / its, cost["processor"] / theirs["processor"]]
            beside.append([terms, who, *(f"{cell:.1f}" for cell in cells), *(f"{ratio:.2f}" for ratio in ratios)])
            beside[-1].append(f"{cost['peak'] if who == 'bm25s' else cost['memory']:.2f}")
    bench.table(["terms", "cost", *(f"{count:,}" for count in counts.values()), "exponent"], growing)
    bench.table(["terms", "nodes", "", "queries a second", "rounds", "to peer", "peak, GB"], rates)
    print(f"\nbeside bm25s on {counts['quarter']:,} nodes")
    head = ["terms", "", "to cut, s", "to index, s", "both, s", "of a processor", "both to peer", "processor to peer"]
    bench.table([*head, "memory, GB"], beside)


def encode(passages: Path, name: str, texts: int) -> None:
    """Time an encoder on nodes drawn from all, and say what all would take: as many of each length, at this rate."""
    from quadrag.baselines.retrieval.encoder import Encoder

    found = PassageStore.open(passages)
    rows = random.Random(SEED + 3).sample(range(len(found)), min(texts, len(found)))
    nodes = [found[row].text for row in sorted(rows)]
    encoder = Encoder(name)
    encoder.documents(nodes[:64])
    seconds, _ = bench.timed(lambda: encoder.documents(nodes))
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
        made = bench.apart(make, root, options.nodes, options.text, options.queries)
        kind = "news" if options.text else "words of jieba's dictionary"
        of_all = "" if options.nodes == ALL else f" of {ALL:,}"
        print(f"{options.nodes:,}{of_all} nodes, {made['characters']:,} characters of {kind}, seed {SEED};", end=" ")
        print(f"corpus.jsonl of {made['bytes'] / 1e6:.0f} MB, made in {made['seconds']:.0f} s", flush=True)
        reading(root, options.nodes, made["characters"])
        if "bm25" in options.parts:
            indexing(root, options.nodes, options)
        if "encoder" in options.parts:
            bench.apart(encode, root / "all", options.encoder, options.texts)
    if "dense" in options.parts:
        print(flush=True)
        shapes = {"passages": options.nodes, "dimension": 768, "queries": options.queries, "top_k": K}
        bench.apart(dense_search.search, argparse.Namespace(**shapes, rounds=options.rounds))
    print(f"\nload average {os.getloadavg()[0]:.1f}; {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
