"""Intervals beside SciPy's and statsmodels', and by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from quadrag.stats import wilson

COUNTED = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTED, st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_is_scipys_and_statsmodels(counted: tuple[int, int], level: float) -> None:
    found = wilson(*counted, level)
    theirs = binomtest(*counted).proportion_ci(level, method="wilson")
    assert found == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert found == pytest.approx(proportion_confint(*counted, alpha=1 - level, method="wilson"), abs=1e-9)


def test_wilson_ends_where_a_share_does() -> None:
    assert wilson(0, 7).low == 0.0 and wilson(7, 7).high == 1.0
    for successes, n in ((1, 0), (2, 1), (-1, 3)):
        with pytest.raises(ValueError, match=f"{successes} of {n}; expected a number above 0"):
            wilson(successes, n)
