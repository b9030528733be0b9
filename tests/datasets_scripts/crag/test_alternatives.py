"""The reading of CRAG's further answers, by cases and by properties: any value gives clean texts, none is an error."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from quadrag import catalogue

CASES = yaml.safe_load(Path(__file__).with_name("alternatives.yaml").read_text(encoding="utf-8"))
alternatives_of = catalogue.load_script(catalogue.benchmarks()["crag"]).alternatives_of


# What YAML cannot hold; numbers too long to print stand as written, and what is too deep is one answer.
ODD = [
    ("['\ud800']", ["['\ufffd']"]),
    (["\ud83d\ude00"], ["\U0001f600"]),
    ("[\x00]", ["[\x00]"]),
    *((f"[{number}]", [number]) for number in ("9" * 5000, "0x" + "f" * 5000)),
    *((text, [text]) for text in ("[" * 9999 + "]" * 9999, f"[{'(' * 5000}{')' * 5000}]", f"[-{'-' * 9999}1]")),
]


@pytest.mark.parametrize(("value", "expected"), [*CASES, *ODD])
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
