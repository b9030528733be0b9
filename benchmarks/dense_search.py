"""Exact dense search beside the bare matrix product of the same shapes, in one process.

Peers: ``Q @ V.T`` at once, which holds all scores (1.4 GB at the default shapes), and the same product in the blocks of
the search, its scores thrown away. The vectors are made, by a named seed: topics with noise, at unit length. Rounds are
interleaved and medians are shown. It does not measure a model.

    python benchmarks/dense_search.py --passages 397917 --dimension 768 --queries 900
"""

import statistics

import numpy as np
from measuring import options_of, table, timed

from quadrag.retrieval.vectors import dense

SEED = 20240130


def make(rows: int, dimension: int, seed: int) -> dense.Vectors:
    draw = np.random.default_rng(seed)
    topics = np.random.default_rng(SEED).standard_normal((2000, dimension), dtype=np.float32)
    vectors = draw.standard_normal((rows, dimension), dtype=np.float32)
    vectors += topics[draw.integers(0, len(topics), rows)]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def in_blocks(passages: dense.Vectors, queries: dense.Vectors) -> None:
    """Multiply in blocks about as large as the search's, and look at nothing."""
    step = max(1, (1 << 23) // len(queries))
    buffer = np.empty((len(queries), step), np.float32)
    for start in range(0, len(passages), step):
        block = passages[start : start + step]
        np.matmul(queries, block.T, out=buffer[:, : len(block)])


parser = options_of(__doc__, passages=397_917, dimension=768, queries=900, top_k=8, rounds=3)
options = parser.parse_args()
passages = make(options.passages, options.dimension, SEED + 1)
queries = make(options.queries, options.dimension, SEED + 2)
ways = {
    "Q @ V.T": lambda: queries @ passages.T,
    "in blocks": lambda: in_blocks(passages, queries),
    "search": lambda: dense.nearest(passages, queries, options.top_k),
}
rounds = [{name: timed(way)[0] for name, way in ways.items()} for _ in range(options.rounds)]
body = []
for name in ways:
    seconds = statistics.median(each[name] for each in rounds)
    ratios = sorted(each[name] / each["Q @ V.T"] for each in rounds)
    body.append([name, f"{seconds:.2f}", f"{statistics.median(ratios):.2f}", f"{ratios[0]:.2f} to {ratios[-1]:.2f}"])
print(table(" | seconds | to Q @ V.T | rounds", body))
