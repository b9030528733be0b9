"""Exact dense search beside the bare matrix product of the same shapes, in one process.

Peers: ``Q @ V.T`` at once, which holds all scores (1.4 GB at the default shapes), and the same product in the blocks of
the search, its scores thrown away. The vectors are made, by a named seed: topics with noise, at unit length. Rounds are
interleaved and medians are shown. It does not measure a model.

    python benchmarks/dense_search.py --passages 397917 --dimension 768 --queries 900
"""

import argparse
import statistics

import numpy as np
from measuring import timed

from quadrag.retrieval.vectors import exact

SEED = 20240130


def make(rows: int, dimension: int, seed: int) -> exact.Vectors:
    draw = np.random.default_rng(seed)
    topics = np.random.default_rng(SEED).standard_normal((2000, dimension), dtype=np.float32)
    vectors = draw.standard_normal((rows, dimension), dtype=np.float32)
    vectors += topics[draw.integers(0, len(topics), rows)]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def in_blocks(passages: exact.Vectors, queries: exact.Vectors) -> None:
    """Multiply as the search does, and look at nothing."""
    step = exact.block_rows(len(queries))
    buffer = np.empty((len(queries), step), np.float32)
    for start in range(0, len(passages), step):
        block = passages[start : start + step]
        np.matmul(queries, block.T, out=buffer[:, : len(block)])


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
for name, value in (("passages", 397_917), ("dimension", 768), ("queries", 900), ("top-k", 8), ("rounds", 3)):
    parser.add_argument(f"--{name}", type=int, default=value)
options = parser.parse_args()
passages = make(options.passages, options.dimension, SEED + 1)
queries = make(options.queries, options.dimension, SEED + 2)
ways = {
    "Q @ V.T": lambda: queries @ passages.T,
    "in blocks": lambda: in_blocks(passages, queries),
    "search": lambda: exact.nearest(passages, queries, options.top_k),
}
rounds = [{name: timed(way)[0] for name, way in ways.items()} for _ in range(options.rounds)]
for name in ways:
    seconds = statistics.median(each[name] for each in rounds)
    ratios = sorted(each[name] / each["Q @ V.T"] for each in rounds)
    spread = f"{statistics.median(ratios):.2f}   ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    print(f"{name:10} {seconds:7.2f} s   to Q @ V.T {spread}")
