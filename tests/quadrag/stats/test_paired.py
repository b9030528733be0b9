"""Two runs on the same items: swaps as SciPy's, tests and power as statsmodels', differences as by hand."""

import subprocess
import sys
from collections.abc import Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, permutation_test, ttest_1samp
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_of_statsmodels
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import normal_power

from quadrag.stats import (
    NOT_APPLICABLE,
    Item,
    Pair,
    detectable,
    holm,
    mcnemar,
    paired_difference,
    share_difference,
    sign_flips,
)

VALUE = st.floats(-1, 1).map(lambda value: round(value, 3))
PAIRS = st.lists(st.tuples(VALUE, VALUE), min_size=2, max_size=12)


def ones(*values: float | None) -> list[Item]:
    """Items of one value a question; None is a failed call."""
    return [Item(i, value, "api_error" if value is None else None) for i, value in enumerate(values)]


def pair(first: Sequence[Item], second: Sequence[Item], **more: Any) -> Pair:
    found = paired_difference([first], [second], **more)
    assert found is not None
    return found


def sums(values: Sequence[float]) -> np.ndarray:
    return np.array([values, [1.0] * len(values)])


@settings(max_examples=40)
@given(PAIRS)
def test_all_swaps_of_few_items_are_scipys(pairs: list[tuple[float, float]]) -> None:
    first, second = zip(*pairs, strict=True)
    theirs = permutation_test(
        (first, second),
        lambda one, other, axis: np.mean(one, axis=axis) - np.mean(other, axis=axis),
        permutation_type="samples",
        n_resamples=10_000,
        vectorized=True,
    ).pvalue
    assert sign_flips([sums(first)], [sums(second)], [1.0]) == pytest.approx(theirs, abs=1e-9)


def test_random_swaps_are_near_all_swaps() -> None:
    """Of fifteen items that all gain, 2 of 32,768 swaps reach as far; of thirteen all swaps are tried."""
    gains = np.linspace(0.1, 1, 15)
    drawn = sign_flips([sums(0 * gains)], [sums(gains)], [1.0])
    assert drawn == pytest.approx(2 / 2**15, abs=3e-4) and drawn >= 1 / 10_001
    assert sign_flips([sums(0 * gains[:13])], [sums(gains[:13])], [1.0]) == 2 / 2**13
    rng = np.random.RandomState(4)
    noise = rng.normal(0.1, 1, 400)
    found = sign_flips([sums(0 * noise)], [sums(noise)], [1.0])
    assert found == pytest.approx(ttest_1samp(noise, 0).pvalue, abs=0.01)


def test_swaps_of_unequal_numbers_and_groups_by_hand() -> None:
    """Two units of 1 and 2 items, and another group of one; eight swaps, worked out one by one."""
    first = [np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([[0.0], [1.0]])]
    second = [np.array([[0.0, 3.0], [2.0, 1.0]]), np.array([[1.0], [1.0]])]
    found = []
    for a in (False, True):
        for b in (False, True):
            for c in (False, True):
                one = np.array([(second if swap else first)[0][:, at] for at, swap in enumerate((a, b))]).sum(axis=0)
                other = np.array([(first if swap else second)[0][:, at] for at, swap in enumerate((a, b))]).sum(axis=0)
                found.append(0.75 * (other[0] / other[1] - one[0] / one[1]) + 0.25 * (-1 if c else 1))
    expected = np.mean(np.abs(found) >= abs(found[0]) - 1e-12)
    assert 0 < expected < 1
    assert sign_flips(first, second, [3, 1]) == pytest.approx(expected)


def test_shares_of_single_items_are_mcnemars() -> None:
    first, second = ones(*[1.0] * 10, *[0.0] * 10), ones(*[1.0] * 8, *[0.0] * 6, *[1.0] * 6)
    found = pair(first, second)
    assert (found.difference, found.n, found.test) == (pytest.approx(0.2), 20, "mcnemar")
    assert found.p == mcnemar(2, 6) and found.interval == share_difference(2, 6, 20)
    # By hand: 3 and 7 of 22, so 4 / 22 and 1.96 standard errors of it.
    error = ((3 / 22 + 7 / 22 - (4 / 22) ** 2) / 22) ** 0.5
    assert found.interval == pytest.approx((4 / 22 - 1.959964 * error, 4 / 22 + 1.959964 * error), abs=1e-6)
    assert found.spread == pytest.approx(np.std([0] * 12 + [1] * 6 + [-1] * 2, ddof=1))
    same = pair(first, first)
    assert (same.difference, same.p, same.spread) == (0, 1, 0) and same.interval.low < 0 < same.interval.high


