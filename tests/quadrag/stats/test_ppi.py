"""Corrected rates: by hand, against ppi-python 0.2.3's numbers, and how often their intervals hold the truth."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from quadrag.stats import wilson
from quadrag.stats.agreement import ppi_mean

LABELS = [1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1]
VERDICTS = [1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1]
OTHERS = [1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 1]
# What `ppi_mean_ci` of ppi-python 0.2.3 returns for them, and for values that are no rates.
THEIRS = (
    (0.3518454966596573, 0.8281852425816081),
    (0.32273054350754926, 0.7166037983986536),
)


def normal(found):
    half = NormalDist().inv_cdf(0.975) * math.sqrt(found.variance)
    return found.value - half, found.value + half


def test_equals_ppi_python():
    assert normal(ppi_mean(LABELS, VERDICTS, OTHERS)) == pytest.approx(THEIRS[0], abs=1e-9)
    shares = ppi_mean([0.5, 0, 1, 1, 0, 0.5], [0.4, 0.1, 0.8, 0.9, 0.3, 0.5], [0.2, 0.9, 0.7, 0.6, 0.1, 0.4, 0.8])
    assert shares.interval == normal(shares)
    # Theirs is at 90%.
    half = NormalDist().inv_cdf(0.95) * math.sqrt(shares.variance)
    assert (shares.value - half, shares.value + half) == pytest.approx(THEIRS[1], abs=1e-9)


def test_by_hand():
    labels, verdicts, others = np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 0, 0]), np.array([1.0, 1, 0, 0, 0, 0])
    # Covariance 1/8 (ddof 0), pooled variance of 3 of 10 (ddof 1) 2.1 / 9.
    constant = (1 / 8) / ((1 + 4 / 6) * 2.1 / 9)
    found = ppi_mean(labels, verdicts, others)
    assert found.tuning == pytest.approx(constant)
    assert found.value == pytest.approx(0.5 + constant * (2 / 6 - 1 / 4))


def test_a_judge_that_says_one_thing_is_of_no_use():
    found = ppi_mean(LABELS, [1] * 12, [1] * 20)
    assert found.tuning == 0
    assert found.interval == pytest.approx(wilson(7, 12))
    # Labels that are all alike have no variance, and still an interval.
    assert ppi_mean([0] * 12, VERDICTS, OTHERS).interval == pytest.approx(wilson(0, 12))


# Shares of right and of wrong answers that rules decide; the judge's sensitivity and specificity.


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
