"""Pieces of documents are found wherever they stand in them."""

from quadrag.baselines.core.benchmark import Document
from quadrag.baselines.scoring.pieces import LEAST, find_pieces

SIGNS = "".join(map(chr, range(0x4E00, 0x4E00 + 3 * LEAST)))
DOCUMENTS = [
    Document("first", "", f"{SIGNS[:50]}\n {SIGNS[50:]}"),
    Document("short", "", "一 篇"),
    Document("", "", ""),
]


def test_a_piece_is_found_at_each_place():
    every = [SIGNS[at : at + LEAST] for at in range(len(SIGNS) - LEAST + 1)]
    assert find_pieces([*every, SIGNS], DOCUMENTS) == dict.fromkeys([*every, SIGNS], "first")


def test_a_document_that_a_text_holds_whole_is_found_at_each_place_and_the_longest_counts():
    documents = [Document("part", "", SIGNS[:LEAST]), *DOCUMENTS, Document("scrap", "", "一二三四五六七八" * 3)]
    under = ["题" * more + SIGNS + "完" for more in range(1, LEAST)]
    assert find_pieces(under, documents) == dict.fromkeys(under, "first")
    assert find_pieces(["题" + SIGNS[:-1], "题" + "一二三四五六七八" * 5], DOCUMENTS[1:] + documents[-1:]) == {}
    assert find_pieces(["题" + SIGNS[: LEAST + 1]], documents) == {"题" + SIGNS[: LEAST + 1]: "part"}


def test_a_short_piece_and_a_changed_one_are_not():
    changed = SIGNS[:40] + "。" + SIGNS[41:]
    assert find_pieces([SIGNS[: LEAST - 1], changed, "一篇"], DOCUMENTS) == {"一篇": "short"}
