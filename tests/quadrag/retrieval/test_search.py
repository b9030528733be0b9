"""The index store, built once and found again, whole or not there; and a retriever that lies in another package."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from letters import letters

from quadrag.benchmark import Document
from quadrag.errors import QuadragError
from quadrag.parts import Retrieval
from quadrag.retrieval.bm25 import build_index, open_index
from quadrag.retrieval.chunk import Chunking
from quadrag.retrieval.passages import PassageStore
from quadrag.retrieval.search import IndexStore, Search, searcher
from quadrag.retrieval.vectors.dense import open_vectors, write_vectors

KEY = {"kind": "bm25", "chunking": {"size": 128}, "corpus": "新闻"}


class Builder:
    """Writes a file, and counts how often it was asked to."""

    times = 0

    def __call__(self, folder):
        self.times += 1
        assert list(folder.iterdir()) == []
        (folder / "data").write_text("data")


@pytest.fixture
def build():
    return Builder()


@pytest.fixture
def store(tmp_path):
    return IndexStore(tmp_path / "indexes")


def test_built_once_and_found_again(store, build):
    place = store.get({**KEY, "t": (1, 2)}, build)
    assert (place / "data").read_text() == "data" and place.parent == store.root
    again = {"t": [1, 2], **dict(reversed(KEY.items()))}
    assert IndexStore(store.root).get(again, build) == store.path(again) == place and build.times == 1
    for change in ({"kind": "dense"}, {"chunking": {"size": 64}}, {"chunking": {"size": 128, "b": None}}):
        assert store.get({**KEY, **change}, Builder()) != store.get(KEY, build)
    assert IndexStore().root == Path(os.environ["QUADRAG_CACHE"]) / "indexes"


def test_a_folder_that_is_no_index_gives_way_and_a_build_that_fails_leaves_nothing(store, build):
    def failing(folder):
        (folder / "half").write_text("half")
        raise KeyError("corpus")

    store.path(KEY).mkdir(parents=True)
    (store.path(KEY) / "stray").write_text("")
    with pytest.raises(KeyError, match="corpus"):
        store.get(KEY, failing)
    assert [path for path in store.root.iterdir() if path.is_dir()] == []
    assert not (store.get(KEY, build) / "stray").exists() and build.times == 1


RUN = """
import os, sys, time
from pathlib import Path
from quadrag.retrieval.search import IndexStore
def build(folder):
    with open(sys.argv[2], "a") as log:
        log.write("built\\n")
    time.sleep(0.5)
    (folder / "half").write_text("half")
    if sys.argv[3] == "killed":
        os._exit(9)
print(IndexStore(Path(sys.argv[1])).get({"kind": "bm25"}, build))
"""


def test_three_processes_build_once_and_what_a_killed_one_left_goes(store, tmp_path):
    # Not from the checkout, where `quadrag` would lack its mapped rooms.
    run = [sys.executable, "-c", RUN, str(store.root), str(tmp_path / "log")]
    assert subprocess.run([*run, "killed"], cwd=tmp_path, check=False).returncode == 9
    assert [path for path in store.root.iterdir() if path.is_dir()] != []
    running = [subprocess.Popen([*run, "whole"], cwd=tmp_path, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert {process.communicate()[0].strip() for process in running} == {str(store.path({"kind": "bm25"}))}
    assert (tmp_path / "log").read_text() == "built\n" * 2
    assert [path for path in store.root.iterdir() if path.is_dir()] == [store.path({"kind": "bm25"})]


def test_a_root_that_cannot_be_is_named(tmp_path, build):
    (tmp_path / "file").write_text("")
    with pytest.raises(QuadragError, match="QUADRAG_CACHE"):
        IndexStore(tmp_path / "file" / "indexes").get(KEY, build)
    assert build.times == 0


READERS = {
    "passages.arrow": PassageStore,
    "data.csc.index.npy": partial(open_index, terms="unigram"),
    "vocab.index.json": partial(open_index, terms="unigram"),
    "vectors.npy": open_vectors,
}


@pytest.mark.parametrize("spoil", [lambda content: b"", lambda content: content[:-40], lambda content: b"x" * 99, None])
@pytest.mark.parametrize("name", READERS)
def test_an_index_that_cannot_be_read_is_named(store, name, spoil):
    def build(folder):
        passages = PassageStore.build([Document("a", "", "天地"), Document("b", "", "人")], folder, Chunking())
        build_index(passages, folder, "unigram")
        write_vectors(passages, folder, letters, print)

    store.open(KEY, build, READERS[name])
    file = store.path(KEY) / name
    content = file.read_bytes()
    file.unlink()
    if spoil is not None:
        file.write_bytes(spoil(content))
    with pytest.raises(QuadragError, match=str(store.path(KEY))) as caught:
        store.open(KEY, build, READERS[name])
    assert "\n" not in str(caught.value)


TOY = """
from quadrag.retrieval.search import Retriever

class SharedWords(Retriever):
    def describe(self):
        return {"shared_words": 1}

    def open(self, indexes):
        texts = [set(text.split()) for text in indexes.passages.encoded()]
        def rank(queries, k):
            scores = [[(row, len(set(query.split()) & words)) for row, words in enumerate(texts)] for query in queries]
            return [sorted(hits, key=lambda hit: -hit[1])[:k] for hits in scores]
        return rank
"""


def test_a_retriever_of_another_package(tmp_path, monkeypatch):
    (tmp_path / "toy_retriever.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    documents = [Document("a", "", "rain in town"), Document("b", "", "snow in the town")]
    corpus = SimpleNamespace(fingerprint="digest", documents=lambda: documents)
    search = Search(corpus, searcher("toy_retriever:SharedWords"), Retrieval(top_k=1))
    ((passage,),) = search.find(["the snow in town"])
    assert (passage.id, passage.score) == ("b#0", 4)
