"""Hostile values in every column of every metric: scored, unscored with a reason, or one line that names the row."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from ordinary import COLUMNS, ordinary

DEEP: list[Any] = []
for _ in range(5000):
    DEEP = [DEEP]
TEXTS = ["a\ud800b", "\ud83d\ude00", "\udc00", "a\0b", "\ufeff", "", "\u202e\u2066x", "\uffff\U0010ffff"]
TEXTS += ["x" * 50_000, "西" * 2000, " " * 50_000, "\n" * 9000, "e" + "\u0301" * 3000, "9" * 5000, "\r\n\x85\u2028"]
TEXTS += ["".join(map(chr, range(32)))]
OTHERS = [10**5000, -1, 2**64, float("nan"), float("inf"), b"x", True, None, object(), DEEP, {"a": 1}, {"a\ud800": "b"}]
OTHERS += [[], [None], ["a", 1], [[]], [["a\ud800b"]], [[["a"]]], ("a\udfff", "b"), {"a"}, ["a"] * 5000, [10**5000]]
VALUES: list[Any] = TEXTS + [[text] for text in TEXTS[:4]] + OTHERS


@pytest.mark.slow(20, 100, 3000)
@pytest.mark.parametrize("name", COLUMNS)
def test_one_bad_value_never_ends_in_anything_but_a_line(
    load_metric: Callable[[str], Any], name: str, rounds: int
) -> None:
    draw = Random(name)
    columns = ("predictions", "references", "states", *COLUMNS[name])
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
