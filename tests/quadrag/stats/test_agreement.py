"""Agreement by hand, and against scikit-learn and the papers' own definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadrag.stats.agreement import agreement, agreement_intervals, class_figures, count_pairs

CLASSES = ["right", "wrong", "neither"]
PAIRS = st.lists(st.tuples(st.sampled_from(CLASSES), st.sampled_from(CLASSES)), min_size=2, max_size=60)


def test_by_hand():
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
