"""People against a judge: agreement and corrected rates, by hand and as scikit-learn's and ppi-python 0.2.3's."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadrag.stats import wilson
from quadrag.stats.agreement import agreement, agreement_intervals, class_figures, count_pairs, ppi_mean

CLASSES = ["right", "wrong", "neither"]
PAIRS = st.lists(st.tuples(st.sampled_from(CLASSES), st.sampled_from(CLASSES)), min_size=2, max_size=60)


def test_agreement_by_hand():
    # 20 + 15 agree of 50; by chance .5 * .6 + .5 * .4 (Cohen's own kind of example).
    found = agreement(np.array([[20, 5], [10, 15]]))
    assert found.n == 50
    assert found.accuracy == pytest.approx(0.7)
    assert found.kappa == pytest.approx((0.7 - 0.5) / 0.5)
    # Gwet: mean shares .55 and .45, by chance 2 * .55 * .45.
    assert found.ac1 == pytest.approx((0.7 - 0.495) / (1 - 0.495))
    first, second = class_figures(np.array([[20, 5], [10, 15]]))
    assert (first["labels"], first["verdicts"]) == (25, 30)
    assert (first["precision"], first["recall"]) == pytest.approx((20 / 30, 20 / 25))
    assert second["f1"] == pytest.approx(2 * 15 / (25 + 20))
    assert first["accuracy"] == second["accuracy"] == pytest.approx(0.7)


def test_one_class_alone_has_no_kappa():
    assert agreement(np.array([[5, 0], [0, 0]])).kappa is None
    assert class_figures(np.array([[5, 0], [0, 0]]))[1] == {
        **dict.fromkeys(("labels", "verdicts"), 0),
        **{"accuracy": 1.0, **dict.fromkeys(("precision", "recall", "f1"))},
    }


@given(PAIRS)
def test_equals_scikit_learn(pairs):
    metrics = pytest.importorskip("sklearn.metrics")
    labels, verdicts = (list(column) for column in zip(*pairs, strict=True))
    table = count_pairs(labels, verdicts, CLASSES)
    assert table.tolist() == metrics.confusion_matrix(labels, verdicts, labels=CLASSES).tolist()
    found = agreement(table)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(labels, verdicts), abs=1e-9)
    if found.kappa is not None:
        assert found.kappa == pytest.approx(metrics.cohen_kappa_score(labels, verdicts), abs=1e-9)
    columns = metrics.precision_recall_fscore_support(labels, verdicts, labels=CLASSES, zero_division=0.0)
    for one, precision, recall, f1, support in zip(class_figures(table), *columns, strict=True):
        assert one["labels"] == support
        ours = [one[name] or 0.0 for name in ("precision", "recall", "f1")]
        assert ours == pytest.approx([precision, recall, f1], abs=1e-9)


def test_groups_are_drawn_whole():
    labels = ["right", "wrong"] * 40
    verdicts = labels[:40] + ["right"] * 40
    alone = agreement_intervals(labels, verdicts, range(80), CLASSES[:2])[0]
    # Ten answers of a question are one draw: far fewer independent ones.
    together = agreement_intervals(labels, verdicts, [n // 10 for n in range(80)], CLASSES[:2])[0]
    assert together.high - together.low > 1.2 * (alone.high - alone.low)
    assert together == agreement_intervals(labels, verdicts, [f"q{n // 10}" for n in range(80)], CLASSES[:2])[0]


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


def test_a_corrected_mean_by_hand():
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
