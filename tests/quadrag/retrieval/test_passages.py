"""The passage store: what goes in comes out, in order, from a file that is mapped and not read."""

from itertools import chain

import pyarrow as pa
import pytest

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
    assert list(chain(*store.blocks())) == list(store.encoded()) == [passage.text for passage in expected]


def test_many_batches_of_which_nothing_is_read_into_memory(tmp_path):
    characters = [chr(0x4E00 + n % 20000) for n in range(30001)]  # three batches and a bit, one character a passage
    text = "".join(characters)
    documents = [Document(str(n), f"t{n}", text[n : n + 1000]) for n in range(0, len(text), 1000)]
    PassageStore.build(iter(documents), tmp_path, Chunking(1))
    before = pa.total_allocated_bytes()
    store = PassageStore(tmp_path)
    assert store[12345].text == characters[12345]
    assert pa.total_allocated_bytes() - before < 10000 < (tmp_path / FILE).stat().st_size
    assert len(store) == len(characters) and list(chain(*store.blocks())) == characters
    for row in (0, 8191, 8192, 16384, 30000):
        assert store[row] == (f"{row // 1000 * 1000}#{row % 1000}", f"t{row // 1000 * 1000}", characters[row], None)


@pytest.mark.parametrize(("documents", "length"), [([], 0), ([Document("a", "", "x" * 16384)], 16384)])
def test_no_passage_and_a_whole_number_of_batches(tmp_path, documents, length):
    store = PassageStore.build(documents, tmp_path, Chunking(1))
    assert len(store) == len(list(chain(*store.blocks()))) == length


@pytest.mark.parametrize("identity", ["a#1", "a"])
def test_ids_that_would_name_two_passages(tmp_path, identity):
    with pytest.raises(QuadragError, match=identity):
        PassageStore.build([Document("a", "", "x"), Document(identity, "", "y")], tmp_path, Chunking())


def test_half_a_surrogate_pair(tmp_path):
    store = PassageStore.build([Document("a", "t\ud83d", "天\ud83d下")], tmp_path, Chunking())
    assert store[0] == ("a#0", "t\ufffd", "天\ufffd下", None)
