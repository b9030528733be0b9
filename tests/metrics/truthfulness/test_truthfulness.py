"""truthfulness: vectors, quirks by name, references, judges, bad input, and the card that is published."""

from __future__ import annotations

import bz2
import csv
import inspect
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from truthfulness_judges import KEYS, NO, PROFILES, SHARES, YES, Says, Substring, Words, column, material, means

ROOT = Path(__file__).parents[3]
CASES = json.loads(Path(__file__).with_name("truthfulness_vectors.json").read_text(encoding="utf-8"))
# The worked examples


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", CASES["items"], ids=lambda case: case["name"])
def test_items(score: Callable[..., Any], case: dict[str, Any], profile: str) -> None:
    got = score([case["prediction"]], [case["references"]], Substring(), profile)
    assert column(got) == [case[profile]] == [got["truthfulness"]] and got["unscored"] == {}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", CASES["verdicts"], ids=lambda case: case["name"])
def test_verdicts(
    read: dict[str, Callable[[str], int | None]], score: Callable[..., Any], case: dict[str, Any], profile: str
) -> None:
    assert read[profile](case["reply"]) == case[profile]
    got = score(["a"], ["b"], Says(case["reply"]), profile)
    truth = {1: 1.0, 0: -1.0, None: -1.0 if profile == "official" else None}[case[profile]]
    assert column(got) == [truth] and got["unscored"] == ({"unparsable": 1} if case[profile] is None else {})


def test_all_items_at_once(score: Callable[..., Any]) -> None:
    items = CASES["items"]
    answers, golds = [case["prediction"] for case in items], [case["references"] for case in items]
    for profile in PROFILES:
        expected = [case[profile] for case in items]
        got = score(answers, golds, Substring(), profile)
        n = len(items)
        assert column(got) == expected and got["n_total"] == got["n_scored"] == n
        assert got["truthfulness"] == pytest.approx((2 * expected.count(1) + expected.count(0)) / n - 1)
        assert means(got)[1:] == [expected.count(worth) / n for worth in (1, -1, 0)]
        for row in got["per_item"]:
            assert sum(row[key] for key in SHARES) == 1 and all(row[key] in (0, 1) for key in SHARES)
            assert row["truthfulness"] == row["accuracy"] - row["hallucination"]


# The authors' quirks


def test_official_has_an_empty_answer_judged(score: Callable[..., Any]) -> None:
    judge = Substring()
    assert column(score([""], ["yes"], judge)) == [-1.0] and judge.batches[0][0]["answer"] == ""
    assert column(score([""], ["yes"], judge, "corrected")) == [0.0] and len(judge.batches) == 1


@pytest.mark.parametrize("apostrophe", "\u2019\u2018\u02bc\u2032\uff07`\u00b4")
def test_official_knows_the_straight_apostrophe_alone(score: Callable[..., Any], apostrophe: str) -> None:
    answer = f"Sorry, I don{apostrophe}t know."
    assert [column(score([answer], ["x"], Says(NO), profile)) for profile in PROFILES] == [[-1.0], [0.0]]


@pytest.mark.parametrize("reply", ["no JSON", '{"score": 2}', "", None])
def test_official_counts_an_item_without_a_verdict_as_a_hallucination(score: Callable[..., Any], reply: Any) -> None:
    why = "api_error" if reply is None else "unparsable"
    answers, golds = ["a", "b", "I don't know", "c"], ["a", "x", "x", "y"]
    official = score(answers, golds, Says(reply))
    assert means(official) == [-0.25, 0.25, 0.5, 0.25] and column(official) == [1.0, -1.0, 0.0, -1.0]
    assert official["per_item"][1]["reasons"] == dict.fromkeys(KEYS, why)
    assert (official["unscored"], official["n_scored"]) == ({why: 2}, 2)
    excluded = score(answers, golds, Says(reply), judge_failure="excluded")
    assert means(excluded) == [0.5, 0.5, 0.0, 0.5] and column(excluded) == [1.0, None, 0.0, None]
    assert (excluded["unscored"], excluded["n_scored"]) == ({why: 2}, 2)
    for failure in ("hallucination", "excluded"):
        corrected = score(answers, golds, Says(reply), "corrected", judge_failure=failure)
        assert means(corrected) == [0.25, 0.25, 0.0, 0.25] and corrected["unscored_share"] == 0.5
        assert [corrected[f"{key}_over_scored"] for key in KEYS] == [0.5, 0.5, 0.0, 0.5]
        assert (corrected["unscored"], corrected["n_scored"]) == ({why: 2}, 2)
    assert "failures:excluded" in excluded["signature"] and "failures:unscored" in corrected["signature"]


