"""The documents shown with a question: published vectors, an independent reading of the rule, and its properties."""

from __future__ import annotations

import copy
import json
import math
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from quadrag import catalogue

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))["cases"]
RGB: ModuleType = catalogue.load_script(catalogue.benchmarks()["rgb"])
compose = RGB.compose


def inputs(case: dict[str, Any]) -> tuple[list[Any], list[str], list[str] | None]:
    """The documents of a case, by their names."""
    negative = [f"N{i}" for i in range(case["negative"])]
    if case["kind"] == "aspects":
        return [[f"A{a}_{i}" for i in range(size)] for a, size in enumerate(case["positive"])], negative, None
    positive = [f"P{i}" for i in range(case["positive"])]
    return positive, negative, [f"W{i}" for i in range(len(positive))] if case["kind"] == "counterfactual" else None


def numbers(case: dict[str, Any]) -> dict[str, Any]:
    return {
        "passage_num": case.get("passage_num", 5),
        "noise_ratio": case.get("noise_ratio", 0),
        "correct_ratio": case.get("correct_ratio", 0),
    }


def oracle(positive: list[Any], negative: list[str], wrong: list[str] | None, n: int, noise: float, true: float) -> Any:
    """The rule read once more, step by step and with the global generator, as the authors' code draws."""
    random.seed(2333)
    negatives, positives = math.ceil(n * noise), n - math.ceil(n * noise)
    if n == 0:
        return []
    if wrong is not None:
        corrects = math.ceil(n * true)
        if positives - corrects < 0:
            return ValueError
        chosen = random.sample(list(range(len(positive))), min(len(positive), positives - corrects))
        left = [i for i in range(len(positive)) if i not in chosen]
        docs = [wrong[i] for i in chosen]
        if corrects > 0 and left:
            docs += [positive[i] for i in random.sample(left, min(len(left), corrects))]
        docs += negative[:negatives]
    elif positive and isinstance(positive[0], list):
        aspects = copy.deepcopy(positive)
        for aspect in aspects:
            random.shuffle(aspect)
        docs = [aspect[0] for aspect in aspects]
        for depth in range(1, max(map(len, aspects))):
            for aspect in aspects:
                if depth < len(aspect) and len(docs) < positives:
                    docs.append(aspect[depth])
        while len(docs) < n and negative:
            docs.append(negative[0])
            negative = negative[1:]
    else:
        if noise != 1 and negatives > len(negative):
            negatives, positives = len(negative), n - len(negative)
        elif noise != 1 and positives > len(positive):
            negatives, positives = n - len(positive), len(positive)
        docs = positive[:positives] + negative[:negatives]
    random.shuffle(docs)
    return docs


TENTHS = st.sampled_from([i / 10 for i in range(11)])
RATIO = TENTHS | st.floats(0, 1)
SIZE = st.integers(0, 30)
PASSAGES = st.integers(0, 20)
PLAIN = st.fixed_dictionaries(
    {"kind": st.just("plain"), "positive": SIZE, "negative": SIZE, "passage_num": PASSAGES, "noise_ratio": RATIO}
)
ASPECTS = st.fixed_dictionaries(
    {
        "kind": st.just("aspects"),
        "positive": st.lists(st.integers(1, 8), min_size=1, max_size=8),
        "negative": SIZE,
        "passage_num": PASSAGES,
        "noise_ratio": RATIO,
    }
)
COUNTERFACTUAL = st.fixed_dictionaries(
    {
        "kind": st.just("counterfactual"),
        "positive": SIZE,
        "negative": SIZE,
        "passage_num": PASSAGES,
        "noise_ratio": RATIO,
        "correct_ratio": RATIO,
    }
)
ANY = PLAIN | ASPECTS | COUNTERFACTUAL


def composed(case: dict[str, Any], **options: Any) -> list[str]:
    """The documents of a drawn case; cases whose ratios do not fit together are drawn again."""
    n, ratios = case["passage_num"], (case["noise_ratio"], case.get("correct_ratio", 0))
    assume(case["kind"] != "counterfactual" or sum(math.ceil(n * ratio) for ratio in ratios) <= n)
    documents: list[str] = compose(*inputs(case), **numbers(case), **options)
    return documents


def flat(positive: list[Any]) -> list[str]:
    return [text for part in positive for text in (part if isinstance(part, list) else [part])]


@pytest.mark.parametrize("case", VECTORS, ids=[f"{i}-{case['kind']}" for i, case in enumerate(VECTORS)])
def test_vectors(case: dict[str, Any]) -> None:
    assert len({"expect", "negatives", "error"} & set(case)) == 1, "a case expects one thing"
    if "error" in case:
        with pytest.raises(ValueError, match=case["error"]):
            compose(*inputs(case), **numbers(case))
        return
    documents = compose(*inputs(case), **numbers(case))
    if "expect" in case:
        assert documents == case["expect"]
    else:
        assert sum(name.startswith("N") for name in documents) == case["negatives"]


