"""The reading of CRAG's further answers, by cases and by properties: any value gives clean texts, none is an error."""

import json
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadrag import catalogue

alternatives_of = catalogue.load_script(catalogue.benchmarks()["crag"]).alternatives_of


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, []),
        (float("nan"), []),
        ("", []),
        ("  ", []),
        ([], []),
        ("[]", []),
        (" [ ] ", []),
        ("None", ["None"]),
        (["a", "b"], ["a", "b"]),
        (["b", "a", "b"], ["b", "a"]),
        ([["a"], [["b"], "c"]], ["a", "b", "c"]),
        (["a", None, "", "  ", float("nan"), "b"], ["a", "nan", "b"]),
        (["nan"], ["nan"]),
        ("nan", ["nan"]),
        ("['a', 'b']", ["a", "b"]),
        ('["a", "b"]', ["a", "b"]),
        ("""["it's", 'a "b"']""", ["it's", 'a "b"']),
        ("[\n'a',\n'b',\n]", ["a", "b"]),
        ("['a', ('b', ['c'])]", ["a", "b", "c"]),
        ("['a' 'b', None, nan]", ["ab", "nan"]),
        ("[NaN, null]", ["nan"]),
        ("[1, 2.50, -3, 1_000]", ["1", "2.50", "-3", "1_000"]),
        ("[1, 2.50, -3]", ["1", "2.50", "-3"]),
        ("[True, '\\d']", ["True", "\\d"]),
        (["[1]", 1, 2.5, True], ["[1]", "1", "2.5", "true"]),
        (12, ["12"]),
        ("one answer", ["one answer"]),
        (" one answer ", ["one answer"]),
        ("[sic] one answer", ["[sic] one answer"]),
        ("[sic] the [end]", ["[sic] the [end]"]),
        ("[a, b]", ["[a, b]"]),
        ("[a for a in b]", ["[a for a in b]"]),
        ("[__import__('os')]", ["[__import__('os')]"]),
        ("['a'", ["['a'"]),
        ("('a', 'b')", ["('a', 'b')"]),
        ("{'a', 'b'}", ["{'a', 'b'}"]),
        ("[0][0]", ["[0][0]"]),
        ({"a": 1}, ['{"a": 1}']),
        ("['\ud800']", ["['\ufffd']"]),
        ("['\\ud800']", ["\ufffd"]),
        (["\ud83d\ude00"], ["\U0001f600"]),
        ("[\x00]", ["[\x00]"]),
        # Numbers too long to print stand as written; what is too deep is one answer.
        *((f"[{number}]", [number]) for number in ("9" * 5000, "0x" + "f" * 5000)),
        *((text, [text]) for text in ("[" * 9999 + "]" * 9999, f"[{'(' * 5000}{')' * 5000}]", f"[-{'-' * 9999}1]")),
    ],
)
def test_cases(value: Any, expected: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert alternatives_of(value) == expected


ANSWER = st.text(min_size=1).filter(str.strip)


@given(st.lists(ANSWER, unique=True))
def test_a_list_and_its_two_spellings_are_the_same(answers: list[str]) -> None:
    assert alternatives_of(answers) == answers
    assert alternatives_of(json.dumps(answers)) == answers
    assert alternatives_of(str(answers)) == answers
    assert alternatives_of(json.dumps(answers, ensure_ascii=False, indent=1)) == answers
    assert alternatives_of([[answer] for answer in answers]) == answers


# Texts that come near to lists, and halves of surrogate pairs.
NEAR = st.text(alphabet="[](){}'\",\\ntrue0.-_ax \ud800\n\x00", max_size=40).map(lambda text: f"[{text}]")
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | NEAR,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(ANY | NEAR)
def test_any_value_gives_clean_texts(value: Any) -> None:
    found = alternatives_of(value)
    assert all(isinstance(text, str) and text.strip() for text in found)
    assert len(set(found)) == len(found)
    "".join(found).encode()  # no half of a surrogate pair is left
    assert alternatives_of(found) == found
