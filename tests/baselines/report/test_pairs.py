"""Which questions of two runs are paired, and how: over groups, by weight, together where they hang together."""

from __future__ import annotations

import numpy as np
import pytest
from compared_runs import ROUGE, ask, run

from quadrag.baselines.report.compared.comparison import compare_runs
from quadrag.baselines.report.compared.merged import merge_runs
from quadrag.baselines.report.compared.paired.pairs import list_differences, pair_results


def test_a_mean_over_groups_and_a_weighted_one_are_paired_as_such() -> None:
    rng = np.random.RandomState(2)
    asked = ask(60, ["finance", "music", "music"], {"finance": 3.0, "music": 1.0})
    first = rng.random_sample(60)
    second = first + np.where(np.arange(60) % 3 == 0, 0.3, -0.1) + rng.normal(0, 0.01, 60)
    gaps = [(second - first)[np.arange(60) % 3 == 0].mean(), (second - first)[np.arange(60) % 3 != 0].mean()]
    runs = run(first, asked=asked), run(second, asked=asked)
    macro = pair_results(*runs, ROUGE, grouping="domain")
    assert macro is not None and macro.difference == pytest.approx(sum(gaps) / 2)
    lines = {line.label: line.cells[2].text for line in compare_runs([("a", runs[0]), ("b", runs[1])]).lines}
    assert lines["qa_1doc: test/rouge_l, macro over domain"] == f"{50 * sum(gaps):+.1f}"
    assert [line.label for line in compare_runs([("a", runs[0]), ("b", runs[1])], every=False).lines] == [
        "qa_1doc: test/rouge_l"
    ]
    accuracy = {"metric": "truthfulness", "key": "accuracy", "asked": asked}
    place = ("qa_1doc", "test", "truthfulness", "accuracy_weighted")
    weighted = pair_results(run(first, **accuracy), run(second, **accuracy), place)
    assert weighted is not None and weighted.difference == pytest.approx((3 * gaps[0] + gaps[1]) / 4)
    accuracy["asked"] = ask(60, ["finance"])
    assert pair_results(run(first, **accuracy), run(second, **accuracy), place) is None, "without strata none"


def test_questions_that_hang_together_are_swapped_together() -> None:
    asked = ask(30, ["x"])
    tied = {key: one._replace(unit=str(int(key[2]) // 10)) for key, one in asked.items()}
    first, second = [0.0] * 30, [1.0] * 30
    apart, together = (pair_results(run(first, asked=one), run(second, asked=one), ROUGE) for one in (asked, tied))
    assert apart is not None and apart.p < 1e-6
    assert together is not None and together.p == 0.25
    merged = [merge_runs([run(values, asked=tied)]) for values in (first, second)]
    assert pair_results(*merged, ROUGE) == together, "what is kept of questions outlives the merging"


def test_other_gold_is_no_pair() -> None:
    asked = ask(10, ["x"])
    other = {key: one._replace(sha256="other") if key[2] != "3" else one for key, one in asked.items()}
    pair = pair_results(run([0.5] * 10, asked=asked), run([0.7] * 10, asked=other), ROUGE)
    assert pair is not None and pair.n == 1


def test_questions_that_got_better_are_counted_by_the_metrics_direction():
    first, second = (
        run(values, metric="truthfulness", key="missing") for values in ([0.0, 1.0, 1.0, None], [1.0, 0.0, 0.0, 0.0])
    )
    place = ("qa_1doc", "test", "truthfulness", "missing")
    gained = list_differences(first, second, place)
    assert {key[2]: gain for key, gain in gained.items()} == {"0": -1, "1": 1, "2": 1}
    assert list_differences(first, second, place, "corrected")["qa_1doc", "test", "3"] == 0
