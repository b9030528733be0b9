"""rejection_rate: phrase, credit for a correct answer, judge."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

VERDICTS = json.loads(Path(__file__).with_name("rgb_vectors.json").read_text(encoding="utf-8"))["rejection_verdicts"]
REFUSAL = "I can not answer the question because of the insufficient information in documents."
PROFILES = ("official", "corrected")


@pytest.fixture(scope="module")
def metric(load_metric: Callable[[str], Any]) -> Any:
    return load_metric("rejection_rate")


@pytest.fixture(scope="module")
def prompts(load_file: Callable[[str], ModuleType]) -> ModuleType:
    return load_file("rejection_rate/prompts.py")


def values(got: Any, key: str) -> list[float | None]:
    return [row[key] for row in got["per_item"]]


def test_phrase_alone_needs_no_references(metric: Any) -> None:
    got = metric.compute(predictions=[REFUSAL, "70", "", "文档信息不足，因此我无法回答。"])
    assert values(got, "rejection_rate") == [1.0, 0.0, 0.0, 1.0]
    assert "unsupported_correct" not in got and "rejection_rate_judged" not in got


def test_official_credits_a_correct_answer_at_noise_1(metric: Any) -> None:
    answers, golds = [REFUSAL, "70", "80"], ["70", "70", "70"]
    official = metric.compute(predictions=answers, references=golds)
    corrected = metric.compute(predictions=answers, references=golds, profile="corrected")
    assert values(official, "rejection_rate") == [1.0, 1.0, 0.0]
    assert values(corrected, "rejection_rate") == [1.0, 0.0, 0.0]
    for got in (official, corrected):
        assert values(got, "unsupported_correct") == [0.0, 1.0, 0.0]


def test_a_rejection_with_the_answer_is_not_unsupported_correct(metric: Any) -> None:
    got = metric.compute(predictions=["信息不足，但答案是70"], references=["70"], language="zh")
    assert (got["rejection_rate"], got["unsupported_correct"]) == (1.0, 0.0)


def test_the_phrase_is_case_sensitive(metric: Any) -> None:
    assert metric.compute(predictions=["Insufficient information"])["rejection_rate"] == 0.0


def test_an_english_phrase_in_a_chinese_set_is_known_to_corrected_alone(metric: Any) -> None:
    got = [metric.compute(predictions=[REFUSAL], language="zh", profile=p)["rejection_rate"] for p in PROFILES]
    assert got == [0.0, 1.0]


@pytest.mark.parametrize("profile", PROFILES)
def test_verdicts(metric: Any, scripted: Any, profile: str) -> None:
    judge = scripted([case["verdict"] for case in VERDICTS])
    n = len(VERDICTS)
    got = metric.compute(predictions=["x"] * n, judge=judge, questions=["q"] * n, profile=profile)
    assert values(got, "rejection_rate_judged") == [case[profile] for case in VERDICTS]
    unread = sum(case[profile] is None for case in VERDICTS)
    assert got["unscored"] == ({"unparsable": unread} if unread else {})


def test_a_failed_verdict_is_unscored_with_its_reason(metric: Any, scripted: Any, failure: Any) -> None:
    no = "No, the question is not addressed by the documents."
    replies = [no, failure("truncated"), failure("api_error"), failure("odd"), failure(None), None]
    kwargs = {"predictions": ["x"] * 6, "judge": scripted(replies), "questions": ["q"] * 6}
    got = metric.compute(**kwargs)
    assert got["unscored"] == {"truncated": 1, "api_error": 4} and got["n_scored"] == 1
    assert got["per_item"][1]["reasons"] == {"rejection_rate_judged": "truncated"}
    assert (got["rejection_rate"], got["rejection_rate_judged"]) == (0.0, 1.0)
    corrected = metric.compute(**kwargs, profile="corrected")
    assert corrected["rejection_rate_judged"] == 1 / 6 and corrected["rejection_rate_judged_over_scored"] == 1.0


def test_the_judge_is_asked_once_and_only_about_answers(metric: Any, scripted: Any) -> None:
    judge = scripted(["not addressed", "addressed"])
    got = metric.compute(
        predictions=["{question}", None, ""],
        questions=["Q1 {x}", "Q2", "Q3"],
        judge=judge,
        profile="corrected",
    )
    assert values(got, "rejection_rate_judged") == [1.0, None, 0.0]
    (batch,) = judge.batches
    first, last = (request[0]["content"] for request in batch)
    assert "<question>Q1 {x}</question>\n<answer>{question}</answer>" in first
    assert "<question>Q3</question>\n<answer></answer>" in last and "Q2" not in first + last


@pytest.mark.parametrize("answers", [[], [None]])
def test_the_judge_is_not_called_without_answers(metric: Any, scripted: Any, answers: list[None]) -> None:
    judge = scripted([])
    got = metric.compute(predictions=answers, judge=judge, questions=["q"] * len(answers))
    assert judge.batches == [] and got["rejection_rate_judged"] is None


def test_signature_names_prompt_and_judge(metric: Any, scripted: Any) -> None:
    kwargs = {"predictions": ["x"], "questions": ["q"], "judge": scripted(["addressed"])}
    ours = metric.compute(**kwargs)["signature"].split("|")
    chinese = metric.compute(**kwargs, language="zh")["signature"].split("|")
    theirs = metric.compute(**kwargs, prompt="Q {question} A {answer}", references=["x"])["signature"].split("|")
    assert ours[-1] == "judge:scripted-1" and ours[4] == "references:no" and theirs[4] == "references:yes"
    prompts = {
        ours[-2],
        chinese[-2],
        theirs[-2],
        metric.compute(predictions=["x"])["signature"].split("|")[-2],
    }
    assert len(prompts) == 4 and "prompt:none" in prompts


@pytest.mark.parametrize("language", ["en", "zh"])
def test_our_prompt_holds_the_fixed_strings(prompts: ModuleType, language: str) -> None:
    text = prompts.PROMPTS[language]
    assert "not addressed" in text and "{question}" in text and "{answer}" in text
    closing = text.rstrip().splitlines()[-2:]
    assert [prompts.read(line, profile) for line in closing for profile in PROFILES] == [0.0, 0.0, 1.0, 1.0]


@pytest.mark.pure
@given(st.one_of(st.text(), st.text(alphabet="not adresun'’ \n")), st.sampled_from(PROFILES))
@example("not " * 20_000 + "addressed", "corrected")
def test_reading_a_verdict_never_raises(prompts: ModuleType, verdict: str, profile: str) -> None:
    assert prompts.read(verdict, profile) in (0.0, 1.0, None)


def test_references_for_some_items_only(metric: Any) -> None:
    with pytest.raises(ValueError, match="references has 1 entries for 2 predictions; give all or none"):
        metric.compute(predictions=["a", "b"], references=["a", None])
