"""The reader of verdicts that metrics share: verdicts in every dress, and where metrics read differently."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quadrag.metrics._shared.verdict_reader import CHINESE, VerdictReader, split

CASES = yaml.safe_load(Path(__file__).with_name("reader_cases.yaml").read_text(encoding="utf-8"))
pytestmark = pytest.mark.pure

SCORE = VerdictReader("score", (0, 1))
ACCURACY = VerdictReader("prediction", (0, 1, 2), "accuracy", CHINESE)
NUMBERS = VerdictReader("prediction", (-1, 0, 1), "numerical_accuracy", CHINESE)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=6), VALUES, max_size=4)
REPLIES = st.one_of(
    st.text(),
    st.text(alphabet="{}[]\"'scoreprdictn:=-012 \n\\,.truefals“”：，/*"),
    st.lists(
        st.sampled_from(["{", "}", '"score"', "prediction", ":", "：", "，", "“", "'", "1", "-1", "\ud83d", "\\", "//"])
    ).map("".join),
)


@pytest.mark.parametrize(("reply", "verdict"), [*CASES["score"], ['{"score": ' + "9" * 5000 + "}", None]])
def test_verdicts(reply: str, verdict: int | None) -> None:
    assert SCORE.read(reply) == verdict


def test_a_second_name_counts_where_it_could_be_meant() -> None:
    assert ACCURACY.read('{"accuracy": 2}') == ACCURACY.read('{"prediction": 2, "accuracy": "all right"}') == 2
    assert ACCURACY.read('{"prediction": 2, "accuracy": 1}') is None
    assert ACCURACY.read('{"prediction": 2, "accuracy": "1.5"}') is None
    assert ACCURACY.read('{"accuracy": "all right"}') is None
    assert NUMBERS.read("Numerical accuracy: 1") == 1


@pytest.mark.parametrize(("reply", "english", "chinese"), CASES["prediction"])
def test_where_the_readers_differ(reply: str, english: int | None, chinese: int | None) -> None:
    scale = (0, 1)
    assert VerdictReader("prediction", scale).read(reply) == english
    assert VerdictReader("prediction", scale, marks=CHINESE).read(reply) == chinese


@settings(max_examples=300)
@given(REPLIES)
@example("{" * 50_000)
@example("score: falſe")
def test_no_text_is_too_odd_for_verdicts(reply: str) -> None:
    assert SCORE.read(reply) in (0, 1, None) and ACCURACY.read(reply) in (0, 1, 2, None)
    found, outside = split(reply)
    assert len(outside) == len(found) + 1 and (found or outside == [reply])


@given(
    OBJECTS, st.sampled_from([0, 1]), st.sampled_from([0, 1]), st.sampled_from(["", "```json\n", "Well: ", "\ufeff"])
)
def test_two_verdicts_that_differ_are_none(other: dict[str, Any], one: int, two: int, before: str) -> None:
    other = {name: value for name, value in other.items() if name.strip().lower() != "score"}
    reply = "\n".join(before + json.dumps({**other, "score": verdict}) for verdict in (one, two))
    assert SCORE.read(reply) == (one if one == two else None)
