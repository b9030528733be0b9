"""Windows of a prompt: filled in order, in characters or in tokens, the last passage cut."""

from __future__ import annotations

import pytest

from quadrag.baselines.crag.window import fill
from quadrag.errors import QuadragError
from quadrag.records import Passage


def passages(*texts):
    return [Passage(f"web/{n}", "t", text) for n, text in enumerate(texts)]


def shown(*texts, size, tokenizer=None):
    return [(passage.id, passage.text) for passage in fill(passages(*texts), size, tokenizer)]


def test_passages_are_taken_in_order_and_the_last_one_is_cut():
    assert shown("abcd", "efgh", "ijkl", size=6) == [("web/0", "abcd"), ("web/1", "ef")]
    assert shown("abcd", "efgh", size=8) == [("web/0", "abcd"), ("web/1", "efgh")]
    assert shown("abcd", "efgh", size=100) == [("web/0", "abcd"), ("web/1", "efgh")]


def test_an_empty_window_shows_nothing_and_an_empty_passage_takes_no_place():
    assert shown("abcd", size=0) == []
    assert shown("", " \n", "abcd", size=4) == [("web/2", "abcd")]


def test_sizes_are_in_tokens_of_a_named_tokenizer(words):
    assert shown("one two three", "two two", size=4, tokenizer=words) == [("web/0", "one two three"), ("web/1", "two ")]
    assert shown("one two three", size=2, tokenizer=words) == [("web/0", "one two ")]


def test_a_tokenizer_that_cannot_be_had_is_named(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(QuadragError, match="no tokenizer from"):
        fill(passages("one"), 5, str(tmp_path))
