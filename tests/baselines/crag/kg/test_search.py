"""The fuzzy search equals rank_bm25 to the bit, and the music variant its definition."""

import math
import random
import sqlite3
import string
from collections.abc import Sequence
from contextlib import closing

import pytest
from crag_runs import EXAMPLES
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from quadrag.baselines.crag.kg.search import Search, Ties, Variant, normalise, terms, write

# specs/crag.md, section E
TOY = ["florida", "florida city", "florida keys", "florida state university", "la boheme", "orlando florida", "phantom"]
TOY += ["star wars", "the godfather", "the phantom of the opera"]
MORE = [*TOY, *(f"florida {letter}" for letter in "abcdefghijk")]
MUSIC = ["adele", "beatles revival", "the beatles", "the the", *(f"n{n:03}" for n in range(96))]


def search(names: Sequence[str], variant: Variant = "okapi", ties: Ties = "last") -> Search:
    connection = sqlite3.connect(":memory:")
    write(connection, "names", names, variant, ties)
    return Search(connection, "names")


def oracle(index: BM25Okapi, query: str, limit: int = 10) -> list[tuple[int, float]]:
    """What upstream does with the scores, with the ties in our order."""
    scores = index.get_scores(terms(query)).tolist()
    best = sorted(range(len(scores)), key=lambda i: (-scores[i], -i))[:limit]
    return [(i, scores[i]) for i in best if scores[i] != 0]


def music_oracle(names: Sequence[str], query: str, limit: int = 10) -> list[tuple[int, float]]:
    """The music variant by its definition, over all names and in pure Python."""
    documents = [terms(name) for name in names]
    mean = sum(map(len, documents)) / len(documents)
    scores: dict[int, float] = {}
    for word in terms(query):
        holding = [i for i, document in enumerate(documents) if word in document]
        if not holding:
            continue
        idf = math.log(len(names) - len(holding) + 0.5) - math.log(len(holding) + 0.5)
        if idf <= 4:
            continue
        for i in holding:
            count, length = documents[i].count(word), len(documents[i])
            part = idf * (count * (1.5 + 1) / (count + 1.5 * (1 - 0.75 + 0.75 * length / mean)))
            scores[i] = scores.get(i, 0.0) + part
    return sorted(scores.items(), key=lambda item: -item[1])[:limit]


@pytest.mark.parametrize(
    ("names", "variant", "query", "expected"),
    [
        (TOY, "okapi", "phantom of the opera", [(9, 4.366111), (6, 1.621871), (8, 1.275974)]),
        (TOY, "okapi", "florida", []),  # in exactly half of the names
        (TOY, "okapi", "star star", [(7, 3.849117)]),  # a repeated term counts twice
        (MUSIC, "music", "Adele!", [(0, 4.250402)]),
        *((MUSIC, "music", query, []) for query in ("the beatles", "the the")),
        (MUSIC, "music", "beatles revival", [(1, 2.946153)]),  # the rare term alone counts
    ],
)
def test_toys(names: list[str], variant: Variant, query: str, expected: list[tuple[int, float]]) -> None:
    index = search(names, variant)
    assert [(row, round(score, 6)) for row, score in index.find(query)] == expected
    assert index.find(query, limit=0) == []


def test_toy_a_term_in_most_names_gets_the_floor() -> None:
    found = search(MORE).find("florida")
    assert (MORE[found[0][0]], round(found[0][1], 6)) == ("florida", 0.794023)
    # The two-word names tie, the later ones first.
    assert [MORE[i] for i, _ in found[1:]] == [f"florida {letter}" for letter in "kjihgfedc"]


@pytest.mark.parametrize(("size", "found"), [(82, []), (83, ["n000"])])
def test_music_needs_83_names(size: int, found: list[str]) -> None:
    # With 82 no term survives, and upstream divides by zero.
    names = [f"n{n:03}" for n in range(size)]
    assert [names[i] for i, _ in search(names, "music").find("n000")] == found


def test_music_ties_are_in_the_order_of_being_reached() -> None:
    names = ["b one", "a one", "b two", *(f"n{n:03} x" for n in range(300))]
    assert [names[i] for i, _ in search(names, "music").find("a b")] == ["a one", "b one", "b two"]
    # Equal scores alone are in that order; a name with both terms is first.
    assert search([*names, "b a"], "music").find("a b")[0][0] == len(names)


