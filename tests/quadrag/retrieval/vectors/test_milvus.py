"""Milvus against exact search over the same vectors: Milvus Lite in a file, and as a server of its own."""

import socket
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np
import pytest
from letters import letters

from quadrag.errors import QuadragError
from quadrag.retrieval.search import Indexes, IndexStore
from quadrag.retrieval.vectors import milvus
from quadrag.retrieval.vectors.dense import make_index, nearest

KEY = {"kind": "dense", "corpus": "letters"}
needs_milvus = pytest.mark.skipif(
    find_spec("pymilvus") is None or find_spec("milvus_lite") is None,
    reason="pymilvus and milvus-lite are not installed (extra: milvus)",
)


@pytest.fixture(scope="module")
def exactly():
    """1,100 vectors, 90 of them equal, and many of texts of five letters, which often tie."""
    draw = np.random.default_rng(3)
    texts = ["".join(map(chr, draw.integers(97, 123, 40))) for _ in range(400)]
    texts += ["".join(map(chr, draw.integers(97, 107, 5))) for _ in range(610)]
    return letters([*texts, *["the same"] * 90])[draw.permutation(1100)]


@pytest.fixture(autouse=True)
def blocks(monkeypatch):
    """More passages than are sent at once, or asked about."""
    monkeypatch.setattr(milvus, "_ROWS", 1024)
    monkeypatch.setattr(milvus, "_QUERIES", 7)


@pytest.fixture
def opened(exactly, tmp_path):
    """A function that gets an index, which is closed in the end; without a spec it lies in a file of the test's."""
    indexes = []

    def get(spec=f"milvus:{tmp_path}/vectors.db", key=KEY, vectors=exactly):
        index = make_index(spec)
        index.describe()
        kept = Indexes(None, {}, IndexStore(tmp_path / "kept"))
        index.open(vectors, kept, key)
        indexes.append(index)
        return index, kept.found

    yield get
    for index in indexes:
        index.client.close()


@pytest.fixture
def sent(monkeypatch):
    """How many rows each insert sent."""
    pymilvus = pytest.importorskip("pymilvus")
    counts, insert = [], pymilvus.MilvusClient.insert

    def counted(self, collection, rows, **options):
        counts.append(len(rows))
        return insert(self, collection, rows, **options)

    monkeypatch.setattr(pymilvus.MilvusClient, "insert", counted)
    return counts


@needs_milvus
@pytest.mark.parametrize("k", [1, 8, 130, 2000])
def test_it_finds_what_exact_search_finds(opened, exactly, k):
    index, told = opened()
    queries = letters(["the same", "abcde", "aabbc", "zebra crossing", "a", "b", "c"])
    drawn = np.random.default_rng(7).standard_normal((40, 32)).astype(np.float32)  # which float32 confuses
    queries = np.concatenate([queries, drawn / np.linalg.norm(drawn, axis=1, keepdims=True)])
    assert index.nearest(queries, k) == nearest(exactly, queries, k)
    assert index.nearest(queries[:0], k) == [] and told == {}


@needs_milvus
def test_a_collection_is_filled_once(opened, exactly, sent):
    queries = letters(["abcde", "b"])
    index, _ = opened()
    again, _ = opened()
    assert sent == [1024, 76] and again.collection == index.collection
    other, _ = opened(key={**KEY, "corpus": "others"})
    assert sent == [1024, 76] * 2 and other.collection != index.collection
    # As a build leaves it that was killed: all are sent again.
    index.client.delete(index.collection, ids=list(range(1050, 1100)))
    again, _ = opened()
    assert sent[4:] == [1024, 76] and again.nearest(queries, 9) == nearest(exactly, queries, 9)


@needs_milvus
def test_lists_of_vectors_are_looked_through_in_part(opened, exactly, tmp_path):
    index, told = opened(f"milvus:{tmp_path}/vectors.db,nprobe=8")
    queries = exactly[::50]
    assert told["index"]["name"] == "milvus IVF_SQ8 (nlist 16, nprobe 8, rerank 100)"
    assert told["index"]["recall"] >= 0.98, "Milvus Lite takes 128 lists where it overlooks nlist, and finds less"
    found, right = index.nearest(queries, 5), nearest(exactly, queries, 5)
    assert [hits[0][1] for hits in found] == [hits[0][1] for hits in right], "scores are the exact ones"


@needs_milvus
def test_a_file_of_another_making(opened, tmp_path, capfd):
    (tmp_path / "a.db").write_text("something else")
    with pytest.raises(QuadragError, match="cannot be used") as caught:
        opened(f"milvus:{tmp_path}/a.db")
    assert "\n" not in str(caught.value) and capfd.readouterr() == ("", "")


@needs_milvus
def test_a_server(opened, exactly, sent, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("MILVUS_TOKEN", "user:secret-word")
    monkeypatch.setattr(milvus, "_CALL", 3)
    monkeypatch.setattr(milvus, "_BUILD", 3)
    monkeypatch.setattr(milvus, "_CONNECT", 3)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    spec = f"milvus:http://127.0.0.1:{port}"
    with pytest.raises(QuadragError, match=rf"Milvus at http://127.0.0.1:{port} ") as caught:
        opened(spec)
    assert "\n" not in str(caught.value)
    options = ["--data-dir", tmp_path / "server", "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen(
        [sys.executable, "-m", "milvus_lite", "server", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        capfd.readouterr()
        index, _ = opened(spec)
        queries = letters(["the same", "abcde"])
        assert index.nearest(queries, 8) == nearest(exactly, queries, 8)
        again, _ = opened(spec)
        assert sent == [1024, 76]
    finally:
        server.kill()
        server.wait()
    with pytest.raises(QuadragError, match="Milvus at") as caught:
        again.nearest(queries, 8)
    assert "\n" not in str(caught.value) and "secret-word" not in str(caught.value)
    assert capfd.readouterr() == ("", ""), "nothing beside the one line"
