"""Corrected rates: by hand, against ppi-python 0.2.3's numbers, and how often their intervals hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from quadrag.stats import wilson
from quadrag.stats.ppi import Rates, ppi_mean, ppi_stratified, rogan_gladen, tuning_constant

LABELS = [1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1]
VERDICTS = [1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1]
OTHERS = [1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 1]
# What `ppi_mean_ci` of ppi-python 0.2.3 returns for them, and for values that are no rates.
THEIRS = (
    (0.3518454966596573, 0.8281852425816081),
    (0.2846413144050217, 0.9153586855949782),
    (0.32273054350754926, 0.7166037983986536),
)


def normal(found, level=0.95):
    from statistics import NormalDist

    half = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(found.variance)
    return found.value - half, found.value + half


def test_equals_ppi_python():
    assert normal(ppi_mean(LABELS, VERDICTS, OTHERS)) == pytest.approx(THEIRS[0], abs=1e-9)
    assert normal(ppi_mean(LABELS, VERDICTS, OTHERS, tuning=1.0)) == pytest.approx(THEIRS[1], abs=1e-9)
    shares = ppi_mean(
        [0.5, 0, 1, 1, 0, 0.5], [0.4, 0.1, 0.8, 0.9, 0.3, 0.5], [0.2, 0.9, 0.7, 0.6, 0.1, 0.4, 0.8], level=0.9
    )
    assert shares.interval == pytest.approx(THEIRS[2], abs=1e-9)


def test_equals_the_package_where_it_is_installed():
    theirs = pytest.importorskip("ppi_py")
    columns = [np.array(column, dtype=float) for column in (LABELS, VERDICTS, OTHERS)]
    low, high = theirs.ppi_mean_ci(*columns, alpha=0.05)
    assert normal(ppi_mean(LABELS, VERDICTS, OTHERS)) == pytest.approx((low[0], high[0]), abs=1e-9)


def test_by_hand():
    labels, verdicts, others = np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 0, 0]), np.array([1.0, 1, 0, 0, 0, 0])
    # Covariance 1/8 (ddof 0), pooled variance of 3 of 10 (ddof 1) 2.1 / 9.
    constant = (1 / 8) / ((1 + 4 / 6) * 2.1 / 9)
    assert tuning_constant(labels, verdicts, others) == pytest.approx(constant)
    found = ppi_mean(labels, verdicts, others)
    assert found.value == pytest.approx(0.5 + constant * (2 / 6 - 1 / 4))
    assert ppi_mean(labels, verdicts, others, tuning=0.0).value == 0.5


def test_a_judge_that_says_one_thing_is_of_no_use():
    found = ppi_mean(LABELS, [1] * 12, [1] * 20)
    assert found.tuning == 0
    assert found.interval == pytest.approx(wilson(7, 12))
    # Labels that are all alike have no variance, and still an interval.
    assert ppi_mean([0] * 12, VERDICTS, OTHERS).interval == pytest.approx(wilson(0, 12))


def test_strata_weigh_as_much_as_they_hold():
    # Half of 10 items are labelled in one stratum, 2 of 90 in the other: their means count 10 to 90.
    labels, strata = [1, 1, 1, 0, 0, 1, 0], ["few"] * 5 + ["many"] * 2
    found = ppi_stratified(labels, [1] * 5 + [0] * 2, [1] * 5 + [0] * 88, strata, ["few"] * 5 + ["many"] * 88)
    assert found.value == pytest.approx(0.1 * 0.6 + 0.9 * 0.5)
    alike = ppi_stratified([1, 1, 0, 0], [1, 1, 0, 0], [1] * 48 + [0] * 48, list("aabb"), ["a"] * 48 + ["b"] * 48)
    assert alike.interval.high - alike.interval.low > 0.3, "two labels of a kind are no certainty"
    with pytest.raises(ValueError, match="'b' has no label"):
        ppi_stratified([1], [1], [0], ["a"], ["b"])


def test_rogan_gladen_by_hand():
    # A judge that finds 90 of 100 and refuses 80 of 100, and says right to 55 of 100.
    found = rogan_gladen(0.55, 100, Rates(0.9, 100, 0.8, 100))
    assert found.value == pytest.approx((0.55 + 0.8 - 1) / 0.7)
    variance = 0.55 * 0.45 / 100 + 0.5**2 * 0.9 * 0.1 / 100 + 0.5**2 * 0.8 * 0.2 / 100
    assert found.variance == pytest.approx(variance / 0.49)
    assert rogan_gladen(0.5, 100, Rates(0.4, 50, 0.6, 50)) is None, "a judge as good as a coin"


def test_rogan_gladen_of_what_the_judge_decided_alone():
    rates = Rates(0.9, 100, 0.8, 100)
    judged, found = (rogan_gladen(0.55, 100, rates, known=known) for known in ((), [1.0] * 20 + [0.0] * 80))
    assert found.value == pytest.approx((judged.value + 0.2) / 2)
    # Known of all items but one, next to nothing is open but which items these are.
    nearly = rogan_gladen(1.0, 1, rates, known=[1.0] * 400 + [0.0] * 599)
    assert nearly.variance == pytest.approx(0.4 * 0.6 / 1000, rel=0.02)
    same = rogan_gladen(0.5, 50, Rates(1.0, 10**9, 1.0, 10**9), known=[1.0] * 25 + [0.0] * 25)
    assert same.variance == pytest.approx(0.25 / 100), "a judge that never errs is a label"


def test_rogan_gladen_claims_nothing_that_it_cannot_know():
    rates = Rates(52 / 58, 58, 14 / 42, 42)
    assert rogan_gladen(2 / 50, 50, rates) is None, "fewer right than the wrong that it takes for right"
    alike = rogan_gladen(1.0, 6, Rates(1.0, 50, 1.0, 50))
    assert alike.interval.low < 0.9, "six verdicts of a kind are no certainty"


@pytest.mark.slow(300, 600, 4000)
@pytest.mark.parametrize(("n", "rate"), [(50, 0.02), (50, 0.5), (300, 0.2)])
def test_intervals_hold_the_truth_as_often_as_they_say(n, rate, rounds):
    draw = np.random.RandomState(n)
    held = normal_held = 0
    for _ in range(rounds):
        truth = draw.rand(n * 11) < rate
        said = np.where(draw.rand(n * 11) < 0.86, truth, ~truth).astype(float)
        found = ppi_mean(truth[:n].astype(float), said[:n], said[n:])
        held += found.interval.low <= rate <= found.interval.high
        low, high = normal(found)
        normal_held += low <= rate <= high
    noise = 3 * math.sqrt(0.05 * 0.95 / rounds)
    assert 0.93 - noise <= held / rounds <= 0.97 + noise
    assert held > normal_held or rate > 0.02, "Wilson's is for the ends"
