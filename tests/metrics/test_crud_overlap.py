"""crud_overlap: the spec's vectors, the quirks of the authors' code one by one, and other people's BLEU and ROUGE."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import overlaps
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from overlaps import PROFILES, Tokens, cut, one, text

from quadrag.metrics._shared.scoring import fold

DATA = json.loads(Path(__file__).with_name("crud_overlap_vectors.json").read_text(encoding="utf-8"))
GOLD = "上海市体育局发放了500万元体育消费券。"
KEYS = overlaps.KEYS["crud_overlap"]
full = text.filter(bool)


def papineni(candidate: list[str], reference: list[str]) -> tuple[list[float], float, float]:
    """Precisions, brevity penalty and their product by the formulas of the paper, without a thought for speed."""
    precisions = []
    for n in range(1, 5):
        grams = [tuple(candidate[i : i + n]) for i in range(len(candidate) - n + 1)]
        wanted = [tuple(reference[i : i + n]) for i in range(len(reference) - n + 1)]
        clipped = sum(min(grams.count(gram), wanted.count(gram)) for gram in set(grams))
        precisions.append(clipped / len(grams) if grams else 0.0)
    c, r = len(candidate), len(reference)
    penalty = 1.0 if c > r else math.exp(1 - r / c)
    return precisions, penalty, penalty * math.prod(precisions) ** 0.25


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", DATA["pairs"], ids=lambda case: case["name"])
def test_vectors(metric: Any, case: dict[str, Any], profile: str) -> None:
    got = one(metric, case["prediction"], case["reference"], profile)
    assert got["bleu"] == pytest.approx(case["bleu" if profile == "official" else "bleu_bp"], abs=1e-6)
    assert got["bleu_bp"] == pytest.approx(case["bleu_bp"], abs=1e-6)
    assert [got[f"bleu_{n}"] for n in range(1, 5)] == pytest.approx(case["precisions"], abs=1e-6)
    assert got["rouge_l"] == pytest.approx(case["rouge_l"], abs=1e-6)
    assert got["length"] == len(case["prediction"])


@pytest.mark.parametrize("case", DATA["blanks"], ids=lambda case: case["name"])
def test_blanks_are_tokens_for_official_alone(metric: Any, case: dict[str, Any]) -> None:
    test_vectors(metric, case, "official")
    got = one(metric, case["prediction"], case["reference"], "corrected")
    assert (got["bleu_1"], got["rouge_l"]) == (1.0, 1.0)


def test_official_bleu_is_0_where_the_brevity_penalty_underflows(metric: Any) -> None:
    within, beyond = (one(metric, "，。；！", "，。；！" * times) for times in (700, 760))
    assert within["bleu"] == 1.0 and 0 < within["bleu_bp"] < 1e-300
    assert (beyond["bleu"], beyond["bleu_bp"], beyond["bleu_4"]) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(("prediction", "reference"), [("", GOLD), (GOLD, ""), ("", ""), (GOLD, None), ("", None)])
def test_official_loses_an_item_with_an_empty_text_from_every_metric(
    metric: Any, prediction: str, reference: str | None
) -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0]] * len(texts)

    alone = metric.compute(predictions=[GOLD], references=[GOLD], embed=embed)
    got = metric.compute(predictions=[GOLD, prediction], references=[GOLD, reference], embed=embed)
    assert got["per_item"][1] == dict.fromkeys([*KEYS, "bertscore"]) | {
        "reasons": dict.fromkeys([*KEYS, "bertscore"], why := "empty" if reference else "no gold answer")
    }
    assert (got["n_total"], got["n_scored"], got["unscored"]) == (2, 1, {why: 1})
    assert all(got[key] == alone[key] for key in (*KEYS, "bertscore"))


@pytest.mark.parametrize("gold", ["", None, [], [""], [None]])
@pytest.mark.parametrize("answer", [GOLD, "", None])
def test_corrected_has_no_use_for_an_item_without_a_gold_answer(metric: Any, answer: str | None, gold: Any) -> None:
    got = metric.compute(predictions=[GOLD, answer], references=[GOLD, gold], profile="corrected")
    assert got["bleu"] == got["bleu_over_scored"] == 1.0
    assert got["per_item"][1]["reasons"] == dict.fromkeys(KEYS, "not_applicable")
    assert (got["n_scored"], got["unscored"]) == (2, {})


@given(full, full, st.sampled_from(PROFILES))
def test_bleu_is_papineni_s(metric: Any, prediction: str, reference: str, profile: str) -> None:
    got = one(metric, prediction, reference, profile)
    if profile == "corrected":
        prediction, reference = fold(prediction), fold(reference)
        assume(prediction and reference)
    precisions, penalty, value = papineni(cut(prediction), cut(reference))
    assert [got[f"bleu_{n}"] for n in range(1, 5)] == pytest.approx(precisions, abs=1e-12)
    assert got["bleu_bp"] == pytest.approx(value, abs=1e-12)
    assert got["bleu"] == pytest.approx(value if profile == "corrected" else value / penalty, abs=1e-9)
    assert all(0 <= got[key] <= 1 for key in KEYS if key != "length")


@given(full, full)
def test_rouge_l_is_rouge_score_s(metric: Any, prediction: str, reference: str) -> None:
    from rouge_score import rouge_scorer  # with nltk: two seconds

    oracle = rouge_scorer.RougeScorer(["rougeL"], tokenizer=Tokens())
    expected = oracle.score(reference, prediction)["rougeL"].fmeasure
    assert one(metric, prediction, reference)["rouge_l"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("case", DATA["cosines"], ids=lambda case: case["name"])
def test_cosine(metric: Any, case: dict[str, Any]) -> None:
    vectors = {"左": case["left"], "右": case["right"]}
    got = one(metric, "左", "右", embed=lambda texts: [vectors[text] for text in texts])
    assert got["bertscore"] == pytest.approx(case["cosine"], abs=1e-6) and -1 <= got["bertscore"] <= 1


def test_embed_is_called_once_with_each_text_once(metric: Any) -> None:
    asked: list[list[str]] = []

    def embed(texts: list[str]) -> Any:
        asked.append(texts)
        return np.array([[len(text), 1] for text in texts], dtype=np.float16)

    answers = ["甲", "乙乙", " 甲\n", "", None, "\u3000", "乙乙"]
    golds = ["甲甲甲", "甲", "甲", "丙", "丙", "丁", "\t"]
    got = metric.compute(predictions=answers, references=golds, embed=embed, profile="corrected")
    assert asked == [["甲", "甲甲甲", "乙乙"]]
    values = [row["bertscore"] for row in got["per_item"]]
    assert values[:3] == pytest.approx([4 / math.sqrt(2 * 10), 3 / math.sqrt(5 * 2), 1.0])
    assert values[3:] == [0.0, None, 0.0, None]


def test_an_embedding_model_signs_by_its_name(metric: Any) -> None:
    def embed(texts: list[str]) -> Any:
        return np.ones((len(texts), 2))

    given = {"predictions": ["甲"], "references": ["甲"], "embed": embed}
    assert "|embed:unnamed|" in metric.compute(**given)["signature"]
    embed.model = "text2vec-base-chinese"  # type: ignore[attr-defined]
    assert "|embed:text2vec-base-chinese|" in metric.compute(**given)["signature"]
