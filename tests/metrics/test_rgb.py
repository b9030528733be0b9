"""RGB's three metrics: labels, whole numbers and words, phrases, judged rejection and detection, and correction."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

VECTORS = json.loads(Path(__file__).with_name("rgb_vectors.json").read_text(encoding="utf-8"))
ROWS = VECTORS["error_rows"]
PROFILES = ("official", "corrected")
REFUSAL = "I can not answer the question because of the insufficient information in documents."
YES, NO = "Yes, the model has identified the factual errors.", "No, the model has not identified the factual errors."
JUDGED = {"rejection_rate": "rejection_rate_judged", "error_detection": "error_detection_judged"}
text = st.text(alphabet="ab70.,  辆年Σς", max_size=12)
word = st.text(alphabet="ab70. 辆Σ", max_size=3)
gold = st.one_of(word, st.lists(st.one_of(word, st.lists(word, max_size=3)), max_size=3))


@pytest.fixture(scope="module")
def accuracy(load_metric: Callable[[str], Any]) -> Any:
    return load_metric("rgb_accuracy")


@pytest.fixture(scope="module")
def rejection(load_metric: Callable[[str], Any]) -> Any:
    return load_metric("rejection_rate")


@pytest.fixture(scope="module")
def detection(load_metric: Callable[[str], Any]) -> Any:
    return load_metric("error_detection")


def values(got: Any, key: str) -> list[float | None]:
    return [row[key] for row in got["per_item"]]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", VECTORS["labels"], ids=lambda case: case["name"])
def test_labels_and_an_item_counts_if_no_part_is_0_and_one_is_1(
    case: dict[str, Any], profile: str, rgb: ModuleType, accuracy: Any
) -> None:
    assert rgb.label(case["prediction"], case["gold"], case["language"], profile) == case[profile]
    given = {"predictions": [case["prediction"]], "references": [case["gold"]], "language": case["language"]}
    expected = float(0 not in case[profile] and 1 in case[profile])
    assert accuracy.compute(**given, profile=profile)["accuracy"] == expected


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", VECTORS["bounded"], ids=lambda c: f"{c['gold']} in {c['prediction']} {c['language']}")
def test_bounded(case: dict[str, Any], profile: str, accuracy: Any) -> None:
    given = {"predictions": [case["prediction"]], "references": [case["gold"]], "language": case["language"]}
    assert accuracy.compute(**given, profile=profile)["accuracy_bounded"] == case[profile]


def test_one_reference_in_every_shape_and_every_part_whole(accuracy: Any) -> None:
    golds = ["a", ["a"], [["a"]], ["a", "x"], [["a", "x"]], ["a", ["x", "b"]], ("a", ("x", "b")), [["a"], ["x"]]]
    got = accuracy.compute(predictions=["a b"] * len(golds), references=golds)
    assert values(got, "accuracy") == values(got, "accuracy_bounded") == [1, 1, 1, 0, 1, 1, 1, 0]
    golds = [["70", "art"], ["70", "art"], [["7", "70"], "art"]]
    got = accuracy.compute(predictions=["70 art", "70 party", "70 art"], references=golds)
    assert values(got, "accuracy_bounded") == [1.0, 0.0, 1.0] and got["accuracy"] == 1.0


@pytest.mark.pure
@given(text, gold, st.data())
def test_corrected_zh_is_blind_to_spaces(rgb: ModuleType, answer: str, accepted: Any, data: Any) -> None:
    cut = data.draw(st.integers(0, len(answer)))
    spaced = f"{answer[:cut]} {answer[cut:]}"
    assert rgb.label(spaced, accepted, "zh", "corrected") == rgb.label(answer, accepted, "zh", "corrected")
    bare = [[s.replace(" ", "") for s in part] for part in rgb.parts(accepted)]
    assert rgb.label(answer, bare, "zh", "corrected") == rgb.label(answer, accepted, "zh", "corrected")


@pytest.mark.pure
@given(text, gold, st.sampled_from(("en", "zh")), st.sampled_from(PROFILES), st.integers(0, 9999), st.integers(0, 9999))
def test_bounded_is_a_subset_and_finds_a_number_only_as_itself(
    rgb: ModuleType, answer: str, accepted: Any, language: str, profile: str, said: int, wanted: int
) -> None:
    if rgb.bounded(answer, accepted, language, profile):
        assert rgb.correct(rgb.label(answer, accepted, language, profile))
    assert rgb.bounded(f"It is {said}.", str(wanted)) == (said == wanted)


def test_phrases_and_the_credit_for_a_correct_answer(rejection: Any) -> None:
    got = rejection.compute(
        predictions=[REFUSAL, "70", "", "文档信息不足，因此我无法回答。", "Insufficient information"]
    )
    assert values(got, "rejection_rate") == [1.0, 0.0, 0.0, 1.0, 0.0]
    assert not {"unsupported_correct", "rejection_rate_judged"} & set(got)
    for profile, rejected in (("official", [1.0, 1.0, 0.0]), ("corrected", [1.0, 0.0, 0.0])):
        got = rejection.compute(predictions=[REFUSAL, "70", "80"], references=["70"] * 3, profile=profile)
        assert values(got, "rejection_rate") == rejected and values(got, "unsupported_correct") == [0.0, 1.0, 0.0]
    got = rejection.compute(predictions=["信息不足，但答案是70"], references=["70"], language="zh")
    assert (got["rejection_rate"], got["unsupported_correct"]) == (1.0, 0.0)


def test_an_english_phrase_in_a_chinese_set_is_known_to_corrected_alone(rejection: Any, detection: Any) -> None:
    found = "There are factual errors in the provided documents. 70"
    for profile, value in zip(PROFILES, (0.0, 1.0), strict=True):
        more: dict[str, Any] = {"language": "zh", "profile": profile}
        assert rejection.compute(predictions=[REFUSAL], **more)["rejection_rate"] == value
        assert detection.compute(predictions=[found], references=["70"], **more)["error_detection"] == value


@pytest.mark.filterwarnings("ignore:.*verdicts:UserWarning")
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("name", "cases"), [("rejection_rate", "rejection"), ("error_detection", "detection")])
def test_verdicts(load_metric: Callable[[str], Any], scripted: Any, name: str, cases: str, profile: str) -> None:
    rows = VECTORS[f"{cases}_verdicts"]
    n, judge = len(rows), scripted([case["verdict"] for case in rows])
    given = {"predictions": ["70"] * n, "references": ["70"] * n, "questions": ["q"] * n}
    got = load_metric(name).compute(**given, judge=judge, profile=profile)
    assert values(got, JUDGED[name]) == [case[profile] for case in rows]
    unread = sum(case[profile] is None for case in rows)
    assert got["unscored"] == ({"unparsable": unread} if unread else {})
    if name == "error_detection":
        assert values(got, "error_correction") == [1.0 if case[profile] else None for case in rows]


@pytest.mark.filterwarnings("ignore:.*verdicts:UserWarning")
def test_a_failed_verdict_is_unscored_with_its_reason(rejection: Any, scripted: Any, failure: Any) -> None:
    no = "No, the question is not addressed by the documents."
    replies = [no, failure("truncated"), failure("api_error"), failure("odd"), failure(None), None]
    kwargs = {"predictions": ["x"] * 6, "judge": scripted(replies), "questions": ["q"] * 6}
    got = rejection.compute(**kwargs)
    assert got["unscored"] == {"truncated": 1, "api_error": 4} and got["n_scored"] == 1
    assert got["per_item"][1]["reasons"] == {"rejection_rate_judged": "truncated"}
    assert (got["rejection_rate"], got["rejection_rate_judged"], got["valid"]) == (0.0, 1.0, False)
    corrected = rejection.compute(**kwargs, profile="corrected")
    assert corrected["rejection_rate_judged"] == 1 / 6 and corrected["rejection_rate_judged_over_scored"] == 1.0


def test_the_judge_is_asked_once_and_only_about_answers(rejection: Any, scripted: Any) -> None:
    judge = scripted(["not addressed", "addressed"])
    asked = {"predictions": ["{question}", None, ""], "questions": ["Q1 {x}", "Q2", "Q3"]}
    got = rejection.compute(**asked, judge=judge, profile="corrected")
    assert values(got, "rejection_rate_judged") == [1.0, None, 0.0]
    (batch,) = judge.batches
    first, last = (request[0]["content"] for request in batch)
    assert "<question>Q1 {x}</question>\n<answer>{question}</answer>" in first
    assert "<question>Q3</question>\n<answer></answer>" in last and "Q2" not in first + last
    got = rejection.compute(predictions=[None], judge=(silent := scripted([])), questions=["q"])
    assert silent.batches == [] and got["rejection_rate_judged"] is None


@pytest.mark.parametrize("name", JUDGED)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_prompt_closes_with_the_protocol_s_sentences(
    load_file: Callable[[str], ModuleType], name: str, language: str
) -> None:
    prompts = load_file(f"{name}/prompts.py")
    closing = prompts.PROMPTS[language].rstrip().splitlines()[-2:]
    read = [[prompts.READER.read(line, profile) for line in closing] for profile in PROFILES]
    assert read == [[0.0, 1.0] if name == "rejection_rate" else [1.0, 0.0]] * 2
    assert all(prompts.PROMPTS[language].count(slot) == 1 for slot in ("{question}", "{answer}"))


@pytest.mark.pure
@given(st.one_of(st.text(), st.text(alphabet="not adresun hiyf'’ \n")), st.sampled_from(PROFILES))
@example("not " * 20_000 + "addressed", "corrected")
@example("\n" * 50_000 + "has " * 20_000 + "identified", "corrected")
def test_reading_a_verdict_never_raises(load_file: Callable[[str], ModuleType], verdict: str, profile: str) -> None:
    for name in JUDGED:
        assert load_file(f"{name}/prompts.py").READER.read(verdict, profile) in (0.0, 1.0, None)


def rows(**kwargs: Any) -> dict[str, Any]:
    golds = [ROWS["gold"]] * len(ROWS["predictions"])
    return {"predictions": ROWS["predictions"], "references": golds, "language": ROWS["language"], **kwargs}


def test_the_worked_example(rgb: ModuleType, detection: Any, scripted: Any) -> None:
    for answer, labels, found in zip(ROWS["predictions"], ROWS["labels"], ROWS["factlabels"], strict=True):
        assert rgb.label(answer, ROWS["gold"], ROWS["language"]) == labels
        assert rgb.says(answer, rgb.FACTUAL_ERROR, ROWS["language"]) == found
    # By the phrase official lets a rejection pass as corrected; by the judge's verdict no profile does.
    for profile, second in zip(PROFILES, (1.0, 0.0), strict=True):
        got = detection.compute(**rows(profile=profile))
        assert {key: got[key] for key in ROWS["profiles"][profile]} == pytest.approx(ROWS["profiles"][profile])
        assert values(got, "error_correction") == [1.0, second, 0.0, None]
        got = detection.compute(**rows(judge=scripted([NO, YES, YES, YES]), questions=["q"] * 4, profile=profile))
        assert values(got, "error_detection") == [1.0, 1.0, 1.0, 0.0]
        assert values(got, "error_detection_judged") == [0.0, 1.0, 1.0, 1.0]
        assert values(got, "error_correction") == [None, 0.0, 0.0, 1.0] and got["error_correction"] == 1 / 3


def test_nothing_detected(detection: Any) -> None:
    got = detection.compute(predictions=["70", ""], references=["70", "70"], profile="corrected")
    assert (got["error_detection"], got["error_correction"], got["n_scored"]) == (0.0, None, 2)
    assert got["per_item"][0]["reasons"] == {"error_correction": "not_applicable"}


@pytest.mark.filterwarnings("ignore:.*verdicts:UserWarning")
def test_a_failed_item_is_unscored_in_detection_and_in_correction(detection: Any, scripted: Any, failure: Any) -> None:
    said, judge = "存在事实性错误，答案是70", scripted([failure("truncated"), YES])
    given = {"predictions": [said, None, said], "references": ["70"] * 3, "questions": ["q"] * 3}
    got = detection.compute(**given, judge=judge, profile="corrected")
    assert got["error_detection"] == 2 / 3 and got["error_detection_judged"] == 1 / 3
    assert values(got, "error_correction") == [None, None, 1.0] and got["error_correction"] == 1 / 3
    assert got["error_correction_over_scored"] == 1.0 and got["n_scored"] == 1
    assert got["per_item"][0]["reasons"] == dict.fromkeys(["error_detection_judged", "error_correction"], "truncated")
    assert got["per_item"][1]["reasons"]["error_detection"] == "api_error"
    assert got["unscored"] == {"truncated": 1, "api_error": 1}
