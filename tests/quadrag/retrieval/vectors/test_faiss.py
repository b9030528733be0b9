"""faiss against exact search over the same vectors, and how its index comes about."""

import hashlib

import numpy as np
import pytest

from quadrag.retrieval.search import Indexes, IndexStore
from quadrag.retrieval.vectors.dense import make_index, nearest

KEY = {"kind": "dense", "corpus": "made"}


@pytest.fixture(scope="module")
def vectors():
    """12,000 vectors around 300 topics, 40 of them equal."""
    draw = np.random.default_rng(11)
    made = draw.standard_normal((300, 64))[draw.integers(0, 300, 12_000)] + draw.standard_normal((12_000, 64))
    made[draw.integers(0, 12_000, 40)] = made[0]
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def opened(vectors, tmp_path):
    pytest.importorskip("faiss", reason="faiss-cpu is not installed (extra: faiss)")

    def get(spec, root=tmp_path, length=12_000):
        index, indexes = make_index(spec), Indexes(None, {}, IndexStore(root))
        index.open(vectors[:length], indexes, {**KEY, "length": length})
        return index, indexes

    return get


def test_it_finds_what_exact_search_finds_by_exact_scores(opened, vectors, capfd):
    index, indexes = opened("faiss")
    queries = vectors[5::97]
    found, right = index.nearest(queries, 10), nearest(vectors, queries, 10)
    assert found[0] == right[0] and np.mean([len(set(a) & set(b)) for a, b in zip(found, right, strict=True)]) > 9.5
    assert all(
        score == dict(right[n])[row] for n, hits in enumerate(found) for row, score in hits if row in dict(right[n])
    )
    assert capfd.readouterr().out == "", "what faiss prints from C is kept from a table"
    told = indexes.found["index"]
    assert told["name"] == "faiss IVF_SQ8 (nlist 64, nprobe 16, rerank 100)" and told["recall"] > 0.95


def test_every_list_looked_through_and_ranked_is_exact_search(opened, vectors):
    index, indexes = opened("faiss,nprobe=64,rerank=12000")
    queries = np.concatenate([vectors[:1], vectors[7::400], np.zeros((1, 64), np.float32)])
    assert index.nearest(queries, 50) == nearest(vectors, queries, 50), "equal scores by lower row"
    assert indexes.found["index"]["recall"] == 1
    _, other = opened("faiss,nlist=64,nprobe=1,rerank=10")
    assert other.found["index"]["recall"] < 0.9
    assert len(list(indexes.store.root.glob("faiss-*"))) == 1, "how to search is no new index"


def test_threads_make_no_difference(opened, tmp_path):
    import faiss

    sums = set()
    for threads in (1, 3):
        faiss.omp_set_num_threads(threads)
        opened("faiss", tmp_path / str(threads))
        (file,) = (tmp_path / str(threads)).glob("faiss-*/index.faiss")
        sums.add(hashlib.sha256(file.read_bytes()).hexdigest())
    assert len(sums) == 1


def test_few_passages(opened, vectors):
    for length in (1, 2, 30):
        index, indexes = opened("faiss", length=length)
        assert index.nearest(vectors[:3], 5) == nearest(vectors[:length], vectors[:3], 5)
        assert indexes.found["index"]["recall"] == 1
