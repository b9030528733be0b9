"""The documents shown with a question: published vectors, an independent reading of the rule, and its properties."""

import copy
import json
import math
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quadrag import catalogue

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))["cases"]
RGB: ModuleType = catalogue.load_script(catalogue.benchmarks()["rgb"])
compose = RGB.compose


def inputs(case: dict[str, Any]) -> tuple[list[Any], list[str], list[str] | None]:
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


def cases(kind: str, positive: Any = SIZE, **more: Any) -> st.SearchStrategy[dict[str, Any]]:
    sizes = {"positive": positive, "negative": SIZE, "passage_num": PASSAGES, "noise_ratio": RATIO}
    return st.fixed_dictionaries({"kind": st.just(kind), **sizes, **more})


ASPECTS = cases("aspects", st.lists(st.integers(1, 8), min_size=1, max_size=8))
ANY = cases("plain") | ASPECTS | cases("counterfactual", correct_ratio=RATIO)


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
def test_equals_an_independent_reading_and_changes_nothing(case: dict[str, Any]) -> None:
    lists, state = inputs(case), random.getstate()
    before = copy.deepcopy(lists)
    try:
        found = compose(*lists, **numbers(case))
    except ValueError:
        found = ValueError
    assert (lists, random.getstate()) == (before, state)
    assert found == oracle(*lists, *numbers(case).values())


def test_seeds_by_question_do_not_share_one_order() -> None:
    case = {"kind": "plain", "positive": 8, "negative": 8, "noise_ratio": 0.8}
    orders = {tuple(compose(*inputs(case), **numbers(case), seed=f"2333:{i}")) for i in range(300)}
    places = {order.index("P0") for order in orders}
    assert len(orders) > 80, "120 orders are possible"
    assert places == {0, 1, 2, 3, 4}, "the one positive is not always last"
