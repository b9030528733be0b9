"""What both overlap metrics do alike: batches, no items, bad input, and what holds of any result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from overlaps import KEYS, PROFILES, text

GOLD = "上海市体育局发放了500万元体育消费券。"
GIVEN: dict[str, list[tuple[Any, Any]]] = {
    "crud_overlap": [(GOLD, [GOLD]), (None, GOLD), ("", GOLD), ("上海市体育局发放了", (GOLD,)), (GOLD, None)],
    "omnieval_overlap": [
        *(("净利润为3.2亿元", ["3.2亿元", "净利润"]), (None, "基金"), ("", "基金"), ("基金", None)),
        *(("基金", ("基金", "")), ("\ud83d基金", np.array(["基金", "债券"]))),
    ],
}


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("profile", PROFILES)
def test_compute_add_batch_and_add_agree(load_metric: Callable[[str], Any], name: str, profile: str) -> None:
    metric = load_metric(name)
    answers, golds = map(list, zip(*GIVEN[name], strict=True))
    whole = metric.compute(predictions=answers, references=golds, profile=profile)
    metric.add_batch(predictions=answers[:2], references=golds[:2])
    metric.add_batch(predictions=[], references=[])
    metric.add_batch(predictions=np.array(answers[2:], dtype=object), references=golds[2:])
    assert metric.compute(profile=profile) == whole
    for answer, gold in zip(answers, golds, strict=True):
        metric.add(prediction=answer, reference=gold)
    assert metric.compute(profile=profile) == whole


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("profile", PROFILES)
def test_no_items(load_metric: Callable[[str], Any], name: str, profile: str) -> None:
    got = load_metric(name).compute(predictions=[], references=[], profile=profile)
    assert (got["n_total"], got["n_scored"], got["unscored"], got["per_item"]) == (0, 0, {}, [])
    assert all(got[key] is None for key in KEYS[name])


BAD: dict[str, list[tuple[dict[str, Any], str]]] = {
    "both": [
        ({"predictions": ["a"]}, "1 predictions but 2 references"),
        ({"predictions": "ab"}, "predictions is str; expected a list"),
        ({"predictions": ["a", 1]}, r"predictions\[1\] is int; expected a string or None"),
        ({"references": None}, "references is NoneType; expected a list"),
        ({"profile": "offical"}, "profile is 'offical'; expected 'official' or 'corrected'"),
        ({"states": [None]}, "states has 1 entries for 2 predictions"),
        ({"states": [None, "late"], "predictions": ["a", None]}, r"states\[1\] is 'late'; expected None or one of"),
    ],
    "crud_overlap": [
        ({"references": ["a", ["a", "b"]]}, r"references\[1\] holds 2 entries; expected one string, or a list of one"),
        ({"references": ["a", 7]}, r"references\[1\] is int; expected a string or None"),
        ({"references": ["a", [["a"]]]}, r"references\[1\] is list; expected a string or None"),
        ({"embed": "text2vec"}, "embed is str; expected a callable"),
        ({"embed": lambda texts: [1.0] * len(texts)}, r"embed returned shape \(2,\) for 2 texts; expected \(2, d\)"),
        ({"embed": lambda texts: [[1.0]]}, r"embed returned shape \(1, 1\) for 2 texts; expected \(2, d\)"),
        ({"embed": lambda texts: [[1.0], [math.nan]]}, "embed returned numbers that are not finite"),
    ],
    "omnieval_overlap": [
        ({"references": "ab"}, "references is str; expected a list, one per prediction"),
        ({"references": ["a", 7]}, r"references\[1\] is int; expected a string, a list of strings or None"),
        ({"references": ["a", {"a": 1}]}, r"references\[1\] is dict; expected a string, a list of strings or None"),
        ({"references": ["a", ["a", None]]}, r"references\[1\]\[1\] is NoneType; expected a string"),
        ({"references": ["a", [["a"]]]}, r"references\[1\]\[0\] is list; expected a string"),
    ],
}


@pytest.mark.parametrize(
    ("name", "changed", "message"), [(name, *case) for name in KEYS for case in BAD["both"] + BAD[name]]
)
def test_bad_input_is_one_clear_line_and_leaves_nothing_behind(
    load_metric: Callable[[str], Any], name: str, changed: dict[str, Any], message: str
) -> None:
    metric, good = load_metric(name), {"predictions": ["a", "b"], "references": ["a", "a"]}
    with pytest.raises(ValueError, match=message) as caught:
        metric.compute(**{**good, **changed})
    assert "\n" not in str(caught.value)
    assert metric.compute(**good)["n_total"] == 2


@pytest.mark.parametrize(
    ("name", "gold"), [("crud_overlap", text), ("omnieval_overlap", text | st.lists(text, min_size=1, max_size=3))]
)
@settings(max_examples=40)
@given(data=st.data(), profile=st.sampled_from(PROFILES))
def test_invariants_of_the_result(
    load_metric: Callable[[str], Any], name: str, gold: Any, data: st.DataObject, profile: str
) -> None:
    items = data.draw(st.lists(st.tuples(st.none() | text, st.none() | gold), max_size=6))

    def score(pairs: list[Any]) -> Any:
        answers, golds = [p for p, _ in pairs], [g for _, g in pairs]
        return load_metric(name).compute(predictions=answers, references=golds, profile=profile)

    got = score(items)
    assert got["n_total"] == len(items) == got["n_scored"] + sum(got["unscored"].values())
    for key in KEYS[name]:
        values = [row[key] for row in got["per_item"] if row[key] is not None]
        assert name == "crud_overlap" or all(type(value) is float and 0 <= value <= 1 for value in values)
        n = sum(row["reasons"].get(key) != "not_applicable" for row in got["per_item"])
        n = n if profile == "corrected" else len(values)
        assert got[key] == (sum(values) / n if n else None)
    for i, pair in enumerate(items):
        assert score([pair])["per_item"][0] == got["per_item"][i]
