"""rgb_accuracy: the label of every worked example, whole numbers and words, and what holds for any input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

VECTORS = json.loads(Path(__file__).with_name("rgb_vectors.json").read_text(encoding="utf-8"))
PROFILES = ("official", "corrected")
text = st.text(alphabet="ab70.,  辆年Σς", max_size=12)
word = st.text(alphabet="ab70. 辆Σ", max_size=3)
gold = st.one_of(word, st.lists(st.one_of(word, st.lists(word, max_size=3)), max_size=3))
pairs = st.lists(st.tuples(st.one_of(st.none(), text), gold), max_size=6)
either = st.sampled_from(PROFILES)
languages = st.sampled_from(("en", "zh"))


@pytest.fixture(scope="module")
def metric(load_metric: Callable[[str], Any]) -> Any:
    return load_metric("rgb_accuracy")


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", VECTORS["labels"], ids=lambda case: case["name"])
def test_label(case: dict[str, Any], profile: str, rgb: ModuleType) -> None:
    assert rgb.label(case["prediction"], case["gold"], case["language"], profile) == case[profile]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", VECTORS["labels"], ids=lambda case: case["name"])
def test_an_item_counts_if_no_part_is_0_and_one_is_1(case: dict[str, Any], profile: str, metric: Any) -> None:
    got = metric.compute(
        predictions=[case["prediction"]],
        references=[case["gold"]],
        language=case["language"],
        profile=profile,
    )
    assert got["accuracy"] == float(0 not in case[profile] and 1 in case[profile])


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", VECTORS["bounded"], ids=lambda c: f"{c['gold']} in {c['prediction']} {c['language']}")
def test_bounded(case: dict[str, Any], profile: str, metric: Any) -> None:
    got = metric.compute(
        predictions=[case["prediction"]],
        references=[case["gold"]],
        language=case["language"],
        profile=profile,
    )
    assert got["accuracy_bounded"] == case[profile]


def test_bounded_needs_every_part_whole(metric: Any) -> None:
    golds = [["70", "art"], ["70", "art"], [["7", "70"], "art"]]
    got = metric.compute(predictions=["70 art", "70 party", "70 art"], references=golds)
    assert [row["accuracy_bounded"] for row in got["per_item"]] == [1.0, 0.0, 1.0]
    assert got["accuracy"] == 1.0


def test_a_failed_item_leaves_the_official_denominator_and_stays_in_the_corrected(metric: Any) -> None:
    answers, golds = ["70", None, "80", None], ["70"] * 4
    official = metric.compute(predictions=answers, references=golds)
    corrected = metric.compute(predictions=answers, references=golds, profile="corrected")
    assert (official["accuracy"], corrected["accuracy"], corrected["accuracy_over_scored"]) == (
        0.5,
        0.25,
        0.5,
    )
    assert "accuracy_over_scored" not in official


def test_an_empty_answer_is_scored(metric: Any) -> None:
    got = metric.compute(predictions=[""], references=["70"])
    assert (got["accuracy"], got["n_scored"]) == (0.0, 1)


def test_one_reference_in_every_shape(metric: Any) -> None:
    golds = [
        "a",
        ["a"],
        [["a"]],
        ["a", "x"],
        [["a", "x"]],
        ["a", ["x", "b"]],
        ("a", ("x", "b")),
        [["a"], ["x"]],
    ]
    got = metric.compute(predictions=["a b"] * len(golds), references=golds)
    assert [row["accuracy"] for row in got["per_item"]] == [1, 1, 1, 0, 1, 1, 1, 0]


def test_half_a_surrogate_pair_is_no_error(metric: Any) -> None:
    got = metric.compute(predictions=["70 \ud83d", "\ud83d\ude00"], references=["70", "\U0001f600"])
    assert got["accuracy"] == 1.0


def test_signature(metric: Any) -> None:
    got = metric.compute(predictions=["a"], references=["a"], language="zh", profile="corrected")
    assert got["signature"] == (
        "rgb_accuracy|version:1.1.0|profile:corrected|language:zh|tokenizer:none|prompt:none|judge:none"
    )


@settings(max_examples=40)
@given(pairs, either, languages)
def test_invariants_of_the_result(metric: Any, items: list[Any], profile: str, language: str) -> None:
    def score(pairs: list[Any]) -> Any:
        answers, golds = [p for p, _ in pairs], [g for _, g in pairs]
        return metric.compute(predictions=answers, references=golds, profile=profile, language=language)

    got = score(items)
    assert got["n_total"] == len(items) == len(got["per_item"])
    assert got["n_total"] == got["n_scored"] + sum(got["unscored"].values())
    for key in ("accuracy", "accuracy_bounded"):
        values = [row[key] for row in got["per_item"] if row[key] is not None]
        n = len(items) if profile == "corrected" else len(values)
        assert got[key] == (sum(values) / n if n else None)
    assert all((row["accuracy"] or 0) >= (row["accuracy_bounded"] or 0) for row in got["per_item"])
    back = score(items[::-1])
    assert back["per_item"] == got["per_item"][::-1]
    assert {k: v for k, v in back.items() if k != "per_item"} == {k: v for k, v in got.items() if k != "per_item"}


@pytest.mark.pure
@given(text, gold, st.data())
def test_corrected_zh_is_blind_to_spaces(rgb: ModuleType, answer: str, accepted: Any, data: Any) -> None:
    cut = data.draw(st.integers(0, len(answer)))
    spaced = f"{answer[:cut]} {answer[cut:]}"
    assert rgb.label(spaced, accepted, "zh", "corrected") == rgb.label(answer, accepted, "zh", "corrected")
    bare = [[s.replace(" ", "") for s in part] for part in rgb.parts(accepted)]
    assert rgb.label(answer, bare, "zh", "corrected") == rgb.label(answer, accepted, "zh", "corrected")


@given(text, gold, languages, either)
def test_bounded_is_a_subset(rgb: ModuleType, answer: str, accepted: Any, language: str, profile: str) -> None:
    if rgb.bounded(answer, accepted, language, profile):
        assert rgb.correct(rgb.label(answer, accepted, language, profile))


@given(st.integers(0, 9999), st.integers(0, 9999))
def test_bounded_finds_a_number_only_as_itself(rgb: ModuleType, said: int, wanted: int) -> None:
    assert rgb.bounded(f"It is {said}.", str(wanted)) == (said == wanted)
