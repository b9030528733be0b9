"""omnieval_overlap: the spec's vectors, and the quirks of the authors' code one by one."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import overlaps
import pytest
from overlaps import PROFILES, cut, one
from rouge_chinese import Rouge

DATA = json.loads(Path(__file__).with_name("omnieval_overlap_vectors.json").read_text(encoding="utf-8"))
KEYS = overlaps.KEYS["omnieval_overlap"]
ROUGES = KEYS[2:]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", DATA["answers"], ids=lambda case: case["name"])
def test_vectors(metric: Any, case: dict[str, Any], profile: str) -> None:
    got = one(metric, case["prediction"], case["references"], profile)
    assert [got[key] for key in KEYS] == pytest.approx(case[profile], abs=1e-6)


@pytest.mark.parametrize("case", DATA["normalised"], ids=lambda case: case["name"])
def test_normalised(normalising: ModuleType, case: dict[str, Any]) -> None:
    assert normalising.normalise(case["text"]) == case["official"]
    assert normalising.normalise_keeping_numbers(case["text"]) == case["corrected"]


def test_official_exact_match_is_the_mean_over_the_accepted_answers(metric: Any) -> None:
    official, corrected = (one(metric, "3.2亿元", ["3.2亿元", "3.20亿元", "三亿二"], profile) for profile in PROFILES)
    assert (official["em"], corrected["em"]) == (1 / 3, 1.0)


def test_official_f1_is_over_characters_and_counts_blanks(metric: Any) -> None:
    # "甲 乙" against "丙 丁", two words each: nothing but the blank between them in common
    official, corrected = (one(metric, "股票，", "基金。", profile) for profile in PROFILES)
    assert official["f1"] == pytest.approx(2 * (1 / 4) / 2) and corrected["f1"] == 0.0


def test_official_f1_is_the_maximum_over_the_accepted_answers(metric: Any) -> None:
    alone = one(metric, "净利润为3.2亿元", "净利润为3.3亿元")["f1"]
    assert 0 < alone == one(metric, "净利润为3.2亿元", ["无", "净利润为3.3亿元", ""])["f1"]


@pytest.mark.parametrize(
    ("prediction", "reference"), [("32", "3.2"), ("-5", "5"), ("5%", "5"), ("20212022", "2021-2022")]
)
def test_official_deletes_the_punctuation_of_numbers(metric: Any, prediction: str, reference: str) -> None:
    official, corrected = (one(metric, prediction, reference, profile) for profile in PROFILES)
    assert (official["em"], official["f1"], corrected["em"]) == (1.0, 1.0, 0.0)


def test_official_rouge_is_of_the_text_as_it_is(metric: Any) -> None:
    official, corrected = (one(metric, "Apple", ["apple"], profile) for profile in PROFILES)
    assert (official["rouge_l"], corrected["rouge_l"]) == (0.0, 1.0)


def test_official_rouge_of_the_reference_itself_is_not_quite_1(metric: Any) -> None:
    official, corrected = (one(metric, "基金", "基金", profile) for profile in PROFILES)
    assert official["rouge_l"] == 2 / (2 + 1e-8) < 1.0 == corrected["rouge_l"]


def test_official_rouge_1_and_2_are_over_sets(metric: Any) -> None:
    official, corrected = (one(metric, "，。，。，。", "，。", profile) for profile in PROFILES)
    assert (official["rouge_1"], official["rouge_2"]) == pytest.approx((1.0, 2 / 3), abs=1e-8)
    assert (corrected["rouge_1"], corrected["rouge_2"]) == (2 * 2 / 8, 2 / 6)


def test_official_rouge_l_is_over_the_whole_text_at_once(metric: Any) -> None:
    # Sentence by sentence, as summaries are often compared, every word would be found.
    got = one(metric, "丙。甲。", "甲。丙。")
    assert got["rouge_l"] == pytest.approx(2 / 4, abs=1e-8) and got["rouge_1"] == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("prediction", ["", " ", "\n", "\u3000\r\n"])
def test_official_rouge_is_0_where_rouge_chinese_raises_an_error(metric: Any, prediction: str) -> None:
    with pytest.raises(ValueError, match="empty"):
        Rouge().get_scores([" ".join(cut(prediction))], ["基金"])
    for pair in ((prediction, "基金"), ("基金", prediction)):
        got = one(metric, *pair)
        assert [got[key] for key in ROUGES] == [0.0] * 3
    # and the error over one accepted answer is nothing to the others
    assert one(metric, "基金", [prediction, "基金"])["rouge_l"] == one(metric, "基金", "基金")["rouge_l"]


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("甲\n\n乙", ["甲", "", "乙"]),
        ("甲。\n乙", ["甲", "。", "", "乙"]),
        ("\n甲\n", ["甲"]),
        ("\r\n甲", ["", "甲"]),
        ("甲　乙", ["甲", "乙"]),
        ("......." + "甲", ["......", ".", "甲"]),
        (" \n", []),
        ("", []),
    ],
)
def test_official_rouge_takes_a_blank_line_for_a_word(overlap: ModuleType, sentence: str, words: list[str]) -> None:
    assert overlap.rouge_words(cut(sentence)) == words
    if words:
        (lengths,) = (s["lengths"] for s in Rouge(return_lengths=True).get_scores([" ".join(cut(sentence))], ["甲"]))
        assert lengths["hyp"] == sum(map(bool, words))  # it counts without the empty ones, but compares with them
        (raw,) = Rouge(["rouge-l"], raw_results=True).get_scores([" ".join(cut(sentence))], ["甲"])
        assert raw["rouge-l"]["hyp"] == len(words)


@pytest.mark.parametrize(("prediction", "reference"), [("", ""), ("", "-"), ("A", "the"), ("%", " ")])
def test_official_exact_match_of_two_texts_of_which_nothing_is_left_is_1(
    metric: Any, prediction: str, reference: str
) -> None:
    got = one(metric, prediction, reference)
    assert (got["em"], got["f1"]) == (1.0, 0.0)


def test_corrected_leaves_a_choice_what_it_is(metric: Any) -> None:
    assert [one(metric, answer, "A", "corrected")["em"] for answer in ("A", "a.", "B", "the", "")] == [1, 1, 0, 0, 0]


def test_official_failures_leave_the_denominator(metric: Any) -> None:
    states = [None, "truncated", None, None]
    got = metric.compute(predictions=["基金", None, "债", None], references=["基金"] * 4, states=states)
    assert got["em"] == 0.5 and (got["n_scored"], got["unscored"]) == (2, {"truncated": 1, "api_error": 1})
    assert got["per_item"][1] == {**dict.fromkeys(KEYS), "reasons": dict.fromkeys(KEYS, "truncated")}


def test_corrected_counts_failed_and_empty_answers_as_0(metric: Any) -> None:
    got = metric.compute(predictions=["基金", None, ""], references=["基金"] * 3, profile="corrected")
    for key in ("em", "f1", "rouge_1", "rouge_l"):
        assert (got[key], got[f"{key}_over_scored"]) == (1 / 3, 1 / 2)
    assert (got["n_scored"], got["unscored"]) == (2, {"api_error": 1})
    assert got["per_item"][2] == {**dict.fromkeys(KEYS, 0.0), "reasons": {}}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("answer", ["基金", "", None])
@pytest.mark.parametrize("gold", [None, [], ()])
def test_an_item_without_an_accepted_answer_is_not_applicable(
    metric: Any, gold: Any, answer: str | None, profile: str
) -> None:
    got = metric.compute(predictions=["基金", answer], references=["基金", gold], profile=profile)
    assert got["em"] == 1.0 and (got["n_total"], got["n_scored"], got["unscored"]) == (2, 2, {})
    assert got["per_item"][1]["reasons"] == dict.fromkeys(KEYS, "not_applicable")


@pytest.mark.parametrize("gold", ["", [" "], ["", "\n"]])
def test_a_blank_accepted_answer_is_one_in_official_alone(metric: Any, gold: Any) -> None:
    assert one(metric, "基金", gold)["em"] == 0.0
    assert one(metric, "基金", gold, "corrected")["reasons"] == dict.fromkeys(KEYS, "not_applicable")
    several = [*([gold] if isinstance(gold, str) else gold), "基金"]
    assert one(metric, "基金", several)["em"] == 1 / len(several)
    assert one(metric, "基金", several, "corrected")["em"] == 1.0


def test_no_value_at_all_is_none_where_the_authors_merging_stops(metric: Any) -> None:
    got = metric.compute(predictions=[None, None], references=[None, "基金"])
    assert [got[key] for key in KEYS] == [None] * 5
    got = metric.compute(predictions=[None, None], references=[None, "基金"], profile="corrected")
    assert [got[key] for key in KEYS] == [0.0] * 5 and got["em_over_scored"] is None


def test_values_with_an_exponent_are_kept_where_the_authors_file_breaks(metric: Any) -> None:
    # Their file joins the three ROUGE values by "-"; ours are numbers of their own.
    got = one(metric, "，" * 30_000, "，")
    assert "e-" in repr(got["rouge_l"]) and json.loads(json.dumps(got)) == got
    assert got["rouge_l"] == pytest.approx(2 / 30_001, rel=1e-3)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_string_is_a_list_of_one(metric: Any, profile: str) -> None:
    answers = ["净利润为3.2亿元", "-5%", ""]
    got = metric.compute(predictions=answers, references=["3.2亿元", "5", "一"], profile=profile)
    assert got == metric.compute(predictions=answers, references=[["3.2亿元"], ("5",), ["一"]], profile=profile)


def test_keys(metric: Any) -> None:
    standard = ["n_total", "n_scored", "unscored", "per_item", "signature"]
    assert list(metric.compute(predictions=["一"], references=["一"])) == [*KEYS, *standard]
    over = [name for key in KEYS for name in (key, f"{key}_over_scored")]
    assert list(metric.compute(predictions=["一"], references=["一"], profile="corrected")) == [*over, *standard]


def test_signature(metric: Any) -> None:
    got = metric.compute(predictions=["一"], references=["一"], profile="corrected")
    assert got["signature"] == (
        "omnieval_overlap|version:1.1.0|profile:corrected|tokenizer:jieba-0.42.1|prompt:none|judge:none"
    )