def test_ties_can_be_in_file_order() -> None:
    names = ["x jackson", "jackson", "y jackson", "z jackson", *"abcdefghijk"]
    assert [i for i, _ in search(names).find("jackson")] == [1, 3, 2, 0]
    assert [i for i, _ in search(names, ties="first").find("jackson")] == [1, 0, 2, 3]


@pytest.mark.parametrize("names", [[], [""], ["", "?!", "_"]])
@pytest.mark.parametrize("variant", ["okapi", "music"])
def test_no_terms_at_all_find_nothing(names: list[str], variant: Variant) -> None:
    # rank_bm25 divides by zero here.
    index = search(names, variant)
    assert index.find("anything") == []
    assert index.find("") == []


def test_negative_scores_come_after_the_places_that_zeros_take() -> None:
    # Both terms stand in most names, so that the mean idf, and with it the floor, is negative.
    names = ["a b", "a b", "a b", "a", "b", ""]
    found = search(names).find("a", limit=4)
    assert found == oracle(BM25Okapi([terms(name) for name in names]), "a", 4)
    assert [i for i, _ in found] == [2, 1]  # of four; the two names without the term took the first places
    assert all(score < 0 for _, score in found)
    assert search(names).find("a", limit=2) == []


def test_half_a_surrogate_pair_is_a_term_like_any_other() -> None:
    assert [i for i, _ in search(["\ud800", "b", "c"]).find("\ud800 x")] == [0]


def test_indices_of_one_file_do_not_meet() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        write(connection, "one", ["alpha", "beta", "gamma"])
        write(connection, "two", ["beta", "delta", "gamma"])
        assert Search(connection, "one").find("alpha")[0][0] == 0
        assert Search(connection, "two").find("alpha") == []


# Few letters, so that names repeat, tie, and hold a term more than once; empty names among them.
NAMES = st.lists(st.text("abcd  _'", max_size=9), min_size=1, max_size=40)
QUERIES = st.lists(st.text("abcde  A", max_size=9), min_size=1, max_size=4)


@given(NAMES, QUERIES, st.integers(1, 12))
def test_scores_equal_rank_bm25_to_the_bit(names: list[str], queries: list[str], limit: int) -> None:
    documents = [terms(name) for name in names]
    ours = search(names)
    for query in queries:
        expected = oracle(BM25Okapi(documents), query, limit) if any(documents) else []
        assert ours.find(query, limit) == expected


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), st.integers(1, 6), st.integers(0, 3))
def test_a_term_in_half_of_the_names(words: list[str], half: int, empty: int) -> None:
    names = [" ".join(words)] * half + ["x y"] * (half - min(empty, half)) + [""] * min(empty, half)
    index = BM25Okapi([terms(name) for name in names])
    for query in ("a", "x", "a x", "y y c"):
        assert search(names).find(query) == oracle(index, query)


@given(NAMES, QUERIES, st.integers(90, 400))
def test_music_equals_its_definition(names: list[str], queries: list[str], size: int) -> None:
    names = [*names, *(f"filler{n}" for n in range(size))]
    ours = search(names, "music")
    for query in queries:
        assert ours.find(query) == music_oracle(names, query)


def made(count: int, words: int, seed: int) -> list[str]:
    """Names whose words are as unevenly spread as real ones: a few stand in many names, most in one or two."""
    draw = random.Random(seed)
    return [" ".join(f"w{int(words ** draw.random())}" for _ in range(draw.randint(1, 5))) for _ in range(count)]


@pytest.mark.parametrize("limit", [1, 10, 500])
def test_short_and_long_lists_of_names_give_the_same(limit: int) -> None:
    names = made(3_000, 2_000, seed=1)
    index, ours = BM25Okapi([terms(name) for name in names]), search(names)
    for query in [*names[:40], *(" ".join(names[n : n + 3]) for n in range(40, 60)), "w1", "w1 w2", "w1 w1 w1 w999"]:
        assert ours.find(query, limit) == oracle(index, query, limit)


@pytest.mark.parametrize(("text", "expected"), EXAMPLES["names"])
def test_normal_forms(text: str, expected: str) -> None:
    assert normalise(text) == expected
    assert terms(text) == expected.split()


@given(st.text(st.one_of(st.sampled_from(string.punctuation + " \t_ΣİẞǅAa"), st.characters())))
def test_a_normal_form_is_its_own(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert terms(text) == once.split()
    assert not set(once) & set(string.punctuation)
