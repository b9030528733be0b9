"""The readers that metrics share: JSON objects mended, verdicts in every dress, and where metrics read differently."""

import json
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quadrag.metrics._shared.json_reader import objects
from quadrag.metrics._shared.verdict_reader import CHINESE, VerdictReader, agreed, split

pytestmark = pytest.mark.pure

SCORE = VerdictReader("score", (0, 1))
ACCURACY = VerdictReader("prediction", (0, 1, 2), "accuracy", CHINESE)
NUMBERS = VerdictReader("prediction", (-1, 0, 1), "numerical_accuracy", CHINESE)


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("", []),
        ("no JSON", []),
        ('{"a": 1}', [{"a": 1}]),
        ('{"a": 1} and {"b": {"c": 2}}', [{"a": 1}, {"b": {"c": 2}}]),
        ('```json\n{"a": [1, 2,],}\n```', [{"a": [1, 2]}]),
        ('{x} {"a": 1}', [{"a": 1}]),
        ("{'a': 'it\\'s', 'b': 'it's',}", [{"a": "it's", "b": "it's"}]),
        ("{a: True, b: None, c: undefined, d: 1.5}", [{"a": True, "b": None, "c": None, "d": 1.5}]),
        ("{\u201ca\u201d: \u2018b\u2019}", [{"a": "b"}]),
        ('{"a": 1 // one\n, /* two */ "b": "// no comment"}', [{"a": 1, "b": "// no comment"}]),
        ('{"a": "x\ny"}', [{"a": "x\ny"}]),
        ('{"a": "\\q"}', [{"a": "q"}]),
        ('{"a": [1, {"b": "c', [{"a": [1, {"b": "c"}]}]),
        ('{"a": 1, "b":', [{"a": 1, "b": None}]),
        ('{"a": [1}', []),
        ('{"a": 1 2}', []),
        ('{"a" 1}', []),
        ('{"a": ' + "[" * 50 + "]" * 50, []),
    ],
)
def test_objects_are_mended(reply: str, found: list[Any]) -> None:
    assert list(objects(reply)) == found


def test_unmended_and_inner_objects() -> None:
    reply = '{"a": {"b": 1}} {"c": 1,} {"d": "x\ny"}'
    assert list(objects(reply, mend=False)) == [{"a": {"b": 1}}]
    assert list(objects(reply, inner=True)) == [{"a": {"b": 1}}, {"b": 1}, {"c": 1}, {"d": "x\ny"}]
    assert list(objects(reply, mend=False, inner=True)) == [{"a": {"b": 1}}, {"b": 1}]
    assert list(objects("{x} " * 49 + '{"a": 1}')) == [{"a": 1}]
    assert list(objects("{x} " * 50 + '{"a": 1}')) == [], "fifty braces are tried"
    assert list(objects(" " * 100_000 + '{"a": 1}')) == [] != list(objects(" " * 100_000 + '{"a": 1}', mend=False))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=6), VALUES, max_size=4)
PROSE = st.text(max_size=30).map(lambda text: text.replace("{", ""))
REPLIES = st.one_of(
    st.text(),
    st.text(alphabet="{}[]\"'scoreprdictn:=-012 \n\\,.truefals“”：，/*"),
    st.lists(
        st.sampled_from(["{", "}", '"score"', "prediction", ":", "：", "，", "“", "'", "1", "-1", "\ud83d", "\\", "//"])
    ).map("".join),
)


@given(OBJECTS, PROSE, PROSE, st.booleans(), st.booleans())
def test_what_stands_around_an_object_does_not_matter(
    value: dict[str, Any], before: str, after: str, mend: bool, ascii_only: bool
) -> None:
    assert list(objects(before + json.dumps(value, ensure_ascii=ascii_only) + after, mend=mend)) == [value]


@given(st.dictionaries(st.text("abc", min_size=1), VALUES, min_size=1, max_size=4))
def test_slips_of_the_pen_change_nothing(value: dict[str, Any]) -> None:
    text = json.dumps(value, indent=1)
    assert list(objects(text[:-2] + ",\n}")) == [value]
    assert list(objects(text[:-2])) == [value], "a lost brace"
    assert list(objects(text.replace("{\n", "{ // so\n"))) == [value]


@settings(max_examples=300)
@given(REPLIES, st.booleans(), st.booleans())
def test_no_text_is_too_odd_for_objects(reply: str, mend: bool, inner: bool) -> None:
    found = list(objects(reply, mend, inner))
    assert all(type(value) is dict for value in found) and len(found) <= reply.count("{")
    if not mend and not inner:
        assert found == list(objects(reply + "x", mend=False)), "a stray letter ends no object"


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


@given(st.lists(st.sampled_from([0, 1, None]), max_size=4))
def test_agreed(verdicts: list[int | None]) -> None:
    assert agreed(verdicts) == (verdicts[0] if len(set(verdicts)) == 1 else None)


@pytest.mark.parametrize(
    "piece",
    ["{", '{"a":', "{'", "{//", "{\\", "'", "[", "}", "/*", "{}", "{a ", '" ', '"score', "score: ", "{ a: 'b' "],
)
def test_time_is_linear_in_the_reply(piece: str) -> None:
    reply = "{" + piece * (100_000 // len(piece))
    began = time.process_time()
    list(objects(reply)), list(objects(reply, mend=False, inner=True)), SCORE.read(reply), ACCURACY.read(reply)
    assert time.process_time() - began < 10
