"""omnieval_overlap on drawn texts: rouge-chinese, rouge_score and the definitions say the same."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import overlaps
import pytest
from hypothesis import given
from hypothesis import strategies as st
from overlaps import PIECES, Tokens, cut, one, text
from rouge_chinese import Rouge

KEYS = overlaps.KEYS["omnieval_overlap"]
ROUGES = KEYS[2:]
golds = st.lists(text, min_size=1, max_size=3)


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