def test_no_answer(score: Callable[..., Any]) -> None:
    answers, golds, states = [None, None, "a"], ["x", "y", "a"], ["truncated", None, None]
    judge = Substring()
    got = [score(answers, golds, judge, profile, states=states) for profile in PROFILES]
    assert [one["unscored"] for one in got] == [{"truncated": 1, "api_error": 1}] * 2 and judge.batches == []
    assert means(got[0]) == pytest.approx([-1 / 3, 1 / 3, 2 / 3, 0]) and column(got[0]) == [-1.0, -1.0, 1.0]
    assert means(got[1]) == pytest.approx([1 / 3, 1 / 3, 0, 0]) and column(got[1]) == [None, None, 1.0]


@pytest.mark.pure
@given(
    st.lists(st.sampled_from(["{", "}", '"score"', '"score": 1', ":", " ", "0", "1", "2", ".", "\n", "a", '"', ","]))
)
def test_the_official_reader_is_the_authors_pattern(
    read: dict[str, Callable[[str], int | None]], pieces: list[str]
) -> None:
    reply = "".join(pieces)
    braced = re.findall(r"{[^}]*}", reply)
    found = re.search(r'"score"\s*:\s*(\d+)', braced[-1]) if braced else None
    expected = int(found.group(1)) if found and int(found.group(1)) in (0, 1) else None
    assert read["official"](reply) == expected


# References


def test_every_accepted_answer_counts_and_costs_one_request(score: Callable[..., Any]) -> None:
    judge = Substring()
    golds = [["x", "y", "Rome"], ["invalid question", "Oslo"], ["a", "A", " a "], "Bonn", ["Bern", "invalid"]]
    got = score(["In Rome.", "Oslo", "b", "in Bonn", "invalid premise"], golds, judge)
    assert column(got) == [1.0, 1.0, -1.0, 1.0, 1.0]
    (batch,) = judge.batches
    asked = [(one["question"], one["reference"]) for one in batch]
    assert asked == [("Q0", "x"), ("Q0", "y"), ("Q0", "Rome"), ("Q2", "a"), ("Q3", "Bonn")]


def test_nothing_accepted_is_not_applicable(score: Callable[..., Any]) -> None:
    for profile in PROFILES:
        got = score(["a", None, "a", "a"], [None, [], ["", " "], "a"], Says(NO), profile)
        assert [row["reasons"].get("accuracy") for row in got["per_item"]] == ["not_applicable"] * 3 + [None]
        assert means(got) == [1.0, 1.0, 0.0, 0.0] and (got["n_total"], got["unscored"]) == (4, {})
        assert got.get("unscored_share", 0.0) == 0.0
        assert means(score(["a"], [None], Says(NO), profile)) == [None] * 4


def test_one_accepted_is_enough_even_where_another_verdict_is_lacking(score: Callable[..., Any]) -> None:
    def judge(requests: list[Any]) -> list[Any]:
        return [{"yes": YES, "no": NO, "?": "?"}[material(request)["reference"]] for request in requests]

    answers, golds = ["a"] * 3, [["?", "yes"], ["?", "no"], ["no", "NO "]]
    assert column(score(answers, golds, judge, "corrected")) == [1.0, None, -1.0]
    assert column(score(answers, golds, judge)) == [1.0, -1.0, -1.0]


@pytest.mark.parametrize("profile", PROFILES)
def test_add_and_add_batch_agree_with_compute(metric: Any, score: Callable[..., Any], profile: str) -> None:
    answers, golds = ["a", None, "", "b"], ["A", ["x", "y"], "x", None]
    whole = score(answers, golds, Substring(), profile)
    kwargs = {"questions": ["Q0", "Q1", "Q2", "Q3"], "judge": Substring(), "profile": profile}
    for answer, gold in zip(answers, golds, strict=True):
        metric.add(prediction=answer, reference=gold)
    assert metric.compute(**kwargs) == whole
    metric.add_batch(predictions=answers[:1], references=golds[:1])
    metric.add_batch(predictions=answers[1:], references=golds[1:])
    assert metric.compute(**kwargs) == whole


