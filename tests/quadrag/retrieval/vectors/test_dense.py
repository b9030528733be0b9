"""Exact search over vectors against an exhaustive oracle, and the index on disk; no model and no torch."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from letters import letters, unit

from quadrag.benchmark import Document
from quadrag.errors import QuadragError
from quadrag.retrieval.chunk import Chunking
from quadrag.retrieval.passages import PassageStore
from quadrag.retrieval.search import IndexStore
from quadrag.retrieval.vectors import dense
from quadrag.retrieval.vectors.dense import exact, nearest, open_vectors, rounding, write_vectors


def oracle(passages, queries, k):
    """Every product summed without error, rounded once to float32, all sorted: score falling, then row rising."""
    found = []
    for query in queries.astype(float).tolist():
        products = [
            math.fsum(a * b for a, b in zip(query, row, strict=True)) for row in passages.astype(float).tolist()
        ]
        scores = np.array(products, np.float32)
        order = np.argsort(-scores, kind="stable")[:k]
        found.append([(int(row), float(scores[row])) for row in order])
    return found


@pytest.fixture(scope="module")
def passages():
    """700 vectors in 24 dimensions, in bundles so tight that float32 cannot tell their members apart."""
    draw = np.random.default_rng(5)
    centres = draw.standard_normal((7, 24))
    return unit(centres[draw.integers(0, 7, 700)] + 1e-7 * draw.standard_normal((700, 24)))


# Few values, so that whole vectors and scores come again and again; scaled to unit length, so that sums are not exact.
@st.composite
def searches(draw):
    dimension = draw(st.integers(1, 5))
    vector = st.lists(st.integers(-2, 2), min_size=dimension, max_size=dimension)
    passages = draw(st.lists(vector, min_size=1, max_size=60))
    queries = draw(st.lists(vector, min_size=1, max_size=5))
    return unit(passages), unit(queries), draw(st.integers(1, 70)), draw(st.integers(1, 40)), draw(st.integers(1, 6))


@given(searches())
def test_it_finds_what_sorting_everything_finds(search):
    vectors, queries, k, scores, at_once = search
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("quadrag.retrieval.vectors.dense._SCORES", scores)
        patch.setattr("quadrag.retrieval.vectors.dense._QUERIES", at_once)
        patch.setattr("quadrag.retrieval.vectors.dense._PAIRS", 3)
        assert nearest(vectors, queries, k) == oracle(vectors, queries, k)


def test_what_float32_confuses_is_told_apart(passages):
    queries = passages[::50] + np.float32(0)
    want = oracle(passages, queries, 10)
    assert nearest(passages, queries, 10) == want
    single = np.argsort(-(queries @ passages.T), axis=1, kind="stable")[:, :10]
    assert single.tolist() != [[row for row, _ in hits] for hits in want], "the case is too easy to show anything"


def test_the_bound_holds_for_what_blas_computes(passages):
    which, rows = np.divmod(np.arange(20 * 700), 700)
    exactly = exact(passages, which, passages, rows).reshape(20, 700)
    off = np.abs((passages[:20] @ passages.T).astype(float) - exactly).max()
    assert 0 < off <= rounding(24)


def test_the_edges():
    vectors = unit([[1, 0], [0, 0], [0, 1]])
    assert nearest(vectors, unit([[0, 0]]), 9) == [[(0, 0.0), (1, 0.0), (2, 0.0)]], "fewer than asked for"
    assert nearest(vectors, vectors[:0], 2) == []
    same = np.repeat(vectors[:1], 300, axis=0)
    assert nearest(same, vectors[:1], 7) == [[(row, 1.0) for row in range(7)]], "in the order of the store"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    draw = np.random.default_rng(2)
    texts = ["".join(map(chr, draw.integers(97, 123, draw.integers(1, 90)))) for _ in range(400)]
    documents = [Document(str(n), "", text) for n, text in enumerate(texts)]
    return PassageStore.build(documents, tmp_path_factory.mktemp("store"), Chunking(32))


def test_vectors_on_disk(store, tmp_path):
    encoded, seen = [], []
    key = {"kind": "dense", "store": "letters"}

    def encode(texts):
        encoded.append(len(texts))
        return letters(texts)

    for _ in range(2):
        folder = IndexStore(tmp_path).get(key, lambda folder: write_vectors(store, folder, encode, seen.append))
    assert sum(encoded) == seen[-1] == len(store) > max(encoded), "each text once, a block at a time, and found again"
    vectors = open_vectors(folder)
    assert isinstance(vectors, np.memmap) and vectors.dtype == np.float32
    whole = letters([store[row].text for row in range(len(store))])
    assert np.array_equal(vectors, whole)
    queries = letters([store[7].text, "zzz", ""])
    assert nearest(vectors, queries, 6) == oracle(whole, queries, 6)


def test_a_corpus_without_text(tmp_path):
    empty = PassageStore.build([Document("a", "", "")], tmp_path, Chunking())
    with pytest.raises(QuadragError, match="no passages"):
        write_vectors(empty, tmp_path, letters, print)
    assert not (tmp_path / dense.FILE).exists()
