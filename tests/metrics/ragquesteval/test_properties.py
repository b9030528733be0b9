"""ragquesteval on drawn replies: against an oracle, in any order, damaged, and in time."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ragquesteval_judges import PROFILES, SHORT, Judge, U, asking, blocks

from quadrag.metrics._shared.fold import fold

# Properties


ANSWERS = st.one_of(
    st.sampled_from([U, "500万元", "173家体育场馆", "西安市", "陕西西安市", "a b", "", f"{U}。"]), st.text(max_size=8)
)
PIECES = st.sampled_from(
    [
        "<response>",
        "</response>",
        "\n",
        "问题 1",
        "问题2",
        "第3题",
        U,
        "500万元",
        '{"question": ',
        "[",
        '"问"',
        "]",
        "}",
        "{",
        " ",
        "`",
    ]
)
REPLIES = st.one_of(
    st.text(max_size=60),
    st.lists(PIECES, max_size=25).map("".join),
    st.lists(st.sampled_from(["问", "题", " "]), max_size=3).map(asking),
    st.lists(ANSWERS, max_size=4).map(blocks),
    st.lists(ANSWERS, max_size=4).map(lambda answers: blocks(answers, numbered=False)),
)


def oracle(expected: list[str], answers: list[str], cut: Callable[[str], list[str]]) -> Any:
    """The official values again: one pass over positions, token precision and recall by removal from a list."""
    scores: list[float] = []
    kept = 0
    for i, truth in enumerate(expected):
        if truth == U:
            continue
        kept += 1
        if i >= len(answers):
            return "misaligned", "misaligned"
        if answers[i] == U:
            continue
        left, hits, given = cut(truth), 0, cut(answers[i])
        total = len(left)
        for token in given:
            if token in left:
                left.remove(token)
                hits += 1
        if not total or not given:
            scores.append(1.0 if total == len(given) else 0.0)
        else:
            p, r = hits / len(given), hits / total
            scores.append(2 * p * r / (p + r) if hits else 0.0)
    return (sum(scores) / len(scores), len(scores) / kept) if scores else (0.0, 0.0)


@pytest.mark.slow
@pytest.mark.pure
@given(st.lists(ANSWERS, max_size=5), st.lists(ANSWERS, max_size=6))
def test_official_composition_against_an_oracle(
    part: Callable[[str], ModuleType], expected: list[str], answers: list[str]
) -> None:
    import jieba

    got = part("compose").official(expected, answers)
    assert list(got) == [
        x if isinstance(x, str) else pytest.approx(x, abs=1e-12) for x in oracle(expected, answers, jieba.lcut)
    ]


@pytest.mark.pure
@given(st.lists(st.tuples(ANSWERS, ANSWERS), max_size=5), st.randoms(use_true_random=False))
def test_corrected_composition_is_the_official_one_of_what_counts(
    part: Callable[[str], ModuleType], pairs: list[tuple[str, str]], draw: random.Random
) -> None:
    """Whatever counts as no answer written as `无法推断`, both agree wherever the corrected one has a value."""
    compose = part("compose")
    plain = [[U if compose.declines(text) else fold(text) for text in pair] for pair in pairs]
    precision, recall = compose.official([a for a, _ in plain], [b for _, b in plain])
    order = list(range(len(pairs)))
    draw.shuffle(order)
    got = compose.corrected([a for a, _ in pairs], {i: pairs[i][1] for i in order})
    kept = [b for a, b in plain if a != U]
    assert got[0] == (pytest.approx(precision) if any(b != U for b in kept) else "not_applicable")
    assert got[1] == (pytest.approx(recall) if kept else "not_applicable")


@pytest.mark.pure
@given(REPLIES)
def test_the_official_readers_are_the_authors_pattern(part: Callable[[str], ModuleType], reply: str) -> None:
    found = re.findall(r"<response>\n(.*?)\n</response>", reply, re.DOTALL)
    assert list((part("replies").answers_official(reply) or {}).values()) == found


@pytest.mark.pure
@given(
    st.lists(ANSWERS.filter(lambda text: "<" not in text), min_size=1, max_size=6), st.randoms(use_true_random=False)
)
def test_numbered_replies_come_back_in_any_order(
    part: Callable[[str], ModuleType], answers: list[str], draw: random.Random
) -> None:
    pairs = [f"问题 {n}\n<response>\n{text}\n</response>" for n, text in enumerate(answers, 1)]
    draw.shuffle(pairs)
    got = part("replies").answers_corrected("\n".join(pairs), len(answers))
    assert got == {i: text.strip() for i, text in enumerate(answers)}


@given(st.sampled_from(PROFILES), REPLIES, REPLIES, REPLIES, st.sampled_from(["P", "", " "]))
def test_no_reply_crashes_the_metric_or_becomes_a_value_unread(
    part: Callable[[str], ModuleType], profile: str, questions: str, expected: str, answers: str, prediction: str
) -> None:
    interview, prompts, reader = part("interview"), part("prompts"), part("ragquesteval").READERS[profile]
    said = {"ASKING R": questions, "ANSWERING R": expected, f"ANSWERING {prediction}": answers}
    item = interview.open_case(prediction, "R", "", profile)
    interview.interview([item], Judge(said), {**prompts.PROMPTS, **SHORT}, reader, profile)
    got = interview.values(item, profile)
    for value in got:
        if isinstance(value, str):
            assert value in {"unparsable", "misaligned", "no_questions", "empty", "not_applicable"}
        else:
            assert 0 <= value <= 1
            assert reader.questions(questions), "a value without questions"
            n = len(reader.questions(questions) or [])
            assert profile == "official" or reader.answers(expected, n), "a value without reference answers"
            if value > 0 or (profile == "corrected" and prediction.strip()):
                assert reader.answers(answers, n), "a value without answers"


@settings(max_examples=60)
@given(st.lists(st.tuples(ANSWERS, ANSWERS), min_size=1, max_size=6))
def test_the_mean_over_scored_items_is_no_less_than_over_all(metric: Any, pairs: list[tuple[str, str]]) -> None:
    """Corrected counts unscored items as 0, and has the official recall wherever 无法推断 stands exactly."""
    ids = [f"i{n}" for n in range(len(pairs))]
    cache = {key: {"question": ["问"], "answers": [expected]} for key, (expected, _) in zip(ids, pairs, strict=True)}
    judge = Judge({f"ANSWERING {key}": blocks([answer]) for key, (_, answer) in zip(ids, pairs, strict=True)})
    kwargs = {"predictions": ids, "references": ids, "ids": ids, "question_cache": cache, "prompts": SHORT}
    official, corrected = (metric.compute(**kwargs, judge=judge, profile=profile) for profile in PROFILES)
    for key in ("precision", "recall"):
        if corrected[key] is not None:
            assert corrected[key] <= corrected[f"{key}_over_scored"]
        values = [row[key] for row in official["per_item"]]
        assert official[key] == pytest.approx(sum(values) / len(values))
    for (expected, answer), one, two in zip(pairs, official["per_item"], corrected["per_item"], strict=True):
        if expected in ("500万元", "西安市") and answer in (U, "500万元", "西安市"):
            assert one["recall"] == two["recall"] and two["precision"] in (one["precision"], None)


@pytest.mark.pure
@pytest.mark.parametrize("piece", ["<response>\n", "<response>", "{", '{"a":', "问题 1\n", "</response>", "\n"])
@pytest.mark.parametrize("profile", PROFILES)
def test_long_replies_are_read_in_time(part: Callable[[str], ModuleType], piece: str, profile: str) -> None:
    reader, reply = part("ragquesteval").READERS[profile], piece * (200_000 // len(piece))
    start = time.process_time()
    reader.answers(reply, 5)
    reader.questions(reply)
    part("compose").declines(reply)
    assert time.process_time() - start < 5
