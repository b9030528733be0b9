"""The reader of verdicts that metrics share: verdicts in every dress, and where metrics read differently."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quadrag.metrics._shared.verdict_reader import CHINESE, VerdictReader, split

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


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ('{"score": 1}', 1),
        ('{"Score ": "1.0"}', 1),
        ('{"score": false}', 0),
        ('{"a": [{"score": 1}], "b": "score: 0"}', 1),
        ("{'score': 1, 'reason': 'x'", 1),
        ("**Score**: 1", 1),
        ("Score is 0", 0),
        ('"{\\"score\\": 1}"', 1),
        ('{"score": 1} {"score": 0}', None),
        ('{"score": 1, "score": 0}', None),
        ('{"score": 1}\nScore: 0', None),
        ('{"score": 0.5}', None),
        ('{"score": [1]}', None),
        ('{"score": ' + "9" * 5000 + "}", None),
        ('{"reason": "score: 1"}', None),
        ("the score is open", None),
        ("", None),
    ],
)
def test_verdicts(reply: str, verdict: int | None) -> None:
    assert SCORE.read(reply) == verdict


def test_a_second_name_counts_where_it_could_be_meant() -> None:
    assert ACCURACY.read('{"accuracy": 2}') == ACCURACY.read('{"prediction": 2, "accuracy": "all right"}') == 2
    assert ACCURACY.read('{"prediction": 2, "accuracy": 1}') is None
    assert ACCURACY.read('{"prediction": 2, "accuracy": "1.5"}') is None
    assert ACCURACY.read('{"accuracy": "all right"}') is None
    assert NUMBERS.read("Numerical accuracy: 1") == 1


DIFFERENCES = [
    # reply, truthfulness (of `prediction`, to compare), omnieval
    ("\nprediction\uff1a1", 1, 1),  # a full-width colon
    ("\nprediction\u4e3a1", None, 1),  # 为, and 是 alike
    ("\nprediction is 1", 1, 1),
    ("\nprediction: 1\uff0c\u56e0", 1, 1),  # a full-width comma ends a value
    ("{a: 1\uff0cprediction: 1}", 1, 1),  # a full-width comma before a key
    ("x\uff0cprediction: 1", None, None),  # prose is no key
    ("\nxprediction: 1", None, None),
    ("\nprediction: 1\nxprediction: 0", None, 1),  # the name ends a longer word
    ("\nprediction: 1, 2", 1, None),  # a comma that a digit follows, past a blank
    ("\nprediction: 1,", 1, None),  # a comma that nothing follows
    ("\nprediction: 1\nits prediction: \u22121", None, None),  # a minus sign is one, however it is written
    ("\nprediction: 1.\u3000x", 1, 1),  # a blank of another script behind a full stop
    ("\nprediction: yes", None, None),
    ('{"prediction": "yes"}', None, None),
    ('{"prediction": "1.0"}', 1, 1),
    ("\nprediction: 1.0", 1, 1),
    ('"{\\"prediction\\": 1}"', 1, 1),  # a reply that is one JSON string
    ('{"prediction": 1} {"a": 2}', 1, 1),  # an object without the field: read as text
    ('{"prediction": 1, "a": {"prediction": 0}}', 1, 1),  # the first level counts, or every one
    ('{"a": 1}\nprediction: 1', None, None),  # objects, and the field in none of them
    ('} {"a": "prediction: 0", "prediction": 1}', None, None),  # a brace too many
    ("the prediction: 1", None, None),
    ('{"prediction": 1} so the prediction: 0', None, None),  # text that is no key, beside an object
    ("\nprediction: 1\nprediction: bad", None, None),  # no value where one should be
    ('{"prediction": 1} the prediction: bad', 1, 1),
]


@pytest.mark.parametrize(("reply", "english", "chinese"), DIFFERENCES, ids=[ascii(x[0]) for x in DIFFERENCES])
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
