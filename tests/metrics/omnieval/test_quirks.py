"""omnieval's quirks of the authors' code and paper, by name: what official takes, scales, prompts, -1, close book."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from omnieval_judges import (
    HALVED,
    KEYS,
    NAMES,
    PROFILES,
    Judge,
    always,
    column,
    metric_of,
    says,
)


def test_official_takes_a_verdict_above_the_scale(score: Callable[..., Any]) -> None:
    for key, value in (("acc", 1.5), ("com", 1.5), ("utl", 1.5), ("hal", 3.0), ("nac", 3.0)):
        assert score(key, ["甲"], always(says(3)))[key] == value
        corrected = score(key, ["甲"], always(says(3)), "corrected")
        assert corrected["unscored"] == {"unparsable": 1} and corrected[f"{key}_over_scored"] is None


def test_official_takes_what_int_takes(read: dict[str, Callable[[str, str], int | None]]) -> None:
    taken = {"1": 1, '"2"': 2, "1.9": 1, "-0.5": 0, "true": 1, "false": 0, '" 1 "': 1, '"1_0"': 10, '"１"': 1, "-7": -7}
    left = ['"1.5"', "[2]", "null", "NaN", "Infinity", '"true"', '""', "{}", "9" * 400]
    for text, verdict in taken.items():
        assert read["official"](f'{{"prediction": {text}}}', "acc") == verdict, text
    for text in left:
        assert read["official"](f'{{"prediction": {text}}}', "acc") is None, text


def test_official_reads_prediction_first_and_no_other_metric_s_name(
    read: dict[str, Callable[[str, str], int | None]],
) -> None:
    for key, name in NAMES.items():
        assert read["official"](json.dumps({name: 1}), key) == 1
        assert read["official"](json.dumps({name: 1, "prediction": 0}), key) == 0
        assert read["official"](json.dumps({name: 1, "prediction": None}), key) is None
        others = {other: 1 for other in NAMES.values() if other != name} | {key: 1}
        assert [read[profile](json.dumps(others), key) for profile in PROFILES] == [None, None]


def test_official_makes_nothing_of_several_objects(read: dict[str, Callable[[str, str], int | None]]) -> None:
    for reply in (says(1) * 2, f"见[1]：{says(1)}", f"[{says(1)}]"):
        assert read["official"](reply, "acc") is None and read["corrected"](reply, "acc") == 1


def test_minus_1_is_not_applicable_and_unlike_an_unreadable_reply(score: Callable[..., Any]) -> None:
    replies = {"甲": says(-1), "乙": "不清楚", "丙": says(1)}
    for key in KEYS:
        got = {
            profile: score(key, list(replies), Judge(lambda _, answer: replies[answer]), profile)
            for profile in PROFILES
        }
        value = 0.5 if key in HALVED else 1.0
        assert [column(one, key) for one in got.values()] == [[None, None, value]] * 2
        reasons = {profile: [row["reasons"].get(key) for row in one["per_item"]] for profile, one in got.items()}
        # Of acc and utl nothing can fail to apply: such a verdict is off the scale, and told as unscored.
        off = "unparsable" if key in ("acc", "utl") else "not_applicable"
        assert reasons["official"] == [off, "unparsable", None] and reasons["corrected"][0] == off
        assert got["official"][key] == value == got["corrected"][f"{key}_over_scored"]
        assert got["official"]["unscored"] == {"unparsable": 2 if off == "unparsable" else 1}
        if key in ("com", "nac"):
            assert got["corrected"][key] == value / 2


def test_hallucination_minus_1_is_the_paper_s(score: Callable[..., Any], part: Callable[[str], ModuleType]) -> None:
    assert part("scales").SCALES["hal"] == (0, 1) and "-1" not in part("prompts").PROMPTS["hal"]
    got = score("hal", ["甲", "乙"], Judge(lambda _, answer: says(-1 if answer == "甲" else 1)), "corrected")
    assert (got["hal"], got["unscored"]) == (1.0, {})
    assert got["per_item"][0]["reasons"] == {"hal": "not_applicable"}


def test_the_scale_is_the_code_s_and_not_the_paper_s(part: Callable[[str], ModuleType]) -> None:
    scales, prompts = part("scales").SCALES, part("prompts").PROMPTS
    assert scales == {"acc": (0, 1, 2), "hal": (0, 1), "com": (-1, 0, 1, 2), "utl": (0, 1, 2), "nac": (-1, 0, 1)}
    for key, verdicts in scales.items():
        listed = re.findall(r"^(-?\d) 分：", prompts[key], re.MULTILINE)
        assert sorted(map(int, listed)) == list(verdicts), "each verdict is explained once"
        assert f"分数只能取 {'、'.join(map(str, verdicts))}：\n" in prompts[key]


def test_accuracy_has_a_grade_for_what_is_right_and_incomplete(part: Callable[[str], ModuleType]) -> None:
    best, middle, worst = re.findall(r"^[012] 分：.*$", part("prompts").PROMPTS["acc"], re.MULTILINE)
    assert "都说到了" in best and "没有一处说对" in worst
    assert "其余的没有说到（说到的都没有错，也是 1 分），或者说错了" in middle


def test_the_prompts_call_minus_1_not_applicable(part: Callable[[str], ModuleType]) -> None:
    # The authors' prompt for completeness explains its -1 under the number 1.
    for key in KEYS:
        found = re.findall(r"^(-?\d) 分：不适用", part("prompts").PROMPTS[key], re.MULTILINE)
        assert found == (["-1"] if key in ("com", "nac") else [])


def test_all_invalid_is_none_and_no_crash(score: Callable[..., Any]) -> None:
    for reply in ("不清楚", says(-1), None):
        for profile in PROFILES:
            got = score("com", ["甲", "乙"], always(reply), profile)
            over_scored = got["com"] if profile == "official" else got["com_over_scored"]
            assert over_scored is None
    got = score("com", ["甲"], always(says(-1)), "corrected")
    assert (got["com"], got["n_scored"], got["unscored"]) == (None, 1, {})


def test_every_request_of_a_batch_is_answered(score: Callable[..., Any]) -> None:
    # The authors' get_gpt_output answers the first of a batch alone.
    got = score("acc", ["0", "1", "2"], Judge(lambda key, answer: says(int(answer))))
    assert column(got, "acc") == [0.0, 0.5, 1.0]


def test_the_mean_is_over_all_items_and_not_over_files(score: Callable[..., Any]) -> None:
    answers = ["2"] * 9 + ["0"]  # nine of one topic, one of another
    assert score("acc", answers, Judge(lambda key, answer: says(int(answer))))["acc"] == 0.9


def test_close_book_leaves_out_hal_and_utl(load: Callable[..., Any]) -> None:
    given: dict[str, Any] = {"predictions": ["甲"], "references": ["乙"], "questions": ["问"], "close_book": True}
    for profile in PROFILES:
        got = load("all").compute(**given, judge=(judge := always(says(1))), profile=profile)
        assert [metric_of(request) for request in judge.batches[0]] == ["acc", "com", "nac"]
        assert [key for key in KEYS if key in got] == ["acc", "com", "nac"]
        assert (
            list(got["per_item"][0]) == ["acc", "com", "nac", "reasons"] and "|metrics:acc+com+nac|" in got["signature"]
        )
        assert load("all").compute(**given, judge=judge, profile=profile, contexts=["段"]) == got
    for key in ("hal", "utl"):
        with pytest.raises(ValueError, match=f"{key} is judged by the retrieved passages, and close_book has none"):
            load(key).compute(**given, judge=judge, contexts=["段"])
    for key in ("acc", "com", "nac"):
        assert load(key).compute(**given, judge=judge)[key] == (1.0 if key == "nac" else 0.5)
