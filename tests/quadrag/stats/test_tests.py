"""Tests of two over the same items: SciPy's and statsmodels' numbers, and worked by hand."""

import subprocess
import sys
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_of_statsmodels
from statsmodels.stats.multitest import multipletests

from quadrag.stats import holm, mcnemar

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
