"""Intervals beside SciPy's and statsmodels', and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint

from quadrag.stats import Item, summarise, wilson
from quadrag.stats.means import SHARE, Group, influences, known_interval

COUNTED = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTED)
def test_wilson_is_scipys_and_statsmodels(counted: tuple[int, int]) -> None:
    found = wilson(*counted)
    theirs = binomtest(*counted).proportion_ci(0.95, method="wilson")
    assert found == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert found == pytest.approx(proportion_confint(*counted, alpha=0.05, method="wilson"), abs=1e-9)


def test_wilson_ends_where_a_share_does() -> None:
    assert wilson(0, 7).low == 0.0 and wilson(7, 7).high == 1.0


def test_the_design_effect_is_the_clusters_variance_by_that_of_single_items() -> None:
    """As in surveys: G / (G - 1) times the sum of squares of each cluster's surplus, by the number of items."""
    sums = np.array([[3.0, 0.0, 1.0, 5.0, 2.0], [5.0, 4.0, 5.0, 5.0, 2.0]])
    share = 11 / 21
    surplus = sums[0] - share * sums[1]
    error = (5 / 4 * (surplus**2).sum()) ** 0.5 / 21
    half = student.ppf(0.975, 4) * error / (share * (1 - share))
    interval, method = known_interval([Group(1.0, sums, True)], share, SHARE)
    middle = np.log(share / (1 - share))
    assert method == "logit"
    assert [np.log(side / (1 - side)) for side in interval] == pytest.approx([middle - half, middle + half])


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1), st.integers(1, 3))
def test_values_at_the_ends_of_a_range_are_shares_in_its_unit(values: list[float], to_a_unit: int) -> None:
    """Truthfulness is 2 accuracy - 1 where no answer is missing, and so is its interval, in clusters too."""
    share = [Item(at, value, unit=at // to_a_unit) for at, value in enumerate(values)]
    ours, wider = summarise(share), summarise([i._replace(value=2 * i.value - 1) for i in share], ends=(-1, 1))
    assert wider.method == ours.method and wider.method in ("wilson", "logit")
    assert wider.interval == pytest.approx([2 * bound - 1 for bound in ours.interval], abs=1e-11)


def test_values_between_the_ends_that_are_all_alike_have_an_interval_to_both_sides() -> None:
    def of(*values: float) -> tuple[str, list[float]]:
        found = summarise([Item(at, value) for at, value in enumerate(values)], ends=(-1, 1))
        return found.method, [round(bound, 3) for bound in found.interval]

    assert of(*[0] * 15) == ("wilson", [-0.204, 0.204]), "all missing: an end of shares, but not of truthfulness"
    assert of(*[1] * 13, *[-1] * 2) == ("wilson", [0.242, 0.925])
    # Of two right, none wrong among 15: shares of 3/17 and 1/17, so 2/17 +- 1.96 sqrt((4/17 - (2/17)^2) / 17).
    assert of(*[1] * 2, *[0] * 13) == ("bonett-price", [-0.106, 0.341]), "a third value is possible"
    assert of(*[1] * 2, *[0] * 13) == of(*[0] * 13, *[1] * 2), "whatever the order"
    assert of(1, 0, 0.25)[0] == "bca"
    assert summarise([Item(at, 0) for at in range(9)], ends=(0, None)).interval == (0, 0), "a length has no upper end"


@given(
    st.lists(st.tuples(st.floats(0.1, 3), st.lists(st.floats(0, 1), min_size=1, max_size=6)), min_size=1, max_size=4)
)
def test_an_influence_is_what_one_more_of_a_unit_changes(given_groups: list[tuple[float, list[float]]]) -> None:
    groups = [Group(w, np.array([values, np.ones(len(values))]), False) for w, values in given_groups]
    total = sum(group.weight for group in groups)

    def mean(at: int, unit: int, more: float) -> float:
        parts = []
        for here, group in enumerate(groups):
            drawn = np.ones(group.sums.shape[1])
            drawn[unit if here == at else 0] += more if here == at else 0
            parts.append(group.weight / total * (group.sums[0] @ drawn) / (group.sums[1] @ drawn))
        return float(sum(parts))

    for at, found in enumerate(influences(groups)):
        for unit, value in enumerate(found):
            slope = (mean(at, unit, 1e-6) - mean(at, unit, -1e-6)) / 2e-6
            assert value == pytest.approx(slope, abs=1e-6)
