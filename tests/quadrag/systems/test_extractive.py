"""The baseline without a model: sentences, the most like one of them, and what holds for any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadrag.records import Passage
from quadrag.systems.extractive import best_sentence, sentences


def passages(*texts):
    return [Passage(str(rank), "", text) for rank, text in enumerate(texts)]


def test_the_most_similar_sentence_of_all_passages_is_the_answer():
    texts = passages("Bob lost. It rained.", "Nobody ran.\nAnn won the race. She was glad.")
    assert best_sentence("Who won the race?", texts, "en") == "Ann won the race."
    assert best_sentence("北京人口", passages("北京很大。人口多。", "天气好。"), "zh") == "人口多。"
    # "a" is taken once from the first one's three: 2 * 2 of 6 words, not of 4.
    assert best_sentence("a b", passages("a a a b", "b a c"), "en") == "b a c"


def test_the_first_of_equals_wins():
    assert best_sentence("red fox", passages("A red fox.", "Red fox a!"), "en") == "A red fox."
    assert best_sentence("red fox", passages("Nothing here. Nor there.", "Nor here."), "en") == "Nothing here."


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("It rose 3.5 percent in the U.S.A.! Why? Rain.", ["It rose 3.5 percent in the U.S.A.!", "Why?", "Rain."]),
        ("一。二！三？四；五", ["一。", "二！", "三？", "四；", "五"]),
        ("one\r\ntwo\rthree\nfour", ["one", "two", "three", "four"]),
        ("\t讯\t昨天。\xa0今天。", ["讯\t昨天。", "今天。"]),
        ("a.b. c.", ["a.b.", "c."]),
        (" \n \r\t", []),
        ("", []),
    ],
)
def test_sentences(text, parts):
    assert sentences(text) == parts


@given(
    st.text(max_size=40),
    st.lists(
        st.text(alphabet=st.one_of(st.characters(), st.sampled_from("。！.? \n\r\tab的")), max_size=60), max_size=5
    ),
    st.sampled_from(["en", "zh"]),
)
def test_the_answer_is_always_a_sentence_of_a_passage(query, texts, language):
    found = best_sentence(query, passages(*texts), language)
    everything = [sentence for text in texts for sentence in sentences(text)]
    assert found in everything if everything else found == ""
    assert any(found in text for text in texts) or not found
    assert found == best_sentence(query, passages(*texts), language)
