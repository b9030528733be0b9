"""error_detection: phrase, judge, and correction over what was detected."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

VECTORS = json.loads(Path(__file__).with_name("rgb_vectors.json").read_text(encoding="utf-8"))
VERDICTS, ROWS = VECTORS["detection_verdicts"], VECTORS["error_rows"]
PROFILES = ("official", "corrected")
YES, NO = (
    "Yes, the model has identified the factual errors.",
    "No, the model has not identified the factual errors.",
)


@pytest.fixture(scope="module")
def metric(load_metric: Callable[[str], Any]) -> Any:
    return load_metric("error_detection")


@pytest.fixture(scope="module")
def prompts(load_file: Callable[[str], ModuleType]) -> ModuleType:
    return load_file("error_detection/prompts.py")


def values(got: Any, key: str) -> list[float | None]:
    return [row[key] for row in got["per_item"]]


def rows(**kwargs: Any) -> dict[str, Any]:
    golds = [ROWS["gold"]] * len(ROWS["predictions"])
    return {"predictions": ROWS["predictions"], "references": golds, "language": ROWS["language"], **kwargs}


def test_the_rows_of_the_worked_example(rgb: ModuleType) -> None:
    for answer, labels, found in zip(ROWS["predictions"], ROWS["labels"], ROWS["factlabels"], strict=True):
        assert rgb.label(answer, ROWS["gold"], ROWS["language"]) == labels
        assert rgb.says(answer, rgb.FACTUAL_ERROR, ROWS["language"]) == found


@pytest.mark.parametrize("profile", PROFILES)
def test_worked_example(metric: Any, profile: str) -> None:
    got = metric.compute(**rows(profile=profile))
    for key, value in ROWS["profiles"][profile].items():
        assert got[key] == pytest.approx(value, abs=1e-6)


def test_official_phrase_rule_lets_a_rejection_pass_as_corrected(metric: Any) -> None:
    official, corrected = (metric.compute(**rows(profile=p)) for p in PROFILES)
    assert values(official, "error_correction") == [1.0, 1.0, 0.0, None]
    assert values(corrected, "error_correction") == [1.0, 0.0, 0.0, None]


def test_the_judged_rule_never_lets_a_rejection_pass(metric: Any, scripted: Any) -> None:
    for profile in PROFILES:
        got = metric.compute(**rows(judge=scripted([NO, YES, YES, YES]), questions=["q"] * 4, profile=profile))
        assert values(got, "error_detection") == [1.0, 1.0, 1.0, 0.0]
        assert values(got, "error_detection_judged") == [0.0, 1.0, 1.0, 1.0]
        assert values(got, "error_correction") == [None, 0.0, 0.0, 1.0]
        assert got["error_correction"] == 1 / 3


def test_an_english_phrase_in_a_chinese_set_is_known_to_corrected_alone(metric: Any) -> None:
    answer = ["There are factual errors in the provided documents. 70"]
    got = [metric.compute(predictions=answer, references=["70"], language="zh", profile=p) for p in PROFILES]
    assert [one["error_detection"] for one in got] == [0.0, 1.0]


def test_nothing_detected(metric: Any) -> None:
    got = metric.compute(predictions=["70", ""], references=["70", "70"], profile="corrected")
    assert (got["error_detection"], got["error_correction"], got["n_scored"]) == (0.0, None, 2)
    assert got["per_item"][0]["reasons"] == {"error_correction": "not_applicable"}


@pytest.mark.parametrize("profile", PROFILES)
def test_verdicts(metric: Any, scripted: Any, profile: str) -> None:
    judge, n = scripted([case["verdict"] for case in VERDICTS]), len(VERDICTS)
    got = metric.compute(
        predictions=["70"] * n, references=["70"] * n, judge=judge, questions=["q"] * n, profile=profile
    )
    assert values(got, "error_detection_judged") == [case[profile] for case in VERDICTS]
    assert values(got, "error_correction") == [1.0 if case[profile] else None for case in VERDICTS]


def test_a_failed_item_is_unscored_in_detection_and_in_correction(metric: Any, scripted: Any, failure: Any) -> None:
    said = "存在事实性错误，答案是70"
    got = metric.compute(
        predictions=[said, None, said],
        references=["70"] * 3,
        judge=scripted([failure("truncated"), YES]),
        questions=["q"] * 3,
        profile="corrected",
    )
    assert got["error_detection"] == 2 / 3 and got["error_detection_judged"] == 1 / 3
    assert values(got, "error_correction") == [None, None, 1.0] and got["error_correction"] == 1 / 3
    assert got["error_correction_over_scored"] == 1.0
    assert got["per_item"][0]["reasons"] == {
        "error_detection_judged": "truncated",
        "error_correction": "truncated",
    }
    assert got["per_item"][1]["reasons"]["error_detection"] == "api_error"
    assert got["unscored"] == {"truncated": 1, "api_error": 1} and got["n_scored"] == 1


@pytest.mark.parametrize("language", ["en", "zh"])
def test_our_prompt_holds_the_fixed_strings(prompts: ModuleType, language: str) -> None:
    text = prompts.PROMPTS[language]
    assert "has identified" in text and "Yes" in text and "{question}" in text and "{answer}" in text
    closing = text.rstrip().splitlines()[-2:]
    assert [prompts.read(line, profile) for line in closing for profile in PROFILES] == [1.0, 1.0, 0.0, 0.0]


@pytest.mark.pure
@given(st.one_of(st.text(), st.text(alphabet="yesno hasidntf'’\n")), st.sampled_from(PROFILES))
@example("\n" * 50_000 + "has " * 20_000 + "identified", "corrected")
def test_reading_a_verdict_never_raises(prompts: ModuleType, verdict: str, profile: str) -> None:
    assert prompts.read(verdict, profile) in (0.0, 1.0, None)