def test_profiles_and_refusals() -> None:
    first, second = ones(1, 1, 0, 0), ones(1, None, 1, 1)
    official, corrected = pair(first, second), pair(first, second, profile="corrected")
    assert official.difference == pytest.approx(1 - 1 / 3), "the second question is scored in one run alone"
    assert corrected.difference == pytest.approx(0.75 - 0.5)
    assert (official.n, corrected.n) == (3, 4)
    assert pair(first, list(reversed(second))) == official, "whatever the order"
    for other in (second[:3], ones(1, 1, 1, 1, 1), [], ones(None, None, None, None)):
        assert paired_difference([first], [other]) is None
    off = [Item(i, None, NOT_APPLICABLE) for i in range(4)]
    assert paired_difference([first], [off], profile="corrected") is None


def test_items_of_one_unit_are_swapped_and_drawn_together() -> None:
    """Of three conversations that all gain a quarter of swaps reach as far, however many rounds they have."""
    first = [Item(i, 0.0, unit=i // 10) for i in range(30)]
    second = [Item(i, 1.0) for i in range(30)]
    found = pair(first, second)
    assert (found.difference, found.n, found.p, found.test) == (1, 30, 0.25, "flips")
    mixed = [Item(i, [0.0, 1.0, 0.5][i // 10]) for i in range(30)]
    alone = [Item(i, item.value) for i, item in enumerate(mixed)]
    clustered, single = pair(first, mixed), pair(ones(*[0.0] * 30), alone)
    assert clustered.interval.high - clustered.interval.low > 2 * (single.interval.high - single.interval.low)
    assert clustered.spread > 2 * single.spread


def test_means_over_groups_are_paired_group_by_group() -> None:
    rng = np.random.RandomState(1)
    groups = [rng.random_sample((2, n)) for n in (40, 10)]
    first, second = ([ones(*group[side]) for group in groups] for side in range(2))
    gaps = [float((group[1] - group[0]).mean()) for group in groups]
    found = paired_difference(first, second)
    assert found is not None and found.n == 50 and found.difference == pytest.approx(sum(gaps) / 2)
    weighted = paired_difference(first, second, weights=[3, 1])
    assert weighted is not None and weighted.difference == pytest.approx((3 * gaps[0] + gaps[1]) / 4)
    errors = [np.var(group[1] - group[0], ddof=1) / group.shape[1] for group in groups]
    assert weighted.spread == pytest.approx(((9 * errors[0] + errors[1]) / 16 * 50) ** 0.5)
    empty = [ones(*[None] * 3)]
    assert paired_difference([*first, *empty], [*second, *empty]) == found, "a group that neither could score"
    assert paired_difference(first, [second[0], second[1][:5]]) is None


@settings(max_examples=40)
@given(PAIRS)
def test_two_runs_swapped_differ_in_sign_alone(pairs: list[tuple[float, float]]) -> None:
    first, second = (ones(*side) for side in zip(*pairs, strict=True))
    one, other = pair(first, second), pair(second, first)
    assert (one.difference, one.interval) == (-other.difference, (-other.interval.high, -other.interval.low))
    assert (one.p, one.n) == (other.p, other.n)


@given(PAIRS)
def test_power_is_statsmodels(pairs: list[tuple[float, float]]) -> None:
    found = pair(*(ones(*side) for side in zip(*pairs, strict=True)))
    if found.spread:
        assert normal_power(detectable(found.spread, found.n) / found.spread, found.n, 0.05) == pytest.approx(
            0.8, abs=1e-5
        )


COUNTS = st.integers(0, 3000)


@given(COUNTS, COUNTS)
def test_mcnemar_is_the_mid_p_of_statsmodels_exact_test(first: int, second: int) -> None:
    found = mcnemar(first, second)
    exact = mcnemar_of_statsmodels([[0, first], [second, 0]], exact=True).pvalue
    if first + second:
        point = float(binom.pmf(first, first + second, 0.5))
        # Half of the observed outcome counts, on both sides; at the middle its two sides are one.
        assert found == pytest.approx(1.0 if first == second else exact - point, abs=1e-9)


def test_mcnemar_by_hand() -> None:
    """Of 5 that differ all go one way: 2 / 32 exactly, and half of that by mid-p."""
    assert mcnemar(5, 0) == mcnemar(0, 5) == 1 / 32
    assert mcnemar(0, 0) == mcnemar(7, 7) == 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_statsmodels(values: list[float]) -> None:
    with mock.patch("gc.collect"):  # which statsmodels calls each time: a second in a large process
        expected = multipletests(values, method="holm")[1]
    assert holm(values) == pytest.approx(list(expected), abs=1e-9)


def test_holm_by_hand() -> None:
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06]) and holm([]) == []


def test_scipy_waits_until_it_is_needed() -> None:
    code = "import sys, quadrag, quadrag.stats; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
