"""The words that both overlap metrics count are jieba's, whatever else this process does with jieba."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jieba
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from overlaps import PROFILES, cut, one, text


@pytest.fixture(scope="module")
def words(load_file: Callable[[str], ModuleType]) -> ModuleType:
    return load_file("_shared/words.py")


@pytest.mark.pure
@given(text | st.text(max_size=20) | st.text("AT&C+#ca1b2好的一是x", max_size=8))
@example("AT&T")
@example("CAT&TC++x1c#")  # Latin words of the dictionary are no runs
def test_tokens_are_jieba_s(words: ModuleType, sentence: str) -> None:
    assert words.cut(sentence) == cut(sentence)


@pytest.mark.pure
@pytest.mark.slow(2000, 6_000, 250_000)
def test_tokens_of_drawn_words_and_pieces_are_jieba_s(words: ModuleType, rounds: int) -> None:
    jieba.initialize()
    known, draw = list(jieba.dt.FREQ), random.Random(19)
    others = "0123456789abcXYZ+#&._%-，。 \r\n\t\u3000\ud800𠮷㐀\u9fd6\uf900é가か😀"
    for _ in range(rounds):
        pieces = [draw.choice(known) for _ in range(draw.randint(1, 12))]
        # Half words, and single characters, which overlap with the words beside them; what no dictionary holds.
        pieces = [draw.choice((piece, piece, piece[1:], piece[0], draw.choice(others))) for piece in pieces]
        sentence = "".join(pieces)
        assert words.cut(sentence) == cut(sentence)


@pytest.mark.pure
def test_tokens_of_real_news_are_jieba_s(words: ModuleType, real_data: Callable[[str], Path]) -> None:
    path = real_data("CRUD_RAG") / "data" / "crud_split" / "split_merged.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["event_summary"]
    texts = [text for row in rows[:300] for text in (row["summary"], row["text"])]
    assert sum(map(len, texts)) > 200_000
    assert all(words.cut(text) == cut(text) for text in texts)


@pytest.mark.parametrize(
    ("name", "word", "gold"),
    [
        ("crud_overlap", "体育消费券", "上海市体育局发放了500万元体育消费券。"),
        ("omnieval_overlap", "年度报告披露", "年度报告的披露"),
    ],
)
def test_words_added_to_jieba_s_shared_dictionary_change_nothing(
    load_metric: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, name: str, word: str, gold: str
) -> None:
    before = [one(load_metric(name), word, gold, profile) for profile in PROFILES]
    assert len(cut(word)) > 1
    monkeypatch.setattr(jieba.dt, "FREQ", dict(jieba.dt.FREQ))  # put back afterwards, as the next line
    monkeypatch.setattr(jieba.dt, "total", jieba.dt.total)
    jieba.add_word(word)
    assert len(cut(word)) == 1
    assert [one(load_metric(name), word, gold, profile) for profile in PROFILES] == before