@pytest.mark.parametrize("profile", PROFILES)
def test_no_items(score: Callable[..., Any], profile: str) -> None:
    got = score([], [], Says(NO), profile, weights={"simple": 1}, domains=[], question_types=[])
    assert (got["n_total"], got["n_scored"], got["unscored"], got["per_item"]) == (0, 0, {}, [])
    counted = ("n_total", "n_scored", "unscored", "per_item", "signature", "valid")
    assert all(value is None for key, value in got.items() if key not in counted)


# Judges


def test_several_judges_are_averaged(score: Callable[..., Any], failure: Any) -> None:
    answers, golds = ["b", "I don't know", "a", "c"], ["x", "x", "a", "y"]
    for profile in PROFILES:
        got = score(answers, golds, None, profile, judges=[Says(YES, "one"), Says(NO, "two")])
        assert means(got) == [0.25, 0.5, 0.25, 0.25] and column(got) == [0.0, 0.0, 1.0, 0.0]
        assert column(got, "accuracy") == [0.5, 0.0, 1.0, 0.5] and got["signature"].endswith("judge:mean(one+two)")
        alone = [means(score(answers, golds, judge, profile)) for judge in (Says(YES), Says(NO))]
        assert means(got) == [pytest.approx(sum(pair) / 2) for pair in zip(*alone, strict=True)]
        lacking = score(answers, golds, None, profile, judges=[Says(YES), Says(failure("truncated"))])
        assert lacking["unscored"] == {"truncated": 2}
        assert column(lacking) == ([-1.0, 0.0, 1.0, -1.0] if profile == "official" else [None, 0.0, 1.0, None])


def test_without_a_judge_only_missing_has_a_mean(metric: Any) -> None:
    answers, golds = ["a", "I don't know", "b", "invalid"], ["A", "x", "x", "x"]
    for profile in PROFILES:
        got = metric.compute(predictions=answers, references=golds, profile=profile)
        assert means(got) == [None, None, None, 0.25] and column(got) == [1.0, 0.0, None, -1.0]
        assert got["per_item"][2]["reasons"] == dict.fromkeys(KEYS[:3], "no_judge")
        assert got["unscored"] == {"no_judge": 1} and got["signature"].endswith("prompt:none|judge:none")
        settled = metric.compute(predictions=["a", "invalid"], references=["A", "x"], profile=profile)
        assert means(settled) == [0.0, 0.5, 0.5, 0.0]


def test_the_judge_is_asked_once_and_both_profiles_ask_the_same(score: Callable[..., Any]) -> None:
    judge = Substring()
    answers, golds = ["in Rome", "I don’t know", "", "Oslo", "a"], ["Rome", "x", "x", ["Bonn", "Bern"], "A"]
    for profile in PROFILES:
        score(answers, golds, judge, profile)
    official, corrected = judge.batches
    assert [one["answer"] for one in official] == ["in Rome", "I don’t know", "", "Oslo", "Oslo"]
    assert corrected == [one for one in official if one["answer"] in ("in Rome", "Oslo")]


def test_a_judge_that_raises_is_heard_and_leaves_nothing_behind(score: Callable[..., Any]) -> None:
    def judge(requests: list[Any]) -> list[str]:
        raise RuntimeError("out of budget")

    with pytest.raises(RuntimeError, match="out of budget"):
        score(["a"], ["b"], judge)
    assert score(["a"], ["b"], Says(YES))["n_total"] == 1


def test_signature(score: Callable[..., Any], metric: Any) -> None:
    ours = score(["a"], ["b"], Says(NO, "j"))["signature"].split("|")
    theirs = score(["a"], ["b"], Says(NO, "j"), prompt="{reference} {answer}", tokenizer=Words())["signature"].split(
        "|"
    )
    assert ours[:5] == [
        "truthfulness",
        "version:1.3.0",
        "profile:official",
        "failures:hallucination",
        "tokenizer:none",
    ]
    assert theirs[4] == "tokenizer:Words-75" and ours[5] != theirs[5] and ours[6] == "judge:j"
    weighed = {
        metric.compute(ratings=["perfect"], weights=weights, domains=["a"], question_types=["b"])["signature"]
        for weights in ({"b": 1}, {"b": 1, "c": 2}, {"a": {"b": 1.0}}, {"b": 2})
    }
    assert len(weighed) == 2 and all("|judge:human" in text for text in weighed)


