"""omnieval_overlap: the spec's vectors, the quirks of the authors' code one by one, rouge-chinese and rouge_score."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import jieba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_chinese import Rouge

DATA = json.loads(Path(__file__).with_name("omnieval_overlap_vectors.json").read_text(encoding="utf-8"))
PROFILES = ("official", "corrected")
KEYS = ("em", "f1", "rouge_1", "rouge_2", "rouge_l")
ROUGES = KEYS[2:]
# Words, numbers, Latin, all kinds of stops, quotation marks and whitespace: what rouge-chinese breaks lines at.
PIECES = [
    *"净利润为亿元上市公司披露年度报告的一不𠮷龘",
    *"，、；：“”‘’。。！？?..!",
    *("净利润", "上市公司", "年度报告", "基金", "3.2亿元", "32", "-5%", "1,234.5", "2021-2022", "(5)", "C++", "A股"),
    *("Apple", "Inc.", "the", "a", "An", "a\u0301", "......", ".......", "." * 13, "……", "…”", "。”"),
    *(" ", "  ", "\t", "\n", "\n\n", "\r\n", "\r", "\u3000", "\u00a0", "\u2028", "\x1c", "\x85", "\u200b"),
]
text = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
golds = st.lists(text, min_size=1, max_size=3)


@pytest.fixture(scope="module")
def metric(load_metric: Callable[[str], Any]) -> Any:
    return load_metric("omnieval_overlap")


@pytest.fixture(scope="module")
def overlap(load_file: Callable[[str], ModuleType]) -> ModuleType:
    return load_file("omnieval_overlap/overlap.py")


@pytest.fixture(scope="module")
def normalising(load_file: Callable[[str], ModuleType]) -> ModuleType:
    return load_file("omnieval_overlap/normalise.py")


def cut(sentence: str) -> list[str]:
    """Tokens by jieba itself."""
    return list(jieba.cut(sentence))


def one(metric: Any, prediction: str, references: Sequence[str] | str, profile: str = "official") -> dict[str, Any]:
    """The values of one item."""
    row: dict[str, Any] = metric.compute(predictions=[prediction], references=[references], profile=profile)[
        "per_item"
    ][0]
    return row


def by_rouge_chinese(prediction: str, references: Sequence[str]) -> dict[str, float]:
    """ROUGE by the package itself; 0 where it raises an error."""
    best = dict.fromkeys(ROUGES, 0.0)
    for reference in references:
        try:
            (scores,) = Rouge().get_scores([" ".join(cut(prediction))], [" ".join(cut(reference))])
        except ValueError:
            continue
        for key in ROUGES:
            best[key] = max(best[key], scores[key.replace("_", "-")]["f"])
    return best


def by_hand(normalise: Callable[[str], str], prediction: str, references: Sequence[str]) -> dict[str, float]:
    """Official exact match and F1 from their definitions."""
    best, bare = 0.0, normalise(prediction)
    for reference in references:
        left, right = " ".join(cut(bare)), " ".join(cut(normalise(reference)))
        common = sum(min(left.count(c), right.count(c)) for c in set(left))
        if common:
            precision, recall = common / len(left), common / len(right)
            best = max(best, 2 * precision * recall / (precision + recall))
    return {"em": float(np.mean([bare == normalise(reference) for reference in references])), "f1": best}


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


@given(text, golds)
def test_official_is_rouge_chinese_s_and_the_definitions(
    metric: Any, normalising: ModuleType, prediction: str, references: list[str]
) -> None:
    got = one(metric, prediction, references)
    expected = by_rouge_chinese(prediction, references) | by_hand(normalising.normalise, prediction, references)
    assert {key: got[key] for key in KEYS} == pytest.approx(expected, abs=1e-12)


@given(st.text(max_size=12), st.text(max_size=12))
def test_official_rouge_of_any_text_is_rouge_chinese_s(metric: Any, prediction: str, reference: str) -> None:
    got = one(metric, prediction, reference)
    assert {key: got[key] for key in ROUGES} == pytest.approx(by_rouge_chinese(prediction, [reference]), abs=1e-12)


@pytest.mark.slow(500, 4_000, 100_000)
def test_official_rouge_of_many_texts_is_rouge_chinese_s(overlap: ModuleType, rounds: int) -> None:
    draw = random.Random(5)
    for n in range(rounds):
        size = draw.choice((1, 3, 12, 25))  # one piece: empty ones, single tokens
        sides = ["".join(draw.choices(PIECES, k=draw.randint(0, size))) for _ in range(2)]
        if n % 4 == 0:
            sides[1] = sides[0][: draw.randint(0, len(sides[0]))] + sides[1]  # much in common
        got = overlap.official(sides[0], sides[1:], cut)
        assert {key: got[key] for key in ROUGES} == pytest.approx(by_rouge_chinese(sides[0], sides[1:]), abs=1e-12)


class Tokens:
    """What rouge_score asks for its tokens."""

    def tokenize(self, sentence: str) -> list[str]:
        return cut(sentence)


@given(text, golds)
def test_corrected_is_rouge_score_s_and_the_best_accepted_answer(
    metric: Any, normalising: ModuleType, prediction: str, references: list[str]
) -> None:
    normalise = normalising.normalise_keeping_numbers
    full = [reference for reference in references if reference.strip()]
    got = one(metric, prediction, references, "corrected")
    if not full:
        assert set(got["reasons"].values()) == {"not_applicable"}
        return
    from rouge_score import rouge_scorer  # with nltk: two seconds

    scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"], tokenizer=Tokens())
    scores = [scorer.score(normalise(reference), normalise(prediction)) for reference in full]
    expected = {key: max(score[key.replace("_", "").replace("l", "L")].fmeasure for score in scores) for key in ROUGES}
    expected["f1"] = 0.0
    for reference in full:
        found, wanted = Counter(cut(normalise(prediction))), Counter(cut(normalise(reference)))
        both = sum(found.values()) + sum(wanted.values())
        expected["f1"] = max(expected["f1"], 2 * sum((found & wanted).values()) / both)
    expected["em"] = float(any(normalise(prediction) == normalise(reference) for reference in full))
    assert {key: got[key] for key in KEYS} == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.sampled_from("甲乙丙丁"), max_size=200), st.lists(st.sampled_from("甲乙丙丁"), max_size=200))
def test_common_subsequence_is_the_table_s(overlap: ModuleType, left: list[str], right: list[str]) -> None:
    row = [0] * (len(right) + 1)
    for x in left:
        diagonal = 0
        for j, y in enumerate(right, 1):
            diagonal, row[j] = row[j], diagonal + 1 if x == y else max(row[j], row[j - 1])
    assert overlap.common_subsequence(left, right) == row[-1]


numbers = st.tuples(
    st.sampled_from(["", "-"]), st.integers(0, 10**7), st.sampled_from(["", ".0", ".2", ".25", ".05"]),
    st.sampled_from(["", "%"]),
)  # fmt: skip


@given(numbers, numbers, st.sampled_from(["{}", "约{}元", "({})", "为 {}。", '"{}"', "净利润:{}!", "共{}."]))
def test_corrected_numbers_are_equal_only_to_themselves(
    normalising: ModuleType, left: tuple[str, int, str, str], right: tuple[str, int, str, str], around: str
) -> None:
    normalise = normalising.normalise_keeping_numbers

    def written(number: tuple[str, int, str, str], form: str) -> str:
        sign, whole, fraction, percent = number
        return str(normalise(around.format(f"{sign}{whole:{form}}{fraction}{percent}")))

    assert written(left, ",") == written(left, "")
    assert (written(left, ",") == written(right, "")) == (left == right)


@given(text.map(lambda sentence: sentence.replace(",", "")) | st.text("0123456789.-%$/()+eEaA 亿", max_size=12))
def test_corrected_neither_joins_nor_parts_numbers(normalising: ModuleType, sentence: str) -> None:
    bare = normalising.normalise_keeping_numbers(sentence)
    assert re.findall(r"\d+", bare) == re.findall(r"\d+", sentence)
    assert bool(bare) == bool(sentence.strip())


def test_words_added_to_jieba_s_shared_dictionary_change_nothing(metric: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = ("年度报告披露", "年度报告的披露")
    before = [one(metric, *pair, profile) for profile in PROFILES]
    monkeypatch.setattr(jieba.dt, "FREQ", dict(jieba.dt.FREQ))  # put back afterwards, as the next line
    monkeypatch.setattr(jieba.dt, "total", jieba.dt.total)
    cut("一")
    jieba.add_word("年度报告披露")
    assert len(cut("年度报告披露")) == 1
    assert [one(metric, *pair, profile) for profile in PROFILES] == before


@pytest.mark.slow
def test_the_dictionary_is_read_at_the_first_use_in_silence(
    metrics_root: Path, python: Callable[..., Any], environment: Callable[..., dict[str, str]]
) -> None:
    code = """
        import sys, evaluate
        metric = evaluate.load(sys.argv[1])
        words = sys.modules[type(metric).__module__.rpartition(".")[0] + ".words"]
        metric.compute(predictions=["", None, "一"], references=["", "一", None])
        assert words.dictionary.cache_info().misses == 0
        metric.compute(predictions=["一"], references=["一"])
        metric.compute(predictions=["二"], references=["一"], profile="corrected")
        assert words.dictionary.cache_info().misses == 1
    """
    lines = "\n".join(line.strip() for line in code.splitlines())
    done = python(lines, metrics_root / "omnieval_overlap", env=environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


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
        "omnieval_overlap|version:1.0.0|profile:corrected|tokenizer:jieba-0.42.1|prompt:none|judge:none"
    )
