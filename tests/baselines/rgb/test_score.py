"""The score stage against numbers worked by hand: rows, items, missing answers, judges."""

from collections import Counter

import pytest
from score_rows import as_rows
from specs import spec_of

from quadrag.baselines.rgb import benchmark as rgb
from quadrag.records import Answer, Question
from quadrag.scoring import drive
from quadrag.scoring.drive import ScoringInputs

REFUSAL = "I can not answer the question because of the insufficient information in documents."
ERRORS = "There are factual errors in the provided documents."
NO = "No, the question is not addressed by the documents."


def score(questions, answers, *judges):
    config = next(iter(questions))[0]
    lines, scores = drive.score(ScoringInputs(rgb.BENCHMARK, questions, spec_of("rgb", config), judges), answers)
    return lines, as_rows(scores)


def asked(config, golds, split="test"):
    questions = [
        Question("rgb", config, split, str(rank), f"question {rank}", [[gold]], config[-2:])
        for rank, gold in enumerate(golds)
    ]
    return {question.key: question for question in questions}


def answered(questions, texts):
    return [
        Answer("rgb", *key, 0, text)
        if text not in ("api_error", "truncated")
        else Answer("rgb", *key, 0, None, state=text)
        for key, text in zip(questions, texts, strict=True)
    ]


def row(scores, key, profile):
    (found,) = [one for one in scores if (one["key"], one["profile"]) == (key, profile)]
    return found


def recomputed(lines, name, profile):
    """The mean of one metric, from lines of items.jsonl alone, as the profiles are defined."""
    entries = [line[name] for line in lines]
    values = [entry[profile] for entry in entries if entry[profile] is not None]
    if profile == "official":
        return sum(values) / len(values) if values else None
    counted = [e for e in entries if e[profile] is not None or e["reason"][profile] != "not_applicable"]
    return sum(values) / len(counted) if counted else None


def check_means(lines, scores):
    for one in scores:
        if "not_run" not in one:
            name = f"{one['metric']}.{one['key']}"
            place = [line for line in lines if (line["config"], line["split"]) == (one["config"], one["split"])]
            assert one["value"] == pytest.approx(recomputed(place, name, one["profile"])), (name, one["profile"])
            assert one["n_total"] == one["n_scored"] + one["n_not_applicable"] + sum(one["unscored"].values())


REJECTION = (
    asked("negative_rejection_en", ["Oslo", "Lisbon", "Rome", "Paris"]),
    [REFUSAL, "It is Lisbon.", "It is Bern.", "api_error"],
)


def test_accuracy_worked_by_hand():
    questions = asked("noise_robustness_en", ["Oslo", "70", "Rome", "Bern"], "noise_0")
    answers = answered(questions, ["oslo!", "about 170", "Paris", "truncated"])
    lines, scores = score(questions, answers)
    assert [line["rgb_accuracy.accuracy"]["official"] for line in lines] == [1.0, 1.0, 0.0, None]
    assert [line["rgb_accuracy.accuracy_bounded"]["official"] for line in lines] == [1.0, 0.0, 0.0, None]
    reasons = dict.fromkeys(("official", "corrected"), "truncated")
    assert lines[3]["rgb_accuracy.accuracy"] == {"official": None, "corrected": None, "reason": reasons}
    place = [lines[0][name] for name in ("benchmark", "config", "split", "id", "sample")]
    assert place == ["rgb", "noise_robustness_en", "noise_0", "0", 0]
    official, corrected = row(scores, "accuracy", "official"), row(scores, "accuracy", "corrected")
    assert official["value"] == pytest.approx(2 / 3)
    assert corrected["value"] == pytest.approx(2 / 4)
    assert corrected["over_scored"] == pytest.approx(2 / 3)
    assert official["unscored"] == {"truncated": 1} and official["n_total"] == 4 and official["n_scored"] == 3
    assert official["slice"] == "all" and official["split"] == "noise_0"
    low, high = official["interval"]
    assert 0 <= low < official["value"] < high <= 1
    assert "profile:official" in official["signature"] and "profile:corrected" in corrected["signature"]
    check_means(lines, scores)


def test_rejection_with_a_plain_function_as_judge():
    questions, texts = REJECTION
    batches = []

    def judge(batch):
        batches.append(batch)
        return [NO if "Bern" in chat[-1]["content"] else "hm" for chat in batch]

    lines, scores = score(questions, answered(questions, texts), judge)
    name = "rejection_rate.rejection_rate_judged"
    assert [line[name]["official"] for line in lines] == [0.0, 0.0, 1.0, None]
    assert [line[name]["corrected"] for line in lines] == [None, None, 1.0, None]
    reasons = [line[name].get("reason", {}) for line in lines]
    assert [reason.get("corrected") for reason in reasons] == ["unparsable", "unparsable", None, "api_error"]
    assert [reason.get("official") for reason in reasons] == [None, None, None, "api_error"]
    assert row(scores, "rejection_rate_judged", "official")["value"] == pytest.approx(1 / 3)
    corrected = row(scores, "rejection_rate_judged", "corrected")
    assert corrected["value"] == pytest.approx(1 / 4)
    assert corrected["unscored"] == {"api_error": 1, "unparsable": 2}
    assert corrected["over_scored"] == 1.0
    assert "judge:none" in corrected["signature"], "a function without a model's name"
    asked_for = Counter(chat[-1]["content"] for batch in batches for chat in batch)
    assert len(asked_for) == 3 and set(asked_for.values()) == {1}, "every answer is judged once, a missing one never"
    assert all("question" in content for content in asked_for)
    check_means(lines, scores)


def test_no_answer_at_all_and_no_answers():
    questions = asked("noise_robustness_zh", ["甲", "乙"], "noise_0")
    lines, scores = score(questions, answered(questions, ["api_error", "api_error"]))
    assert row(scores, "accuracy", "official")["value"] is None
    assert row(scores, "accuracy", "official")["interval"] is None
    assert row(scores, "accuracy", "corrected")["value"] == 0.0
    check_means(lines, scores)
    assert score(questions, []) == ([], [])