@given(ANY)
@example({"kind": "counterfactual", "positive": 30, "negative": 3, "passage_num": 5, "noise_ratio": 0.2})
def test_equals_an_independent_reading(case: dict[str, Any]) -> None:
    settings = numbers(case)
    expected = oracle(*inputs(case), *settings.values())
    if expected is ValueError:
        with pytest.raises(ValueError, match="do not fit"):
            compose(*inputs(case), **settings)
    else:
        assert compose(*inputs(case), **settings) == expected


@given(ANY)
def test_documents_are_the_questions_own_and_none_twice(case: dict[str, Any]) -> None:
    positive, negative, wrong = inputs(case)
    documents = composed(case)
    assert len(set(documents)) == len(documents)
    assert set(documents) <= {*flat(positive), *negative, *(wrong or [])}


@given(PLAIN)
def test_a_short_side_is_filled_up_by_the_other_except_at_noise_one(case: dict[str, Any]) -> None:
    positive, negative, _ = inputs(case)
    n, noise = case["passage_num"], math.ceil(case["passage_num"] * case["noise_ratio"])
    documents = composed(case)
    positives, negatives = (sum(name.startswith(letter) for name in documents) for letter in "PN")
    if case["noise_ratio"] == 1:
        assert (positives, negatives) == (0, min(n, len(negative)))
    else:
        assert len(documents) == min(n, len(positive) + len(negative))
        assert negatives >= min(noise, len(negative))
        assert positives >= min(n - noise, len(positive))
    assert set(documents) == {*positive[:positives], *negative[:negatives]}, "both are cut to prefixes"


@given(PLAIN.filter(lambda case: case["positive"] >= case["passage_num"] and case["negative"] >= case["passage_num"]))
def test_noise_is_rounded_up(case: dict[str, Any]) -> None:
    documents = composed(case)
    assert len(documents) == case["passage_num"]
    assert sum(name.startswith("N") for name in documents) == math.ceil(case["passage_num"] * case["noise_ratio"])


@given(ASPECTS.filter(lambda case: case["passage_num"] > 0))
def test_no_aspect_is_ever_dropped_and_noise_is_a_ceiling(case: dict[str, Any]) -> None:
    n, sizes = case["passage_num"], case["positive"]
    documents = composed(case)
    shown = [sum(name.startswith(f"A{a}_") for name in documents) for a in range(len(sizes))]
    assert all(shown)
    # Even sweeps: no aspect is shown twice more often than another that still has documents.
    deepest = max(shown)
    assert all(count >= min(size, deepest - 1) for count, size in zip(shown, sizes, strict=True))
    noise = math.ceil(n * case["noise_ratio"])
    relevant = min(sum(sizes), max(len(sizes), n - noise))
    assert sum(shown) == relevant
    assert len(documents) == relevant + min(case["negative"], max(0, n - relevant))


@given(COUNTERFACTUAL)
def test_counterfactual_lists_stay_short_and_show_no_document_in_both_forms(case: dict[str, Any]) -> None:
    n = case["passage_num"]
    documents = composed(case)
    noise, true = math.ceil(n * case["noise_ratio"]), math.ceil(n * case["correct_ratio"])
    by_letter = {letter: {name[1:] for name in documents if name[0] == letter} for letter in "WPN"}
    wrong = min(case["positive"], n - noise - true)
    assert len(by_letter["W"]) == wrong
    assert len(by_letter["P"]) == min(case["positive"] - wrong, true)
    assert len(by_letter["N"]) == min(case["negative"], noise)
    assert not by_letter["W"] & by_letter["P"]


@given(ANY)
def test_pure(case: dict[str, Any]) -> None:
    given_lists = inputs(case)
    before, state = copy.deepcopy(given_lists), random.getstate()
    first = composed(case)
    assert compose(*given_lists, **numbers(case)) == first
    assert given_lists == before
    assert random.getstate() == state


@given(ANY, st.integers(0, 10**6))
def test_a_seed_of_its_own_changes_the_order_and_stays(case: dict[str, Any], identifier: int) -> None:
    first = composed(case, seed=f"2333:{identifier}")
    assert compose(*inputs(case), **numbers(case), seed=f"2333:{identifier}") == first
    assert len(first) == len(composed(case))
    if case["kind"] == "plain":
        assert sorted(first) == sorted(composed(case))


def test_seeds_by_question_do_not_share_one_order() -> None:
    case = {"kind": "plain", "positive": 8, "negative": 8, "noise_ratio": 0.8}
    orders = {tuple(compose(*inputs(case), **numbers(case), seed=f"2333:{i}")) for i in range(300)}
    places = {order.index("P0") for order in orders}
    assert len(orders) > 80, "120 orders are possible"
    assert places == {0, 1, 2, 3, 4}, "the one positive is not always last"


@given(ANY.filter(lambda case: case["passage_num"] > 0))
def test_at_noise_one_plain_questions_show_negatives_only(case: dict[str, Any]) -> None:
    case = {**case, "noise_ratio": 1.0, "correct_ratio": 0.0}
    shown = {name[0] for name in composed(case)}
    assert shown <= ({"A", "N"} if case["kind"] == "aspects" else {"N"})
