"""omnieval_overlap: the spec's vectors, the quirks of the authors' code one by one, and drawn texts by its oracles."""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import overlaps
import pytest
from hypothesis import given
from hypothesis import strategies as st
from overlaps import PROFILES, Tokens, cut, one, text
from rouge_chinese import Rouge

DATA = json.loads(Path(__file__).with_name("omnieval_overlap_vectors.json").read_text(encoding="utf-8"))
KEYS = overlaps.KEYS["omnieval_overlap"]
ROUGES = KEYS[2:]


@pytest.fixture(scope="module")
def overlap(load_file: Callable[[str], ModuleType]) -> ModuleType:
    return load_file("omnieval_overlap/scorer.py")


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", DATA["answers"] + DATA["quirks"], ids=lambda case: case["name"])
def test_vectors(metric: Any, case: dict[str, Any], profile: str) -> None:
    """The first are rounded to six digits; the quirks are whole."""
    got = one(metric, case["prediction"], case["references"], profile)
    near = 1e-12 if case in DATA["quirks"] else 1e-6
    assert [got[key] for key in KEYS] == [None if x is None else pytest.approx(x, abs=near) for x in case[profile]]


@pytest.mark.parametrize("case", DATA["normalised"], ids=lambda case: case["name"])
def test_normalised(overlap: ModuleType, case: dict[str, Any]) -> None:
    assert overlap.normalise(case["text"]) == case["official"]
    assert overlap.normalise_keeping_numbers(case["text"]) == case["corrected"]


@pytest.mark.parametrize("prediction", ["", " ", "\n", "\u3000\r\n"])
def test_official_rouge_is_0_where_rouge_chinese_raises_an_error(metric: Any, prediction: str) -> None:
    with pytest.raises(ValueError, match="empty"):
        Rouge().get_scores([" ".join(cut(prediction))], ["基金"])
    for pair in ((prediction, "基金"), ("基金", prediction)):
        got = one(metric, *pair)
        assert [got[key] for key in ROUGES] == [0.0] * 3
    # and the error over one accepted answer is nothing to the others
    assert one(metric, "基金", [prediction, "基金"])["rouge_l"] == one(metric, "基金", "基金")["rouge_l"]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("answer", ["基金", "", None])
@pytest.mark.parametrize("gold", [None, [], ()])
def test_an_item_without_an_accepted_answer_is_not_applicable(
    metric: Any, gold: Any, answer: str | None, profile: str
) -> None:
    got = metric.compute(predictions=["基金", answer], references=["基金", gold], profile=profile)
    assert got["em"] == 1.0 and (got["n_total"], got["n_scored"], got["unscored"]) == (2, 2, {})
    assert got["per_item"][1]["reasons"] == dict.fromkeys(KEYS, "not_applicable")


# Drawn texts: rouge-chinese, rouge_score and the definitions say the same

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
    metric: Any, overlap: ModuleType, prediction: str, references: list[str]
) -> None:
    got = one(metric, prediction, references)
    expected = by_rouge_chinese(prediction, references) | by_hand(overlap.normalise, prediction, references)
    assert {key: got[key] for key in KEYS} == pytest.approx(expected, abs=1e-12)


@given(text, golds)
def test_corrected_is_rouge_score_s_and_the_best_accepted_answer(
    metric: Any, overlap: ModuleType, prediction: str, references: list[str]
) -> None:
    normalise = overlap.normalise_keeping_numbers
    full = [reference for reference in references if reference.replace("\u200b", "").strip()]
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


numbers = st.tuples(
    st.sampled_from(["", "-"]), st.integers(0, 10**7), st.sampled_from(["", ".0", ".2", ".25", ".05"]),
    st.sampled_from(["", "%"]),
)  # fmt: skip


@given(numbers, numbers, st.sampled_from(["{}", "约{}元", "({})", "为 {}。", '"{}"', "净利润:{}!", "共{}."]))
def test_corrected_numbers_are_equal_only_to_themselves(
    overlap: ModuleType, left: tuple[str, int, str, str], right: tuple[str, int, str, str], around: str
) -> None:
    normalise = overlap.normalise_keeping_numbers

    def written(number: tuple[str, int, str, str], form: str) -> str:
        sign, whole, fraction, percent = number
        return str(normalise(around.format(f"{sign}{whole:{form}}{fraction}{percent}")))

    assert written(left, ",") == written(left, "")
    assert (written(left, ",") == written(right, "")) == (left == right)


@given(text.map(lambda sentence: sentence.replace(",", "")) | st.text("0123456789.-%$/()+eEaA 亿", max_size=12))
def test_corrected_neither_joins_nor_parts_numbers(overlap: ModuleType, sentence: str) -> None:
    bare = overlap.normalise_keeping_numbers(sentence)
    assert re.findall(r"\d+", bare) == re.findall(r"\d+", sentence)
    assert bool(bare) == bool(sentence.strip())
