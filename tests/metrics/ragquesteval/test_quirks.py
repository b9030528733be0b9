"""ragquesteval: the authors' quirks by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ragquesteval_judges import PROFILES, SHORT, Judge, U, asking, blocks, cells

# The authors' quirks


def test_official_counts_an_item_whose_reference_answers_nothing_as_0(score: Callable[..., Any]) -> None:
    assert cells(score([U, U], blocks(["a", "b"]))) == [0.0, 0.0]
    assert cells(score([U, U], blocks(["a", "b"]), "corrected")) == ["not_applicable"] * 2


def test_official_counts_an_item_with_questions_but_no_reference_answers_as_0(score: Callable[..., Any]) -> None:
    assert cells(score([], blocks(["a"]), n=1)) == [0.0, 0.0]


def test_official_counts_a_text_that_answers_nothing_as_0(score: Callable[..., Any]) -> None:
    assert cells(score(["a", "b"], blocks([U, U]))) == [0.0, 0.0]
    assert cells(score(["a", "b"], blocks([U, U]), "corrected")) == ["not_applicable", 0.0]


def test_official_knows_the_exact_string_alone(score: Callable[..., Any]) -> None:
    assert cells(score(["500万元"], blocks(["无法推断。"]))) == [0.0, 1.0]
    assert cells(score(["500万元"], blocks(["无法推断。"]), "corrected")) == ["not_applicable", 0.0]


def test_official_matches_by_position_and_corrected_by_number(score: Callable[..., Any]) -> None:
    reply = "问题 2\n<response>\n173家\n</response>\n问题 1\n<response>\n500万元\n</response>"
    assert cells(score(["500万元", "173家"], reply)) == [0.0, 1.0]
    assert cells(score(["500万元", "173家"], reply, "corrected")) == [1.0, 1.0]


def test_official_excludes_an_item_with_too_few_answers_and_ignores_a_surplus(score: Callable[..., Any]) -> None:
    assert cells(score(["a", "b"], blocks(["a"]))) == ["misaligned"] * 2
    assert cells(score(["a", "b"], blocks(["a", "b", "c"]))) == [1.0, 1.0]
    assert cells(score(["a", U], blocks(["a"]))) == [1.0, 1.0]


def test_official_shifts_answers_where_a_block_is_missing(score: Callable[..., Any]) -> None:
    reply = "问题 1\n<response>\na\n</response>\n问题 3\n<response>\nc\n</response>"
    assert cells(score(["a", "b", U], reply)) == [0.5, 1.0]
    assert cells(score(["a", "b", U], reply, "corrected")) == ["misaligned"] * 2


@pytest.mark.parametrize(
    ("reply", "corrected"), [("<response>42人</response>", [1.0, 1.0]), ("42人", ["unparsable"] * 2)]
)
def test_official_needs_the_exact_tags(score: Callable[..., Any], reply: str, corrected: list[Any]) -> None:
    assert cells(score(["42人"], reply)) == ["unparsable"] * 2
    assert cells(score(["42人"], reply, "corrected")) == corrected


def test_official_leaves_answers_unstripped(score: Callable[..., Any]) -> None:
    assert cells(score(["9个"], "<response>\n 9个  \n</response>"))[0] < 1
    assert cells(score(["9个"], f"<response>\n{U} \n</response>")) == [0.0, 1.0]


@pytest.mark.parametrize("entry", [{}, {"question": [], "answers": []}, {"key_info": ["a"]}])
def test_official_excludes_an_empty_entry_and_corrected_asks_anew(metric: Any, entry: dict[str, Any]) -> None:
    replies = {"ASKING R": asking(["问"]), "ANSWERING R": blocks(["a"]), "ANSWERING P": blocks(["a"])}
    kwargs = {"predictions": ["P"], "references": ["R"], "ids": ["x"], "question_cache": {"x": entry}, "prompts": SHORT}
    judge = Judge(replies)
    official = metric.compute(**kwargs, judge=judge)
    assert cells(official) == ["no_questions"] * 2 and judge.batches == []
    corrected = metric.compute(**kwargs, judge=judge, profile="corrected")
    assert cells(corrected) == [1.0, 1.0]
    assert judge.batches == [["ASKING R"], ["ANSWERING R"], ["ANSWERING P"]]


def test_official_leaves_out_an_empty_text_and_corrected_counts_it(metric: Any) -> None:
    cache = {"x": {"question": ["问"], "answers": ["a"]}, "y": {"question": ["问"], "answers": [U]}}
    kwargs = {"predictions": ["", ""], "references": ["R", "R"], "ids": ["x", "y"], "question_cache": cache}
    judge = Judge({})
    official = metric.compute(**kwargs, judge=judge)
    assert (official["recall"], official["unscored"]) == (None, {"empty": 2})
    corrected = metric.compute(**kwargs, judge=judge, profile="corrected")
    assert [cells(corrected, i) for i in range(2)] == [["not_applicable", 0.0], ["not_applicable"] * 2]
    assert (corrected["recall"], corrected["precision"]) == (0.0, None) and judge.batches == []


def test_official_takes_an_unreadable_reference_reply_for_no_answers(metric: Any) -> None:
    # So the shipped files came to hold questions without answers.
    replies = {"ASKING R": asking(["问"]), "ANSWERING R": "a", "ANSWERING P": blocks(["a"])}
    got = [
        metric.compute(predictions=["P"], references=["R"], judge=Judge(replies), prompts=SHORT, profile=profile)
        for profile in PROFILES
    ]
    assert [cells(one) for one in got] == [[0.0, 0.0], ["unparsable"] * 2]


def test_ill_fitting_reference_answers_are_used_or_made_anew(metric: Any) -> None:
    cache = {"x": {"question": ["总额？", "场馆？", "地点？"], "answers": ["173家", "西安"]}}
    replies = {"ANSWERING R": blocks(["500万", "173家", "西安"]), "ANSWERING P": blocks(["500万", "173家", "西安"])}
    kwargs = {"predictions": ["P"], "references": ["R"], "ids": ["x"], "question_cache": cache, "prompts": SHORT}
    judge = Judge(replies)
    assert cells(metric.compute(**kwargs, judge=judge))[0] < 1
    assert cells(metric.compute(**kwargs, judge=judge, profile="corrected")) == [1.0, 1.0]
    assert judge.batches == [["ANSWERING P"], ["ANSWERING R"], ["ANSWERING P"]]
    replies["ANSWERING R"] = blocks(["500万", "173家"], numbered=False)
    short = metric.compute(**kwargs, judge=Judge(replies), profile="corrected")
    assert cells(short) == ["misaligned"] * 2 and short["recall"] == 0.0
