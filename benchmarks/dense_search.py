"""Exact dense search beside the bare matrix product of the same shapes, in one process.

Peers: ``Q @ V.T`` at once, which holds all scores (1.4 GB at the default shapes), and the same product in the blocks of
the search, its scores thrown away. The vectors are made, by a named seed: topics with noise, at unit length, written to
a file and memory-mapped like an index. Rounds are interleaved and medians are shown. It does not measure a model.

    python benchmarks/dense_search.py --passages 397917 --dimension 768 --queries 900 --top-k 8
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

import numpy as np
from measuring import timed

from quadrag.retrieval.vectors import dense

SEED = 20240130
TOPICS = 2000


def make(path: Path, rows: int, dimension: int, seed: int) -> dense.Vectors:
    """Write vectors and return them memory-mapped."""
    draw = np.random.default_rng(seed)
    topics = np.random.default_rng(SEED).standard_normal((TOPICS, dimension), dtype=np.float32)
    vectors = np.lib.format.open_memmap(path, "w+", np.float32, (rows, dimension))
    for start in range(0, rows, 1 << 15):
        count = min(1 << 15, rows - start)
        block = draw.standard_normal((count, dimension), dtype=np.float32) + topics[draw.integers(0, TOPICS, count)]
        vectors[start : start + count] = block / np.linalg.norm(block, axis=1, keepdims=True)
    vectors.flush()
    return np.load(path, mmap_mode="r")


def in_blocks(passages: dense.Vectors, queries: dense.Vectors) -> None:
    """Multiply as the search does, and look at nothing."""
    step = dense.block_rows(len(queries))
    buffer = np.empty((len(queries), step), np.float32)
    for start in range(0, len(passages), step):
        block = np.asarray(passages[start : start + step])
        np.matmul(queries, block.T, out=buffer[:, : len(block)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("passages", 397_917), ("dimension", 768), ("queries", 900), ("top-k", 8), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        passages = make(Path(folder) / "passages.npy", options.passages, options.dimension, SEED + 1)
        queries = np.array(make(Path(folder) / "queries.npy", options.queries, options.dimension, SEED + 2))
        ways = {
            "Q @ V.T": lambda: queries @ passages.T,
            "in blocks": lambda: in_blocks(passages, queries),
            "search": lambda: dense.nearest(passages, queries, options.top_k),
        }
        # The first round warms the page cache and is left out.
        rounds = [{name: timed(way)[0] for name, way in ways.items()} for _ in range(options.rounds + 1)][1:]
    print(f"{options.passages:,} x {options.dimension}, {options.queries} queries, top-{options.top_k}")
    for name in ways:
        seconds = statistics.median(each[name] for each in rounds)
        ratios = sorted(each[name] / each["Q @ V.T"] for each in rounds)
        spread = f"{statistics.median(ratios):.2f}   ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        print(f"{name:10} {seconds:7.2f} s   to Q @ V.T {spread}")


if __name__ == "__main__":
    main()
