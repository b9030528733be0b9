"""What ``--index`` says, vectors whose writing was cut short, and recall where it is known."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest

from quadrag.baselines.retrieval.shelf import Shelf
from quadrag.baselines.retrieval.store import IndexStore
from quadrag.baselines.retrieval.vectors.dense import nearest
from quadrag.baselines.retrieval.vectors.growing import GrowingFile
from quadrag.baselines.retrieval.vectors.indexes import Approximate, Exact, Spec, make_index, parse
from quadrag.errors import QuadragError


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        (None, Spec("exact", "exact")),
        ("faiss", Spec("faiss", "faiss")),
        ("faiss,IVF_PQ,nprobe=9", Spec("faiss,IVF_PQ,nprobe=9", "faiss", "", "IVF_PQ", {"nprobe": 9})),
        (
            "milvus:http://h:1/db,nlist=8,nprobe=2",
            Spec("milvus:http://h:1/db,nlist=8,nprobe=2", "milvus", "http://h:1/db", "", {"nlist": 8, "nprobe": 2}),
        ),
    ],
)
def test_what_is_said(text, spec):
    assert parse(text) == spec


@pytest.mark.parametrize("part", ["nprobe", "nprobe=0", "nprobe=x", "nprobe=1,nprobe=2", "nprobe=²"])
def test_an_option_that_is_no_number(part):
    with pytest.raises(QuadragError, match=r"expected OPTION=N, N from 1|not understood"):
        make_index(f"faiss,{part}")


def test_an_index_that_is_none():
    with pytest.raises(QuadragError, match="faiss"):
        make_index("fais")
    with pytest.raises(QuadragError, match="expected exact"):
        make_index("exact,IVF_SQ8")
    assert isinstance(make_index("exact"), Exact)


class First(Approximate):
    """Finds the first rows, whatever is asked."""

    kinds = ("FIRST",)

    def settings(self, rows):
        return {**super().settings(rows), "kind": "FIRST"}

    def open_built(self, shelf, key):
        pass

    def find(self, queries, count):
        return np.tile(np.arange(count), (len(queries), 1))


def test_recall_is_the_share_of_what_is_nearest(tmp_path, capsys):
    draw = np.random.default_rng(5)
    vectors = draw.standard_normal((400, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index, shelf = First(Spec("first", "first", options={"rerank": 200})), Shelf(None, {}, IndexStore(tmp_path))
    index.open(vectors, shelf, {"kind": "dense"})
    sample = np.linspace(0, 399, 100).astype(int)
    right = [
        {row for row, _ in hits if row != own}
        for own, hits in zip(sample, nearest(vectors, vectors[sample], 11), strict=True)
    ]
    found = [len({row for row in rows if row < 200}) for rows in right]
    assert shelf.told["index"]["recall"] == round(sum(found) / 1000, 4) and 0.4 < sum(found) / 1000 < 0.6
    assert "with 100 of the passages as queries" in capsys.readouterr().err
    same = np.repeat(vectors[:1], 300, axis=0)
    index.open(same, shelf, {"kind": "dense", "all": "equal"})
    assert shelf.told["index"]["recall"] == 1, "equal scores count alike, whichever row has them"


def grown(path, blocks, rows=10):
    file = GrowingFile(path, rows, 4)
    for block in blocks:
        file.add(np.full((min(4, rows - file.done), 3), block, np.float32))
    return file


@pytest.mark.parametrize(
    ("spoil", "left"),
    [
        (lambda data: data, 8),
        (lambda data: data[:-1], 4),
        (lambda data: data[:-20] + bytes(20), 4),
        (lambda data: data + b"torn", 8),
        (lambda data: data[:130], 0),
        (lambda data: b"", 0),
    ],
)
def test_a_file_goes_on_behind_its_last_whole_block(tmp_path, spoil, left):
    path = tmp_path / "vectors.npy"
    grown(path, [1, 2])
    path.write_bytes(spoil(path.read_bytes()))
    again = GrowingFile(path, 10, 4)
    assert again.done == left
    grown(path, [1, 2, 3][left // 4 :]).finish()
    assert np.array_equal(np.load(path)[:, 0], [1] * 4 + [2] * 4 + [3] * 2)
    assert [one.name for one in tmp_path.iterdir()] == ["vectors.npy"]
    assert GrowingFile(path, 10, 4).done == 0, "what is whole is no build's to go on with"


def test_vectors_of_other_passages_are_no_start(tmp_path):
    grown(tmp_path / "vectors.npy", [1, 2])
    assert GrowingFile(tmp_path / "vectors.npy", 11, 4).done == 0


def test_a_killed_build_encodes_nothing_twice(tmp_path, environment):
    code = """
import os, sys
import numpy as np
from pathlib import Path
from quadrag.baselines.core.document import Document
from quadrag.baselines.retrieval.vectors import dense
from quadrag.baselines.retrieval.chunk import Chunking
from quadrag.baselines.retrieval.passages import PassageStore
from quadrag.baselines.retrieval.store import IndexStore
root, dense._TEXTS = Path(sys.argv[1]), 4
class Encoder:
    def documents(self, texts, progress=None):
        if sys.argv[2] == "killed" and "8" in texts:
            os.kill(os.getpid(), 9)
        print(*texts, flush=True)
        return np.array([[float(text)] for text in texts], np.float32)
def build(folder):
    dense.DenseIndex.build(passages, folder, Encoder())
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
