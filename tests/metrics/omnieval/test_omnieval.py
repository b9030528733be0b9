"""omnieval: worked examples, failures, means, and the signature."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from omnieval_judges import (
    HALVED,
    KEYS,
    PROFILES,
    SCALES,
    Judge,
    always,
    column,
    says,
    worth,
)

from quadrag.stats import Draws, Item, summarise

CASES = json.loads(Path(__file__).with_name("omnieval_vectors.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", CASES["verdicts"], ids=lambda case: case["name"])
def test_verdicts(
    read: dict[str, Callable[[str, str], int | None]], score: Callable[..., Any], case: dict[str, Any], profile: str
) -> None:
    key, verdict = case["key"], case[profile]
    assert read[profile](case["reply"], key) == verdict
    got = score(key, ["甲"], always(case["reply"]), profile)
    assert column(got, key) == [worth(verdict, key)]
    # Nothing can keep acc and utl from applying, so a -1 of theirs is off the scale.
    unscored = verdict is None or verdict < -1 or (verdict == -1 and key in ("acc", "utl"))
    assert got["unscored"] == ({"unparsable": 1} if unscored else {})
    reason = "unparsable" if unscored else "not_applicable" if verdict == -1 else None
    assert got["per_item"][0]["reasons"] == ({key: reason} if reason else {})


@pytest.mark.parametrize(("key", "reply", "verdict"), CASES["mended"])
def test_official_mends_what_json_repair_mends(
    read: dict[str, Callable[[str, str], int | None]], key: str, reply: str, verdict: int
) -> None:
    """The third column is what json_repair 0.30.0 and `int` made of the reply, -1 for nothing."""
    with pytest.raises(ValueError):
        json.loads(reply)
    got = read["official"](reply, key)
    assert (-1 if got is None else got) == verdict


def test_the_vectors_hold_enough_of_each_kind() -> None:
    assert len(CASES["verdicts"]) >= 70 and len({case["name"] for case in CASES["verdicts"]}) == len(CASES["verdicts"])
    verdicts = [verdict for *_, verdict in CASES["mended"]]
    assert all(verdicts.count(verdict) >= 10 for verdict in (-1, 0, 1, 2))


def test_official_mean_of_1_half_minus_1_and_0(score: Callable[..., Any]) -> None:
    replies = iter(['{"prediction": 2}', '{"accuracy": 1}', '{"prediction": [2]}', '{"prediction": 0}'])
    got = score("acc", ["甲"] * 4, Judge(lambda key, answer: next(replies)))
    assert (got["acc"], column(got, "acc"), got["unscored"]) == (0.5, [1.0, 0.5, None, 0.0], {"unparsable": 1})


@pytest.mark.parametrize("profile", PROFILES)
def test_failures_and_states(score: Callable[..., Any], failure: Any, profile: str) -> None:
    replies = {"甲": says(0), "乙": failure("truncated"), "丙": failure("odd"), "丁": None}
    states = [None] * 4 + ["unparsable", None]
    got = score("all", [*replies, None, None], Judge(lambda _, answer: replies[answer]), profile, states=states)
    assert got["unscored"] == {"truncated": 1, "api_error": 3, "unparsable": 1} and got["n_scored"] == 1
    for key in KEYS:
        assert column(got, key) == [0.0] + [None] * 5
        assert [row["reasons"].get(key) for row in got["per_item"]] == [
            None,
            "truncated",
            "api_error",
            "api_error",
            "unparsable",
            "api_error",
        ]
        worst = 5 / 6 if key == "hal" else 0.0
        assert got[key] == pytest.approx(worst if profile == "corrected" else 0.0)
        assert got.get(f"{key}_over_scored", 0.0) == 0.0


def test_corrected_counts_an_unscored_item_at_the_worst_value(score: Callable[..., Any]) -> None:
    replies = {"好": 1, "坏": 0}

    def reply(key: str, answer: str) -> str:
        return says(replies[answer]) if answer in replies else "?"

    got = score("all", ["好", "坏", "？", "好", None], Judge(reply), "corrected")
    assert {key: got[key] for key in KEYS} == {"acc": 0.2, "hal": 0.8, "com": 0.2, "utl": 0.2, "nac": 0.4}
    over = {key: got[f"{key}_over_scored"] for key in KEYS}
    third = pytest.approx(1 / 3)
    assert over == {"acc": third, "hal": pytest.approx(2 / 3), "com": third, "utl": third, "nac": pytest.approx(2 / 3)}


@pytest.mark.parametrize("profile", PROFILES)
def test_means_against_an_oracle_and_the_statistics(score: Callable[..., Any], profile: str) -> None:
    draw = random.Random(20241217)
    said = [-2, -1, 0, 1, 2, 3, "2", "1.5", [1], None]
    table = {(key, str(i)): draw.choice(said) for key in KEYS for i in range(300)}
    answers = [str(i) if i % 7 else None for i in range(300)]
    got = score("all", answers, Judge(lambda key, answer: says(table[key, answer])), profile)
    for key in KEYS:
        values: list[float] = []
        lacking = 0
        for answer in answers:
            verdict = None if answer is None else table[key, answer]
            number = int(verdict) if isinstance(verdict, int) or verdict == "2" else None
            if profile == "corrected" and number not in SCALES[key]:
                number = None
            if number is None or number < -1:
                lacking += 1
            elif number >= 0:
                values.append(number / 2 if key in HALVED else number)
        assert len(values) > 40 and lacking > 40
        worst = lacking if profile == "corrected" and key == "hal" else 0
        total = len(values) + (lacking if profile == "corrected" else 0)
        assert got[key] == pytest.approx((sum(values) + worst) / total, abs=1e-12)
        items = [Item(i, row[key], row["reasons"].get(key)) for i, row in enumerate(got["per_item"])]
        whole = summarise(items, profile=profile, worst=float(key == "hal"), draws=Draws(resamples=2))
        assert whole.value == pytest.approx(got[key])
        if profile == "corrected":
            assert got[f"{key}_over_scored"] == pytest.approx(sum(values) / len(values))


@pytest.mark.parametrize("profile", PROFILES)
def test_add_and_add_batch_agree_with_compute(
    load: Callable[..., Any], score: Callable[..., Any], profile: str
) -> None:
    answers, golds = ["甲", None, "", "乙"], ["金", ["金", "子"], "金", None]
    kwargs: dict[str, Any] = {"questions": [f"问{i}" for i in range(4)], "contexts": ["段"] * 4, "profile": profile}
    whole = score("all", answers, always(says(1)), profile, references=golds)
    metric = load("all")
    for answer, gold in zip(answers, golds, strict=True):
        metric.add(prediction=answer, reference=gold)
    assert metric.compute(**kwargs, judge=always(says(1))) == whole
    metric.add_batch(predictions=answers[:1], references=golds[:1])
    metric.add_batch(predictions=answers[1:], references=golds[1:])
    assert metric.compute(**kwargs, judge=always(says(1))) == whole


@pytest.mark.parametrize("profile", PROFILES)
def test_no_items(score: Callable[..., Any], profile: str) -> None:
    got = score("all", [], judge := always(says(1)), profile)
    assert (got["n_total"], got["n_scored"], got["unscored"], got["per_item"], judge.batches) == (0, 0, {}, [], [])
    assert all(got[key] is None for key in KEYS)


def test_nothing_accepted_is_not_applicable(score: Callable[..., Any]) -> None:
    for profile in PROFILES:
        got = score("all", ["甲", None, "乙", "丙"], always(says(1)), profile, references=[None, [], ["", " "], "金"])
        assert [row["reasons"].get("nac") for row in got["per_item"]] == ["not_applicable"] * 3 + [None]
        assert (got["nac"], got["unscored"], got["n_scored"]) == (1.0, {}, 4)


def test_signature(score: Callable[..., Any]) -> None:
    ours = score("all", ["甲"], always(says(1)))["signature"].split("|")
    assert ours[:4] == ["omnieval", "version:1.3.0", "profile:official", "metrics:acc+hal+com+utl+nac"]
    assert ours[4] == "tokenizer:none" and re.fullmatch(r"prompt:[0-9a-f]{8}", ours[5]) and ours[6] == "judge:table"
    one = score("nac", ["甲"], always(says(1)), "corrected")["signature"].split("|")
    assert one[2:4] == ["profile:corrected", "metrics:nac"] and one[5] != ours[5]
    prompts = {"acc": "{references}{answer}"}
    theirs = score("all", ["甲"], lambda requests: [says(1)] * 5, prompts=prompts)["signature"].split("|")
    assert theirs[5] != ours[5] and theirs[6] == "judge:none"
    same = [score(key, ["甲"], lambda requests: [says(1)], prompts=prompts)["signature"] for key in ("hal", "acc")]
    assert same[0].split("|")[5] == score("hal", ["甲"], always(says(1)))["signature"].split("|")[5]
