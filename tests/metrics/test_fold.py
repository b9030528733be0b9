"""Texts that differ in writing alone are the same under `corrected`; `official` compares letter by letter."""

from pathlib import Path
from typing import Any

import pytest
import yaml

CASES = yaml.safe_load(Path(__file__).with_name("fold_cases.yaml").read_text(encoding="utf-8"))
PROFILES = ("official", "corrected")


def value(metric: Any, key: str, answer: str, gold: Any = None, profile: str = "corrected", **options: Any) -> Any:
    references = None if gold is None else [gold]
    return metric.compute(predictions=[answer], references=references, profile=profile, **options)[key]


@pytest.mark.parametrize(("language", "gold", "answer", "held"), [(k, *c) for k in ("en", "zh") for c in CASES[k]])
def test_an_answer_holds_its_gold(load_metric: Any, language: str, gold: str, answer: str, held: bool) -> None:
    metric = load_metric("rgb_accuracy")
    assert value(metric, "accuracy_bounded", answer, gold, language=language) == held
    if held:
        assert value(metric, "accuracy", f"It is {answer}.", gold, language=language) == 1


@pytest.mark.parametrize(("gold", "answer", "same"), CASES["exact_match"])
def test_exact_match(load_metric: Any, gold: str, answer: str, same: bool) -> None:
    metric = load_metric("omnieval_overlap")
    assert value(metric, "em", answer, gold) == same
    assert (value(metric, "f1", answer, gold) == 1) == same


@pytest.mark.parametrize(
    ("answer", "missing"), [(c, s == "refusals") for s in ("refusals", "answers") for c in CASES[s]]
)
def test_refusals(load_metric: Any, answer: str, missing: bool) -> None:
    judge = ['{"score": 0}'].__mul__
    got = load_metric("truthfulness").compute(
        predictions=[answer],
        references=["1987"],
        profile="corrected",
        questions=["When?"],
        judge=lambda batch: judge(len(batch)),
    )
    assert (got["missing"], got["hallucination"]) == ((1, 0) if missing else (0, 1))


@pytest.mark.parametrize("metric", ["rejection_rate", "error_detection"])
def test_fixed_phrases(load_metric: Any, metric: str) -> None:
    for language, answer, official, corrected in CASES[metric]:
        gold = "Oslo" if metric == "error_detection" else None
        got = [value(load_metric(metric), metric, answer, gold, profile, language=language) for profile in PROFILES]
        assert got == [official, corrected], answer


@pytest.mark.parametrize("metric", ["rejection_rate", "error_detection"])
def test_verdicts(load_metric: Any, metric: str) -> None:
    gold = "Oslo" if metric == "error_detection" else None
    for verdict, corrected in CASES[f"{metric}_verdicts"]:
        options = {"judge": lambda batch, verdict=verdict: [verdict] * len(batch), "questions": ["Where?"]}
        got = load_metric(metric).compute(
            predictions=["It says so."], references=gold and [gold], profile="corrected", **options
        )
        assert got["per_item"][0][f"{metric}_judged"] == corrected, verdict


@pytest.mark.parametrize(("metric", "verdict", "key", "value"), CASES["field_verdicts"])
def test_verdicts_of_a_field(load_metric: Any, metric: str, verdict: str, key: str, value: float | None) -> None:
    got = load_metric(metric).compute(
        predictions=["x"],
        references=["y"],
        questions=["q"],
        judge=lambda batch: [verdict] * len(batch),
        profile="corrected",
        **({"contexts": ["p"]} if metric == "omnieval" else {}),
    )
    assert got["per_item"][0][key] == value
