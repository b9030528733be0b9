"""Hostile values in every column of every metric: scored, unscored with a reason, or one line that names the row."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

DEEP: list[Any] = []
for _ in range(5000):
    DEEP = [DEEP]
TEXTS = [
    "a\ud800b",
    "\ud83d\ude00",
    "\udc00",
    "a\0b",
    "x" * 50_000,
    "西" * 2000,
    " " * 50_000,
    "\ufeff",
    "",
    "\n" * 9000,
]
TEXTS += [
    "".join(map(chr, range(32))),
    "\u202e\u2066x",
    "\uffff\U0010ffff",
    "e" + "\u0301" * 3000,
    "9" * 5000,
    "\r\n\x85\u2028",
]
OTHERS = [10**5000, -1, 2**64, float("nan"), float("inf"), b"x", True, None, object(), DEEP, {"a": 1}, {"a\ud800": "b"}]
OTHERS += [[], [None], ["a", 1], [[]], [["a\ud800b"]], [[["a"]]], ("a\udfff", "b"), {"a"}, ["a"] * 5000, [10**5000]]
VALUES: list[Any] = TEXTS + [[text] for text in TEXTS[:4]] + OTHERS

REPLIES = {
    "rejection_rate": "No, the question is not addressed by the documents.",
    "error_detection": "Yes, the model has identified the factual errors.",
    "ragquesteval": '{"question": ["何时？"]}',
    "truthfulness": '{"score": 1}',
    "omnieval": '{"prediction": 1}',
}
COLUMNS = {
    "rgb_accuracy": (),
    "rejection_rate": ("questions",),
    "error_detection": ("questions",),
    "crud_overlap": (),
    "ragquesteval": ("ids",),
    "retrieval_ranking": (),
    "truthfulness": ("questions", "domains", "question_types", "ratings"),
    "omnieval": ("questions", "contexts", "history"),
    "omnieval_overlap": (),
}


def ordinary(name: str) -> dict[str, Any]:
    """Three items that every metric scores."""

    def judge(requests: list[Any]) -> list[str]:
        json.dumps(requests, ensure_ascii=False).encode()  # can be sent
        return [REPLIES[name]] * len(requests)

    given: dict[str, Any] = {"predictions": ["70", "b", "c"], "references": ["70", "b", "d"]}
    if name == "retrieval_ranking":
        given = {column: [["d1"], ["d2"], ["d3"]] for column in given}
    given |= {"judge": judge} if name in REPLIES else {}
    given |= {column: ["q"] * 3 for column in COLUMNS[name] if column not in ("ratings", "domains", "question_types")}
    if name == "ragquesteval":
        given["question_cache"] = {"q": {"question": ["何时？"], "answers": ["昨天"]}}
    if name == "omnieval":
        given |= {"contexts": [["p"]] * 3, "history": [None] * 3}
    return given


@pytest.mark.slow(20, 100, 3000)
@pytest.mark.parametrize("name", COLUMNS)
def test_one_bad_value_never_ends_in_anything_but_a_line(
    load_metric: Callable[[str], Any], name: str, rounds: int
) -> None:
    draw = Random(name)
    columns = ("predictions", "references", "states", *COLUMNS[name])
    columns = tuple(column for column in columns if column != "states" or "states" in load_metric(name).OPTIONS)
    for _ in range(rounds):
        column, value, given = draw.choice(columns), draw.choice(VALUES), ordinary(name)
        if column == "ratings":
            del given["judge"]
        if column in ("domains", "question_types"):
            given |= {"weights": {"q": 1.0}, "domains": ["q"] * 3, "question_types": ["q"] * 3}
        given[column] = [*given.get(column, [None] * 3)[:1], value, *given.get(column, [None] * 3)[2:]]
        given["profile"] = draw.choice(["official", "corrected"])
        what = f"{column}: {ascii(value)[:50] if isinstance(value, str) else type(value)}"
        try:
            got = load_metric(name).compute(**given)
        except ValueError as error:
            assert type(error) is ValueError, what
            told = str(error)
            assert len(told.encode()) < 1000 and len(told.splitlines()) == 1, what
            named = (f"{column}[1]", "question type", "references has 2 entries for 3 predictions")
            assert any(name in told for name in named), f"{what}: {told}"
        else:
            json.dumps(got, ensure_ascii=False).encode()
            assert got["n_total"] == 3 and len(got["per_item"]) == 3, what


@pytest.mark.parametrize("name", ["rgb_accuracy", "rejection_rate", "error_detection"])
def test_half_a_surrogate_pair_in_one_gold_leaves_the_others_alone(
    load_metric: Callable[[str], Any], name: str
) -> None:
    metric = load_metric(name)
    told = "There are factual errors in the provided documents. It is 70, or \ud800."
    golds: list[Any] = ["a\ud800b", ["70", "\udc00"], [["\ud800", "x"], "70"], "70"]
    got = metric.compute(predictions=[told] * 4, references=golds)
    plain = metric.compute(predictions=[told] * 4, references=["a\ufffdb", ["70", "\ufffd"], [["\ufffd"], "70"], "70"])
    assert got == plain and got["n_scored"] == 4
    with pytest.raises(ValueError, match=r"references\[1\]\[0\]\[1\] is int"):
        metric.compute(predictions=[told] * 2, references=["x", [["y", 5]]])
