"""Reciprocal rank fusion: the spec's vector, ties, and what holds for any rankings."""

import math

from hypothesis import given
from hypothesis import strategies as st

from quadrag.retrieval.hybrid import fuse

A, B, C, D = range(4)


def ranked(*rows):
    """A ranking; fusion has no use for the scores."""
    return [(row, 100.0 - place) for place, row in enumerate(rows)]


def test_the_vector_of_the_spec():
    fused = fuse([ranked(A, B, C), ranked(B, D, A)], 8)
    assert [row for row, _ in fused] == [B, A, D, C]
    assert [round(score, 8) for _, score in fused] == [0.01626124, 0.01613323, 0.00806452, 0.00793651]
    assert fuse([ranked(A, B, C), ranked(B, D, A)], 2) == fused[:2]


def test_ties_go_by_the_first_ranking():
    assert [row for row, _ in fuse([ranked(A, B), ranked(B, A)], 2)] == [A, B]
    assert [row for row, _ in fuse([ranked(B, A), ranked(A, B)], 2)] == [B, A]
    # First in one ranking each, and nowhere else.
    assert [row for row, _ in fuse([ranked(D), ranked(A), ranked(C)], 3)] == [D, A, C]


rankings = st.lists(st.lists(st.integers(0, 12), unique=True, max_size=10).map(lambda rows: ranked(*rows)), max_size=2)


@given(rankings, st.integers(1, 15))
def test_it_is_the_formula(lists, k):
    sums = {}
    for ranking in lists:
        for rank, (row, _) in enumerate(ranking, 1):
            sums.setdefault(row, []).append(0.5 / (60 + rank))
    fused = fuse(lists, k)
    assert len(fused) == min(k, len(sums))
    assert all(math.isclose(score, sum(sums[row]), rel_tol=1e-12) for row, score in fused)
    scores = [score for _, score in fused]
    assert scores == sorted(scores, reverse=True)
    left_out = set(sums) - {row for row, _ in fused}
    assert all(sum(sums[row]) <= scores[-1] for row in left_out)
    if len(lists) == 1:
        assert [row for row, _ in fused] == [row for row, _ in lists[0]][:k]
