"""faiss against exact search over the same vectors, and how its index comes about."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import pytest

from quadrag.baselines.retrieval.shelf import Shelf
from quadrag.baselines.retrieval.store import IndexStore
from quadrag.baselines.retrieval.vectors import faiss as ours
from quadrag.baselines.retrieval.vectors.dense import nearest
from quadrag.baselines.retrieval.vectors.indexes import make_index
from quadrag.errors import QuadragError

KEY = {"kind": "dense", "corpus": "made"}


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    index = make_index("faiss")
    with pytest.raises(QuadragError, match=r"index faiss needs faiss-cpu .*pip install '\.\[faiss\]'"):
        index.check()


@pytest.mark.parametrize("spec", ["faiss:here", "faiss,FLAT", "faiss,IVF_SQ8,depth=3"])
def test_a_spec_that_is_none(spec):
    with pytest.raises(QuadragError, match="expected faiss, faiss,IVF_SQ8 or faiss,IVF_PQ"):
        make_index(spec)


def test_the_kind_by_the_number_of_passages():
    index = make_index("faiss")
    assert index.settings(1_000_000) == {"kind": "IVF_SQ8", "nlist": 512, "nprobe": 64, "rerank": 100}
    assert index.settings(10_000_001)["kind"] == "IVF_PQ"
    named = make_index("faiss,IVF_PQ,nlist=7,rerank=500")
    assert named.settings(9) == {"kind": "IVF_PQ", "nlist": 7, "nprobe": 16, "rerank": 500}


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
        index, shelf = make_index(spec), Shelf(None, {}, IndexStore(root))
        index.open(vectors[:length], shelf, {**KEY, "length": length})
        return index, shelf

    return get


@pytest.mark.parametrize("kind", ["IVF_SQ8", "IVF_PQ"])
def test_it_finds_what_exact_search_finds_by_exact_scores(opened, vectors, kind, capfd):
    index, shelf = opened(f"faiss,{kind}")
    queries = vectors[5::97]
    found, right = index.nearest(queries, 10), nearest(vectors, queries, 10)
    assert found[0] == right[0] and np.mean([len(set(a) & set(b)) for a, b in zip(found, right, strict=True)]) > 9.5
    assert all(
        score == dict(right[n])[row] for n, hits in enumerate(found) for row, score in hits if row in dict(right[n])
    )
    out, err = capfd.readouterr()
    assert out == "", "what faiss prints from C is kept from a table"
    told = shelf.told["index"]
    assert told["name"] == f"faiss {kind} (nlist 64, nprobe 16, rerank 100)" and told["recall"] > 0.95
    assert f"index {told['name']}: recall@10 {told['recall']:.4f} against exact search, with 100 of" in err
    with pytest.raises(QuadragError, match="top-k 0"):
        index.nearest(queries, 0)


def test_every_list_looked_through_and_ranked_is_exact_search(opened, vectors):
    index, shelf = opened("faiss,nprobe=64,rerank=12000")
    queries = np.concatenate([vectors[:1], vectors[7::400], np.zeros((1, 64), np.float32)])
    assert index.nearest(queries, 50) == nearest(vectors, queries, 50), "equal scores by lower row"
    assert shelf.told["index"]["recall"] == 1
    _, told = opened("faiss,nlist=64,nprobe=1,rerank=10")
    assert told.told["index"]["recall"] < 0.9 and told.folders[0] == shelf.folders[0], "how to search is no new index"


def test_shards_are_as_one_and_threads_make_no_difference(opened, vectors, tmp_path, monkeypatch):
    import faiss

    files = []
    for name, shard, threads in (("a", 1 << 18, 1), ("b", 5000, 2), ("c", 5000, 3)):
        monkeypatch.setattr(ours, "_SHARD", shard)
        faiss.omp_set_num_threads(threads)
        _, shelf = opened("faiss", tmp_path / name)
        folder = shelf.folders[0]
        files.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()})
    assert files[0] == files[1] == files[2] and {"index.faiss", "lists.ivfdata"} < files[0].keys()


def test_few_passages(opened, vectors):
    for length in (1, 2, 30):
        index, shelf = opened("faiss", length=length)
        assert index.nearest(vectors[:3], 5) == nearest(vectors[:length], vectors[:3], 5)
        assert shelf.told["index"]["recall"] == 1
    with pytest.raises(QuadragError, match="needs 9,984 passages or more, here are 30"):
        opened("faiss,IVF_PQ", length=30)


def test_an_index_that_moved_is_opened(opened, vectors, tmp_path):
    index, _ = opened("faiss", tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "b")
    again, _ = opened("faiss", tmp_path / "b")
    assert again.nearest(vectors[:9], 5) == index.nearest(vectors[:9], 5)


def test_faiss_comes_in_with_its_index(environment, tmp_path):
    code = """
import sys
from quadrag.baselines.retrieval.vectors.indexes import make_index
make_index("faiss"), make_index("milvus:a.db")
assert not {"faiss", "pymilvus"} & set(sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment(), check=False)
    assert ran.returncode == 0
