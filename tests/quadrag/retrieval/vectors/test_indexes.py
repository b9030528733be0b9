"""What ``--index`` says, vectors whose writing was cut short, and recall where it is known."""

import signal
import subprocess
import sys

import numpy as np
import pytest

from quadrag.errors import QuadragError
from quadrag.retrieval.search import Indexes, IndexStore
from quadrag.retrieval.vectors.dense import VectorIndex, make_index, nearest


@pytest.mark.parametrize(
    "text",
    [
        *("fais", "exact", "faiss,IVF_PQ", "faiss,nprobe", "faiss,nprobe=0", "faiss,nprobe=x", "faiss,nprobe=²"),
        *("faiss:here", "faiss,depth=3", "milvus:", "milvus", "milvus:index", "milvus:localhost:19530"),
        *("milvus:a.db,HNSW", "milvus:a.db,depth=3"),
    ],
)
def test_what_is_no_index_is_named(text):
    with pytest.raises(QuadragError, match=text):
        make_index(text)


SQ8 = {"nlist": 512, "nprobe": 64, "rerank": 100}


@pytest.mark.parametrize(
    ("text", "rows", "settings"),
    [
        ("faiss", 1_000_000, SQ8),
        ("faiss,nlist=7,rerank=500", 9, {"nlist": 7, "nprobe": 16, "rerank": 500}),
        ("milvus:a.db", 500_000, {}),
        ("milvus:a.db", 500_001, {**SQ8, "nlist": 256, "nprobe": 32}),
        ("milvus:http://h:1/db,nlist=64,nprobe=8", 9, {**SQ8, "nlist": 64, "nprobe": 8}),
    ],
)
def test_the_numbers_of_an_index_by_the_number_of_passages(text, rows, settings):
    assert make_index(text).settings(rows) == settings


def test_without_the_extra(monkeypatch):
    for missing, text in (("faiss", "faiss"), ("pymilvus", "milvus:http://127.0.0.1:1")):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, missing, None)
            with pytest.raises(QuadragError, match=r"pip install '\.\[(faiss|milvus)\]'"):
                make_index(text).describe()


class First(VectorIndex):
    """Finds the first rows, whatever is asked."""

    name = "first"

    def describe(self):
        return {}

    def open_built(self, indexes, key):
        pass

    def find(self, queries, count):
        return np.tile(np.arange(count), (len(queries), 1))


def test_recall_is_the_share_of_what_is_nearest(tmp_path):
    draw = np.random.default_rng(5)
    vectors = draw.standard_normal((400, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index, indexes = First("", {"rerank": 200}), Indexes(None, {}, IndexStore(tmp_path))
    index.open(vectors, indexes, {"kind": "dense"})
    sample = np.linspace(0, 399, 100).astype(int)
    right = [
        {row for row, _ in hits if row != own}
        for own, hits in zip(sample, nearest(vectors, vectors[sample], 11), strict=True)
    ]
    found = [len({row for row in rows if row < 200}) for rows in right]
    assert indexes.found["index"]["recall"] == round(sum(found) / 1000, 4) and 0.4 < sum(found) / 1000 < 0.6
    same = np.repeat(vectors[:1], 300, axis=0)
    index.open(same, indexes, {"kind": "dense", "all": "equal"})
    assert indexes.found["index"]["recall"] == 1, "equal scores count alike, whichever row has them"


def test_a_killed_build_encodes_nothing_twice(tmp_path, environment):
    code = """
import os, sys
import numpy as np
from pathlib import Path
from quadrag.benchmark import Document
from quadrag.retrieval.vectors import dense
from quadrag.retrieval.chunk import Chunking
from quadrag.retrieval.passages import PassageStore
from quadrag.retrieval.search import IndexStore
root, dense._TEXTS = Path(sys.argv[1]), 4
def encode(texts):
    if sys.argv[2] == "killed" and "8" in texts:
        os.kill(os.getpid(), 9)
    print(*texts, flush=True)
    return np.array([[float(text)] for text in texts], np.float32)
def build(folder):
    dense.write_vectors(passages, folder, encode, lambda done: None)
documents = [Document(f"d{n}", "", str(n)) for n in range(10)]
(root / "passages").mkdir(exist_ok=True)
passages = PassageStore.build(documents, root / "passages", Chunking(100))
folder = IndexStore(root / "kept").get({"kind": "dense"}, build, resumes=True)
print(np.load(folder / dense.FILE).ravel().tolist(), sorted(path.name for path in (root / "kept").iterdir()))
"""
    run = [sys.executable, "-c", code, str(tmp_path)]
    kill = subprocess.run(
        [*run, "killed"], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert kill.returncode == -signal.SIGKILL and kill.stdout == "0 1 2 3\n4 5 6 7\n", kill.stderr
    again = subprocess.run(
        [*run, "whole"], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    encoded, found = again.stdout.splitlines()
    assert encoded == "8 9" and found.startswith(str([float(n) for n in range(10)])) and ".part" not in found
