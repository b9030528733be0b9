"""The baseline without a model: sentences, likeness worked by hand, and what holds for any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadrag.baselines.systems.extractive import _f1, _terms, best_sentence, sentences
from quadrag.records import Passage


def passages(*texts):
    return [Passage(str(rank), "", text) for rank, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("sentence", "query", "language", "f1"),
    [
        # 3 words of 4 and 4 in common.
        ("Ann won the race.", "Who won the race?", "en", 6 / 8),
        # Multiplicity counts: "a" is taken once from the sentence's three.
        ("a a a b", "a b", "en", 4 / 6),
        # 北京 of 北京/京很/很大/大。 and 北京/京人/人口.
        ("北京很大。", "北京人口", "zh", 2 / 7),
        ("人口多。", "北京人口", "zh", 2 / 6),
        ("全然无关", "北京人口", "zh", 0.0),
        # One character makes no bigram.
        ("京", "京", "zh", 0.0),
        ("", "Who?", "en", 0.0),
    ],
)
def test_likeness_worked_by_hand(sentence, query, language, f1):
    assert _f1(_terms(sentence, language), _terms(query, language)) == pytest.approx(f1)


def test_the_most_similar_sentence_of_all_passages_is_the_answer():
    texts = passages("Bob lost. It rained.", "Nobody ran.\nAnn won the race. She was glad.")
    assert best_sentence("Who won the race?", texts, "en") == "Ann won the race."
    assert best_sentence("北京人口", passages("北京很大。人口多。", "天气好。"), "zh") == "人口多。"


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