# The trim


# Real questions


def test_the_real_questions_answered_as_upstream_has_them(score: Callable[..., Any], real_data: Any) -> None:
    path = real_data("CRAG") / "example_data" / "dev_data.jsonl.bz2"
    with bz2.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    golds = [[row["answer"], *json.loads(row["alternative_answers"])] for row in rows]
    judge = Substring()
    for profile in PROFILES:
        assert means(score([gold[0].upper() for gold in golds], golds, judge, profile)) == [1.0, 1.0, 0.0, 0.0]
        assert means(score(["I don't know."] * len(rows), golds, judge, profile)) == [0.0, 0.0, 0.0, 1.0]
        assert len(judge.batches) == PROFILES.index(profile)
        wordy = [f"The answer: {gold[0]}" for gold in golds]
        assert means(score(wordy, golds, judge, profile)) == [1.0, 1.0, 0.0, 0.0]
        assert len(judge.batches[-1]) == len(rows) == 6


# Input

GOOD: dict[str, Any] = {"predictions": ["a", None], "references": ["b", "b"], "questions": ["q", "q"]}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"judge": "http://127.0.0.1/v1"}, "judge holds str; expected a callable"),
        ({"judge": lambda requests: []}, "judge returned 0 replies to 1 requests"),
        ({"judge": lambda requests: "Yes"}, "judge returned str; expected a list"),
        ({"judges": [Says(NO)]}, "both judge and judges were given"),
        ({"judge": None, "judges": []}, "judges is empty; expected a list of callables"),
        ({"judge": None, "judges": Says(NO)}, "judges is Says; expected a list of callables"),
        ({"judge": None, "judges": [Says(NO), 1]}, "judges holds int; expected a callable"),
        ({"profile": "offical"}, "profile is 'offical'; expected 'official' or 'corrected'"),
        ({"judge_failure": "missing"}, "judge_failure is 'missing'; expected 'hallucination' or 'excluded'"),
        ({"predictions": "a"}, "predictions is str; expected a list of strings"),
        ({"predictions": [1, "a"]}, r"predictions\[0\] is int; expected a string or None"),
        ({"references": ["b"]}, "2 predictions but 1 references"),
        ({"references": None}, "references is NoneType; expected a list, one per prediction"),
        ({"references": ["b", 7]}, r"references\[1\] is int; expected a string, a list of strings or None"),
        ({"references": ["b", ["c", 7]]}, r"references\[1\]\[1\] is int; expected a string"),
        ({"references": ["b", {"c": 1}]}, r"references\[1\] is dict; expected a string, a list"),
        ({"questions": None}, "judge was given without questions; pass questions="),
        ({"questions": ["q"]}, "questions has 1 entries for 2 predictions"),
        ({"questions": ["q", None]}, r"questions\[1\] is NoneType; expected a string"),
        ({"states": [None, "late"]}, r"states\[1\] is 'late'"),
        ({"prompt": "Q {question} {answer}"}, r"prompt has no \{reference\}; expected a text with"),
        ({"prompt": 7}, r"prompt has no \{reference\}"),
        ({"tokenizer": "llama"}, "tokenizer is str; expected an object with encode and decode"),
        ({"tokenizer": lambda text: [1]}, "tokenizer returned list; expected the text"),
        ({"ratings": ["perfect", None]}, "both ratings and a judge were given"),
        ({"judge": None, "ratings": ["perfect"]}, "ratings has 1 entries for 2 predictions"),
        ({"judge": None, "ratings": ["perfect", "good"]}, r"ratings\[1\] is 'good'; expected None or one of perfect"),
        ({"judge": None, "ratings": [1, 1]}, r"ratings\[0\] is int; expected a string or None"),
        ({"weights": {"s": 1}}, "weights was given without domains; pass domains="),
        ({"weights": {"s": 1}, "domains": ["a", "a"]}, "weights was given without question_types"),
        ({"weights": {}, "domains": ["a", "a"], "question_types": ["s", "s"]}, "weights is empty; expected a mapping"),
        ({"weights": [1], "domains": ["a", "a"], "question_types": ["s", "s"]}, "weights is list; expected a mapping"),
        (
            {"weights": {"s": 1}, "domains": ["a", "a"], "question_types": ["s", "t"]},
            "weights has none for question type 't'; give every type",
        ),
        (
            {"weights": {"a": {"s": 1}}, "domains": ["a", "b"], "question_types": ["s", "s"]},
            "weights has none for question type 's' in domain 'b'",
        ),
        (
            {"weights": {"a": {"s": -1}}, "domains": ["a", "a"], "question_types": ["s", "s"]},
            r"weights\['a'\]\['s'\] is -1; expected a number of at least 0",
        ),
        ({"weights": {"s": True}, "domains": ["a", "a"], "question_types": ["s", "s"]}, r"weights\['s'\] is True"),
        (
            {"weights": {"s": 1, "a": {}}, "domains": ["a"], "question_types": ["s"]},
            "weights mixes numbers and mappings",
        ),
        ({"weights": {"s": 1}, "domains": ["a"], "question_types": ["s", "s"]}, "domains has 1 entries for 2"),
    ],
)
def test_bad_input_is_one_clear_line(metric: Any, given: dict[str, Any], message: str) -> None:
    good = {**GOOD, "judge": Says(NO)}
    with pytest.raises(ValueError, match=message) as caught:
        metric.compute(**{**good, **given})
    assert "\n" not in str(caught.value)
    assert metric.compute(**good)["n_total"] == 2


