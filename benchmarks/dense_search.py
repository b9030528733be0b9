"""Exact dense search beside the bare matrix product of the same shapes, in one process.

Peers: ``Q @ V.T`` at once, which holds all scores (1.4 GB at the default shapes); the same product in the blocks of the
search, its scores thrown away; and those blocks with NumPy's argpartition, which is what one writes by hand. The
vectors are made, by a named seed: topics with noise, at unit length, written to a file and memory-mapped like an index.
Rounds are interleaved and medians are shown. Every 100th query is held against a full sort. It does not measure a
model: encoding is timed with ``--encoder``, over made texts, in passages a second and beside the model's own `encode`.

    python benchmarks/dense_search.py --passages 397917 --dimension 768 --queries 900 --top-k 8
    python benchmarks/dense_search.py --encoder all-MiniLM-L6-v2
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from measuring import timed

from quadrag.retrieval.vectors import dense

SEED = 20240130
TOPICS = 2000
HAN = range(0x4E00, 0x9FA6)


def make(path: Path, rows: int, dimension: int, seed: int) -> dense.Vectors:
    """Write vectors and return them memory-mapped."""
    draw = np.random.default_rng(seed)
    topics = np.random.default_rng(SEED).standard_normal((TOPICS, dimension), dtype=np.float32)
    with path.open("wb") as file:
        form = {"descr": "<f4", "fortran_order": False, "shape": (rows, dimension)}
        np.lib.format.write_array_header_1_0(file, form)
        for start in range(0, rows, 1 << 15):
            count = min(1 << 15, rows - start)
            block = draw.standard_normal((count, dimension), dtype=np.float32)
            block += topics[draw.integers(0, TOPICS, count)]
            block /= np.linalg.norm(block, axis=1, keepdims=True)
            file.write(block.data)
    return np.load(path, mmap_mode="r")


def in_blocks(passages: dense.Vectors, queries: dense.Vectors) -> None:
    """Multiply as the search does, and look at nothing."""
    step = dense.block_rows(len(queries))
    buffer = np.empty((len(queries), step), np.float32)
    for start in range(0, len(passages), step):
        block = np.asarray(passages[start : start + step])
        np.matmul(queries, block.T, out=buffer[:, : len(block)])


def by_hand(passages: dense.Vectors, queries: dense.Vectors, k: int) -> None:
    """Multiply as the search does, and keep the best by argpartition: rounded scores, ties as they fall."""
    step = dense.block_rows(len(queries))
    buffer = np.empty((len(queries), step), np.float32)
    best = np.empty((len(queries), 0), np.float32)
    rows = np.empty((len(queries), 0), np.int64)
    for start in range(0, len(passages), step):
        block = np.asarray(passages[start : start + step])
        scores = np.matmul(queries, block.T, out=buffer[:, : len(block)])
        near = np.argpartition(scores, -min(k, len(block)), axis=1)[:, -k:]
        best = np.hstack([best, np.take_along_axis(scores, near, 1)])
        rows = np.hstack([rows, near + start])
        order = np.argsort(-best, axis=1)[:, :k]
        best, rows = np.take_along_axis(best, order, 1), np.take_along_axis(rows, order, 1)


def search(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        passages = make(Path(folder) / "passages.npy", options.passages, options.dimension, SEED + 1)
        queries = np.array(make(Path(folder) / "queries.npy", options.queries, options.dimension, SEED + 2))
        times: dict[str, list[float]] = {"Q @ V.T": [], "in blocks": [], "with argpartition": [], "search": []}
        for number in range(options.rounds + 1):  # the first warms the page cache and is left out
            seconds = {}
            seconds["search"], hits = timed(lambda: dense.nearest(passages, queries, options.top_k))
            if not number:
                held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            seconds["in blocks"], _ = timed(lambda: in_blocks(passages, queries))
            seconds["with argpartition"], _ = timed(lambda: by_hand(passages, queries, options.top_k))
            seconds["Q @ V.T"], scores = timed(lambda: queries @ passages.T)
            if not number:
                for query in range(0, len(queries), 100):
                    near = np.argsort(-scores[query])[: 8 * options.top_k]
                    products = dense.exact(np.repeat(queries[query : query + 1], len(near), 0), passages[near])
                    order = np.lexsort((near, -products))[: options.top_k]
                    assert near[order].tolist() == [row for row, _ in hits[query]]
            else:
                for name, value in seconds.items():
                    times[name].append(value)
            del scores
    print(f"{options.passages:,} x {options.dimension}, {options.queries} queries, top-{options.top_k}")
    middle = {name: statistics.median(values) for name, values in times.items()}
    for name, value in middle.items():
        rounds = ", ".join(f"{a / b:.2f}" for a, b in zip(times[name], times["Q @ V.T"], strict=True))
        print(f"{name:17} {value:7.2f} s   to Q @ V.T {value / middle['Q @ V.T']:.2f}   (rounds {rounds})")
    print(f"memory at the first search, the mapped file included: {held:.2f} GB")


def encode(options: argparse.Namespace) -> None:
    from quadrag.retrieval.encoder import Encoder

    draw = random.Random(SEED)
    texts = ["".join(map(chr, draw.choices(HAN, k=options.characters))) for _ in range(options.texts)]
    encoder = Encoder(options.encoder, device=options.device)
    encoder.documents(texts[:64])
    bare = partial(encoder._loaded().encode, texts, batch_size=64, show_progress_bar=False, normalize_embeddings=True)
    pairs = [(timed(lambda: encoder.documents(texts))[0], timed(bare)[0]) for _ in range(options.rounds)]
    seconds = statistics.median(own for own, _ in pairs)
    rate = len(texts) / seconds
    print(
        f"{options.encoder}: {rate:.0f} passages of {options.characters} characters a second; "
        f"{options.passages:,} would take {options.passages / rate / 60:.0f} minutes"
    )
    ratios = sorted(own / other for own, other in pairs)
    print(
        f"time to that of the model's own encode: {statistics.median(ratios):.3f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("passages", 397_917), ("dimension", 768), ("queries", 900), ("top-k", 8), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--encoder", help="time this model in place of the search")
    parser.add_argument("--texts", type=int, default=2000, help="of the encoder's timing")
    parser.add_argument("--characters", type=int, default=128, help="of each text")
    parser.add_argument("--device", help="of the encoder, as torch names it")
    options = parser.parse_args()
    (encode if options.encoder else search)(options)


if __name__ == "__main__":
    main()
