"""Milvus against exact search over the same vectors: Milvus Lite in a file, and as a server of its own."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np
import pytest

from quadrag.baselines.core.document import Document
from quadrag.baselines.retrieval import milvus
from quadrag.baselines.retrieval.chunk import Chunking
from quadrag.baselines.retrieval.dense import DenseIndex, nearest
from quadrag.baselines.retrieval.milvus import MilvusIndex, address
from quadrag.baselines.retrieval.passages import PassageStore
from quadrag.errors import QuadragError

KEY = {"kind": "dense", "corpus": "letters"}
needs_milvus = pytest.mark.skipif(
    find_spec("pymilvus") is None or find_spec("milvus_lite") is None,
    reason="pymilvus and milvus-lite are not installed (extra: milvus)",
)


class Letters:
    """An encoder that needs no model: how often each of 32 classes of characters occurs, at unit length."""

    def __init__(self):
        self.encoded = 0

    def documents(self, texts, progress=None):
        self.encoded += len(texts)
        return self.queries(texts)

    def queries(self, texts):
        counts = np.zeros((len(texts), 32), np.float32)
        for row, text in zip(counts, texts, strict=True):
            np.add.at(row, [ord(letter) % 32 for letter in text], 1)
        lengths = np.linalg.norm(counts, axis=1, keepdims=True)
        return counts / np.where(lengths > 0, lengths, np.float32(1))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """1,100 passages, more than are sent at once: 120 of them equal, and many of five letters, which often tie."""
    draw = np.random.default_rng(3)
    texts = ["".join(map(chr, draw.integers(97, 123, 40))) for _ in range(400)]
    texts += ["".join(map(chr, draw.integers(97, 102, 5))) for _ in range(580)]
    texts += ["the same"] * 120
    documents = [Document(str(row), "", texts[place]) for row, place in enumerate(draw.permutation(len(texts)))]
    return PassageStore.build(documents, tmp_path_factory.mktemp("store"), Chunking(100))


@pytest.fixture(scope="module")
def exactly(store, tmp_path_factory):
    return DenseIndex.build(store, tmp_path_factory.mktemp("dense"), Letters())


@pytest.fixture
def opened(store, tmp_path):
    """A function that gets an index, which is closed in the end; without a spec it lies in a file of the test's."""
    indexes = []

    def get(spec=f"milvus:{tmp_path}/vectors.db", key=KEY, **options):
        encoder = Letters()
        indexes.append(MilvusIndex.get(spec, key, store, encoder, **options))
        return indexes[-1], encoder

    yield get
    for index in indexes:
        index.close()


@pytest.mark.parametrize("spec", ["milvus:", "milvus:index", "milvus:localhost:19530", "./index.db", "milvus:ftp://x"])
def test_a_spec_that_is_none(spec, store):
    with pytest.raises(QuadragError, match=r"expected milvus:FILE\.db .* or milvus:http://HOST:PORT"):
        MilvusIndex.get(spec, KEY, store, Letters())


def test_specs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert address("milvus:a.db") == str(tmp_path / "a.db")
    assert address("milvus:https://host:443") == "https://host:443"
    with pytest.raises(QuadragError, match=r"make .*nowhere"):
        address("milvus:nowhere/a.db")


def test_without_the_extra(monkeypatch, store, tmp_path):
    for missing, spec in (("pymilvus", "milvus:http://127.0.0.1:1"), ("milvus_lite", f"milvus:{tmp_path}/a.db")):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, missing, None)
            with pytest.raises(QuadragError, match=r"needs pymilvus .*pip install 'quadrag\[milvus\]'"):
                MilvusIndex.get(spec, KEY, store, Letters())


@needs_milvus
@pytest.mark.parametrize("k", [1, 8, 130, 2000])
def test_it_finds_what_exact_search_finds(opened, store, exactly, k):
    index, _ = opened()
    queries = ["the same", "abcde", "aabbc", store[0].text, "", "zebra crossing"]
    assert len(index) == len(store) == 1100
    assert index.search(queries, k) == exactly.search(queries, k)
    assert index.search([], k) == []


@needs_milvus
def test_vectors_that_float32_confuses(opened, store):
    index, encoder = opened()
    draw = np.random.default_rng(7)
    vectors = encoder.queries(list(store.texts()))
    queries = draw.standard_normal((40, 32)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    assert index.nearest(queries, 5) == nearest(vectors, queries, 5)


@needs_milvus
def test_a_collection_is_built_once(opened, exactly):
    seen = []
    index, encoder = opened(progress=lambda *done: seen.append(done))
    assert encoder.encoded == 1100 and seen == [(1024, 1100), (1100, 1100)]
    again, encoder = opened()
    assert encoder.encoded == 0 and again.collection == index.collection
    other, encoder = opened(key={**KEY, "corpus": "others"})
    assert encoder.encoded == 1100 and other.collection != index.collection
    # As a build leaves it that was interrupted.
    index.client.delete(index.collection, ids=list(range(1024, 1100)))
    again, encoder = opened()
    assert encoder.encoded == 1100
    assert again.search(["abcde"], 9) == exactly.search(["abcde"], 9)


@needs_milvus
def test_a_build_that_fails_is_made_up_for(opened, store, exactly, tmp_path):
    class Failing(Letters):
        def documents(self, texts, progress=None):
            if self.encoded:
                raise QuadragError("the model is gone")
            return super().documents(texts)

    with pytest.raises(QuadragError, match="the model is gone"):
        MilvusIndex.get(f"milvus:{tmp_path}/vectors.db", KEY, store, Failing())
    index, encoder = opened()
    assert encoder.encoded == 1100 and index.search(["abcde"], 3) == exactly.search(["abcde"], 3)


@needs_milvus
def test_the_depth_has_a_limit(opened):
    index, _ = opened()
    for k in (0, 16_385):
        with pytest.raises(QuadragError, match="expected 1 to 16,384 with Milvus"):
            index.search(["a"], k)


@needs_milvus
def test_a_file_of_another_making(store, tmp_path, capfd):
    (tmp_path / "a.db").write_text("something else")
    with pytest.raises(QuadragError, match="cannot be used") as caught:
        MilvusIndex.get(f"milvus:{tmp_path}/a.db", KEY, store, Letters())
    assert "\n" not in str(caught.value) and capfd.readouterr() == ("", "")


@needs_milvus
def test_a_server(opened, store, exactly, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("MILVUS_TOKEN", "user:secret-word")
    monkeypatch.setattr(milvus, "_CALL", 3)
    monkeypatch.setattr(milvus, "_CONNECT", 3)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    spec = f"milvus:http://127.0.0.1:{port}"
    with pytest.raises(QuadragError, match=rf"Milvus at http://127.0.0.1:{port} does not answer") as caught:
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
        index, encoder = opened(spec)
        assert encoder.encoded == 1100
        assert index.search(["the same", "abcde"], 8) == exactly.search(["the same", "abcde"], 8)
        again, encoder = opened(spec)
        assert encoder.encoded == 0
    finally:
        server.kill()
        server.wait()
    with pytest.raises(QuadragError, match="does not answer") as caught:
        again.search(["abcde"], 8)
    assert "\n" not in str(caught.value) and "secret-word" not in str(caught.value)
    assert capfd.readouterr() == ("", ""), "nothing beside the one line"
