"""Names have one normal form."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadrag.kg.names import normalise, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("O'Brien", "obrien"),
        ("AC/DC", "acdc"),
        ("Star_Wars", "star wars"),
        ("  The\tPhantom \n of  the Opera ", "the phantom of the opera"),
        ("Florida, Massachusetts", "florida massachusetts"),
        ("M*A*S*H (film)", "mash film"),
        ("Ga-Ga", "gaga"),
        ("__", ""),
        ("?!", ""),
        ("", ""),
        # Only ASCII punctuation goes; accents, width and other signs stay.
        ("Almería", "almería"),
        ("La Bohème – opéra", "la bohème – opéra"),
        ("Ｆｕｌｌ", "ｆｕｌｌ"),
        ("non\u00a0breaking\u3000blank", "non breaking blank"),
    ],
)
def test_worked_examples(text: str, expected: str) -> None:
    assert normalise(text) == expected
    assert terms(text) == expected.split()


@given(st.text(st.one_of(st.sampled_from(string.punctuation + " \t_ΣİẞǅAa"), st.characters())))
def test_a_normal_form_is_its_own(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert terms(text) == once.split()
    assert not set(once) & set(string.punctuation)