def test_arrays_tuples_and_half_a_surrogate_pair(score: Callable[..., Any]) -> None:
    import numpy as np

    got = score(np.array(["a", "b\ud83d"]), (("A", "x"), np.array(["y"])), (judge := Substring()))
    assert column(got) == [1.0, -1.0] and judge.batches[0][0]["answer"] == "b\ufffd"


def test_documented_keywords_and_keys(metric: Any) -> None:
    asked = set(inspect.signature(metric.compute).parameters)
    arguments, returned = metric.inputs_description.split("Returns:")
    assert all(f"    {keyword}: " in arguments for keyword in asked)
    got = metric.compute(
        ratings=["perfect"], weights={"s": 1}, domains=["a"], question_types=["s"], profile="corrected"
    )
    for key in got:
        plain = "<key>_over_scored" if key.endswith("_over_scored") else re.sub(".+_weighted", "<key>_weighted", key)
        assert f"{plain}" in returned, key
    module = sys.modules[type(metric).__module__]
    card = (ROOT / "metrics" / "truthfulness" / "README.md").read_text(encoding="utf-8")
    assert module._CITATION.strip() in card and all(f"**{keyword}**" in card for keyword in asked)


def test_the_card_s_tables_are_the_published_ones(metrics_root: Path) -> None:
    card = (metrics_root / "truthfulness" / "README.md").read_text(encoding="utf-8")
    printed: dict[tuple[str, str, str], float] = {}
    for first, keys in (("model", SHARES + KEYS[:1]), ("system", ("perfect", "acceptable", *SHARES[1:], KEYS[0]))):
        table = card[card.index(f"| {first} |") :].partition("\n\n")[0].splitlines()
        header, _, *rows = [line.strip("| ").split(" | ") for line in table]
        for row in rows:
            for place, cell in zip(header[1:], row[1:], strict=True):
                printed |= {(row[0], place, key): float(x) for key, x in zip(keys, cell.split(" / "), strict=True)}
    published = {}
    with (ROOT / "baselines" / "crag" / "published.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            setting = dict(pair.split("=", 1) for pair in row["setting"].split(";"))
            name = setting.get("llm") or setting.get("system")
            if row["table"] in ("6", "11") and row["unit"] == "percent":
                place = setting["weighting"] if row["table"] == "6" else row["task"]
                published[name, place, row["metric"]] = round(float(row["value"]) / 100, 4)
    assert len(printed) == 8 * 4 * 4 + 5 * 2 * 5 and printed == published
