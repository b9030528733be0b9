"""Corrected rates: by hand, against ppi-python 0.2.3's numbers, and how often their intervals hold the truth."""

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


def answers(draw, n, by_rule, rates):
    """Answers of which 60% are right: whether they are, whether a rule decides, and what rules and judge say."""
    right = draw.rand(n) < 0.6
    settled = draw.rand(n) < np.where(right, *by_rule)
    says = draw.rand(n) < np.where(right, rates[0], 1 - rates[1])
    return right.astype(float), settled, np.where(settled, right, says).astype(float)


def rates_of(labels, said):
    right = labels == 1
    return Rates(said[right].mean(), int(right.sum()), 1 - said[~right].mean(), int((~right).sum()))


def test_judged_answers_are_corrected_by_rates_of_judged_labels():
    # Of 1,000 answers 600 are right, 240 of these by a rule; the judge finds 60% of the rest and takes 5% of the wrong.
    known, judged = [1.0] * 240, (360 * 0.6 + 400 * 0.05) / 760
    found = rogan_gladen(judged, 760, Rates(0.6, 360, 0.95, 400), known=known)
    assert found.value == pytest.approx(0.6)
    mixed = rogan_gladen(judged, 760, Rates((240 + 360 * 0.6) / 600, 600, 0.95, 400), known=known)
    assert mixed.value == pytest.approx(0.519, abs=5e-4), "rates of what rules decided too"


# Shares of right and of wrong answers that rules decide; the judge's sensitivity and specificity.
@pytest.mark.slow(150, 400, 4000)
@pytest.mark.parametrize("by_rule", [(0.0, 0.0), (0.4, 0.0), (0.4, 0.1), (0.8, 0.3)])
@pytest.mark.parametrize("rates", [(0.6, 0.95), (0.9, 0.9), (0.75, 0.75), (0.95, 0.6)])
def test_intervals_hold_the_truth_whatever_share_rules_decide(by_rule, rates, rounds):
    draw, n = np.random.RandomState(2333), 300
    held = {"certificate": 0, "labels": 0}
    for _ in range(rounds):
        labels, settled, said = answers(draw, n, by_rule, rates)
        truth, ruled, values = answers(draw, 5 * n, by_rule, rates)
        judged = values[~ruled]
        known = rates_of(labels[~settled], said[~settled])
        found = rogan_gladen(judged.mean(), len(judged), known, known=list(values[ruled]))
        held["certificate"] += found.interval.low <= 0.6 <= found.interval.high
        found = ppi_mean(truth[:n], values[:n], values[n:])
        held["labels"] += found.interval.low <= 0.6 <= found.interval.high
    noise = 3 * math.sqrt(0.05 * 0.95 / rounds)
    assert all(0.93 - noise <= count / rounds <= 0.97 + noise for count in held.values()), held


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
