"""The passage store: what goes in comes out, in order, from a file that is mapped and not read."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadrag.benchmark import Document
from quadrag.errors import QuadragError
from quadrag.records import Passage
from quadrag.retrieval.chunk import Chunking
from quadrag.retrieval.passages import FILE, PassageStore

DOCUMENTS = [
    Document("a", "标题", "天下雨。地下雪。人回家。"),
    Document("empty", "", ""),
    Document("b", "", "one. two. three."),
]


def test_passages_of_documents_in_their_order(tmp_path):
    store = PassageStore.build(DOCUMENTS, tmp_path, Chunking(8))
    expected = [
        Passage("a#0", "标题", "天下雨。地下雪。"),
        Passage("a#1", "标题", "人回家。"),
        Passage("b#0", "", "one."),
        Passage("b#1", "", " two."),
        Passage("b#2", "", " three."),
    ]
    assert [store[row] for row in range(len(store))] == expected
    assert list(store.texts()) == [passage.text for passage in expected]
    assert store.documents == 3
    for row in (-1, 5):
        with pytest.raises(IndexError):
            store[row]


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Three batches and a bit, one character a passage, and the characters."""
    characters = [chr(0x4E00 + n % 20000) for n in range(30001)]
    text = "".join(characters)
    documents = [Document(str(n), f"t{n}", text[n : n + 1000]) for n in range(0, len(text), 1000)]
    return PassageStore.build(iter(documents), tmp_path_factory.mktemp("many"), Chunking(1)), characters


def test_many_batches(many):
    store, characters = many
    assert len(store) == len(characters)
    assert list(store.texts()) == characters
    for row in (0, 8191, 8192, 16384, 30000):
        assert store[row] == (f"{row // 1000 * 1000}#{row % 1000}", f"t{row // 1000 * 1000}", characters[row], None)


@given(start=st.integers(0, 31000), stop=st.none() | st.integers(0, 31000))
def test_texts_of_a_range(many, start, stop):
    store, characters = many
    assert list(store.texts(start, stop)) == characters[start:stop]


@pytest.mark.parametrize(("documents", "length"), [([], 0), ([Document("a", "", "x" * 16384)], 16384)])
def test_no_passage_and_a_whole_number_of_batches(tmp_path, documents, length):
    store = PassageStore.build(documents, tmp_path, Chunking(1))
    assert (len(store), store.documents, len(list(store.texts()))) == (length, len(documents), length)


def test_opening_reads_nothing_into_memory(many):
    before = pa.total_allocated_bytes()
    store = PassageStore(many[0].folder)
    assert store[12345].text == many[1][12345]
    assert pa.total_allocated_bytes() - before < 10000 < (store.folder / FILE).stat().st_size


@pytest.mark.parametrize("identity", ["a#1", "a"])
def test_ids_that_would_name_two_passages(tmp_path, identity):
    with pytest.raises(QuadragError, match=identity):
        PassageStore.build([Document("a", "", "x"), Document(identity, "", "y")], tmp_path, Chunking())


def test_half_a_surrogate_pair(tmp_path):
    store = PassageStore.build([Document("a", "t\ud83d", "天\ud83d下")], tmp_path, Chunking())
    assert store[0] == ("a#0", "t\ufffd", "天\ufffd下", None)


@pytest.mark.parametrize("content", [None, b"", b"not arrow", "cut"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, content):
    PassageStore.build(DOCUMENTS, tmp_path, Chunking())
    path = tmp_path / FILE
    whole = path.read_bytes()
    path.unlink()
    if content is not None:
        path.write_bytes(whole[: len(whole) // 2] if content == "cut" else content)
    with pytest.raises(QuadragError, match=str(tmp_path)):
        PassageStore(tmp_path)
