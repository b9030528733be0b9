"""Means, bootstrap intervals and paired differences: worked by hand, enumerated, resampled one by one, simulated."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quadrag.stats import (
    NOT_APPLICABLE,
    SEED,
    Interval,
    Item,
    Summary,
    macro,
    paired_difference,
    resampling,
    summarise,
    summarise_all,
)

REASONS = ("api_error", "unparsable", "truncated", NOT_APPLICABLE)
VALUES = st.floats(-1, 1).map(lambda value: round(value, 3))
VALUE_OR_REASON = st.tuples(VALUES, st.none()) | st.tuples(st.none(), st.sampled_from(REASONS))
ITEMS = st.lists(
    st.builds(lambda question, pair: Item(question, *pair), st.integers(0, 9), VALUE_OR_REASON), max_size=25
)
PROFILES = st.sampled_from(["official", "corrected"])
FEW: dict[str, Any] = {"resamples": 200}


def ones(*values: float | None) -> list[Item]:
    """Items of one value a question; None is a failed call."""
    return [Item(i, value, "api_error" if value is None else None) for i, value in enumerate(values)]


def test_worked_example() -> None:
    """Three right, one wrong, one failed call, one unreadable, one that the metric does not apply to."""
    items = ones(1, 1, 1, 0, None)
    items += [Item(5, None, "unparsable"), Item(6, None, NOT_APPLICABLE)]
    official, corrected = summarise(items), summarise(items, profile="corrected")
    counts = {"n_total": 7, "n_scored": 4, "n_not_applicable": 1, "unscored": {"api_error": 1, "unparsable": 1}}
    assert {name: getattr(official, name) for name in counts} == counts
    assert {name: getattr(corrected, name) for name in counts} == counts
    assert official.value == official.over_scored == corrected.over_scored == 3 / 4
    assert corrected.value == 3 / 6
    # Truthfulness has -1 as its worst value: (3 + 0 - 1 - 1) / 6.
    assert summarise(items, profile="corrected", worst=-1.0).value == pytest.approx(1 / 6)


def test_no_items_no_values() -> None:
    empty = Summary(None, None, None, 0, 0, 0, {})
    assert summarise([]) == summarise([], profile="corrected") == empty
    failed = ones(None, None)
    assert summarise(failed) == Summary(None, None, None, 2, 0, 0, {"api_error": 2})
    assert summarise(failed, profile="corrected") == Summary(0.0, None, Interval(0, 0), 2, 0, 0, {"api_error": 2})
    off = [Item(0, None, NOT_APPLICABLE)]
    assert summarise(off, profile="corrected") == summarise(off) == Summary(None, None, None, 1, 0, 1, {})
    assert summarise([Item(0, None)]).unscored == {"api_error": 1}, "without a reason it is a failed call"


def test_an_unknown_profile_is_refused() -> None:
    for call in (lambda: summarise([], profile="both"), lambda: paired_difference([], [], profile="both")):
        with pytest.raises(ValueError, match="profile is 'both'; expected 'official' or 'corrected'"):
            call()


def brute_force(items: Sequence[Item], profile: str, worst: float, resamples: int) -> tuple[float, float] | None:
    """The interval by resampling whole questions one by one, in plain Python."""
    questions = list(dict.fromkeys(item.question for item in items))
    rng = np.random.RandomState(SEED)
    means = []
    for _ in range(resamples):
        values: list[float] = []
        for drawn in rng.randint(0, len(questions), len(questions)):
            for item in items:
                if item.question != questions[drawn]:
                    continue
                if item.value is not None:
                    values.append(item.value)
                elif profile == "corrected" and item.reason != NOT_APPLICABLE:
                    values.append(worst)
        if values:
            means.append(sum(values) / len(values))
    return tuple(np.quantile(means, [0.025, 0.975])) if means else None


@settings(max_examples=40)
@given(ITEMS.filter(bool), PROFILES, st.sampled_from([0.0, -1.0]))
def test_interval_equals_brute_force(items: list[Item], profile: str, worst: float) -> None:
    found = summarise(items, profile=profile, worst=worst, resamples=60).interval
    expected = brute_force(items, profile, worst, 60)
    if found is None:
        assert expected is None
    else:
        assert found == pytest.approx(expected)


def test_interval_approaches_the_exact_bootstrap_distribution() -> None:
    values = [0.0, 0.2, 0.7, 1.0, 0.4]
    exact = sorted(sum(drawn) / 5 for drawn in itertools.product(values, repeat=5))
    interval = summarise(ones(*values), resamples=20000).interval
    assert interval == pytest.approx(np.quantile(exact, [0.025, 0.975]), abs=0.015)


@given(ITEMS, PROFILES)
def test_counts_and_order_hold(items: list[Item], profile: str) -> None:
    found = summarise(items, profile=profile, **FEW)
    assert found.n_total == found.n_scored + found.n_not_applicable + sum(found.unscored.values()) == len(items)
    assert NOT_APPLICABLE not in found.unscored
    assert list(found.unscored) == sorted(found.unscored)
    assert (found.value is None) == (found.interval is None)
    if found.value is not None and found.interval is not None:
        low, high = found.interval
        assert low <= high
        worst = [0.0] if profile == "corrected" and found.unscored else []
        bounds = [item.value for item in items if item.value is not None] + worst
        assert min(bounds) - 1e-9 <= low
        assert high <= max(bounds) + 1e-9
        assert min(bounds) - 1e-9 <= found.value <= max(bounds) + 1e-9
    if profile == "official":
        assert found.value == pytest.approx(found.over_scored)
    elif found.value is not None:
        counting = found.n_total - found.n_not_applicable
        assert found.value == pytest.approx((found.over_scored or 0) * found.n_scored / counting)


@given(ITEMS, PROFILES, st.randoms(use_true_random=False))
def test_order_of_items_does_not_change_the_value(items: list[Item], profile: str, rng: random.Random) -> None:
    shuffled = rng.sample(items, len(items))
    first, second = summarise(items, profile=profile, **FEW), summarise(shuffled, profile=profile, **FEW)
    assert first.value == pytest.approx(second.value)
    assert first.over_scored == pytest.approx(second.over_scored)
    assert (first.n_scored, first.unscored) == (second.n_scored, second.unscored)


@given(ITEMS, PROFILES)
def test_same_items_same_bytes(items: list[Item], profile: str) -> None:
    assert summarise(items, profile=profile, **FEW) == summarise(list(items), profile=profile, **FEW)


@given(st.integers(1, 40), VALUES)
def test_equal_values_have_no_width(n: int, value: float) -> None:
    found = summarise(ones(*[value] * n), **FEW)
    assert found.value == pytest.approx(value)
    assert found.interval == pytest.approx((value, value))


def test_the_interval_holds_the_value_and_narrows_with_more_questions() -> None:
    widths = []
    for n in (20, 80, 320):
        found = summarise(ones(*[i % 4 == 0 for i in range(n)]))
        assert found.interval is not None
        assert found.interval.low < 0.25 < found.interval.high
        widths.append(found.interval.high - found.interval.low)
    # Four times the questions, half the width: 2 * 1.96 * sqrt(0.25 * 0.75 / n).
    assert widths == pytest.approx([0.3796, 0.1898, 0.0949], rel=0.15)


def test_samples_of_one_question_come_along_together() -> None:
    """Ten samples a question tell no more about the questions than one does, where they all agree."""
    once = ones(*[i % 3 == 0 for i in range(30)])
    often = [item for item in once for _ in range(10)]
    single, clustered = summarise(once), summarise(often)
    assert clustered.interval == pytest.approx(single.interval)
    assert clustered.value == pytest.approx(single.value)
    assert (clustered.n_total, clustered.n_scored) == (300, 300)
    apart = summarise([Item(i, item.value) for i, item in enumerate(often)])
    assert apart.interval is not None
    assert single.interval is not None
    narrower = (apart.interval.high - apart.interval.low) / (single.interval.high - single.interval.low)
    assert narrower == pytest.approx(10**-0.5, rel=0.25)


def test_a_rate_over_part_of_the_items_is_a_ratio_in_every_resample() -> None:
    """Error correction: over the questions where the error was seen; how many those are varies with the draw."""
    seen = [Item(i, float(i % 2)) for i in range(4)]
    unseen = [Item(i, None, NOT_APPLICABLE) for i in range(4, 40)]
    found = summarise(seen + unseen)
    assert (found.value, found.n_total, found.n_scored, found.n_not_applicable) == (0.5, 40, 4, 36)
    assert found.interval == Interval(0.0, 1.0), "few of 40 count in a draw, and often all alike"
    assert summarise(seen + unseen, profile="corrected") == found, "not applicable is not a failure"


def test_coverage() -> None:
    """About 95 of 100 intervals hold the true rate: Bernoulli with p = 0.3, 100 questions, 300 repetitions."""
    rng = np.random.RandomState(7)
    held = 0
    for _ in range(300):
        interval = summarise(ones(*(rng.random_sample(100) < 0.3).astype(float)), resamples=400).interval
        assert interval is not None
        held += interval.low <= 0.3 <= interval.high
    assert 0.90 <= held / 300 <= 0.98


def paired_brute_force(first: Sequence[Item], second: Sequence[Item], resamples: int) -> Any:
    questions = list(dict.fromkeys(item.question for item in first))
    rng = np.random.RandomState(SEED)
    differences = []
    for _ in range(resamples):
        drawn = [questions[i] for i in rng.randint(0, len(questions), len(questions))]
        means = []
        for items in (first, second):
            values = [item.value for q in drawn for item in items if item.question == q and item.value is not None]
            means.append(sum(values) / len(values) if values else None)
        if None not in means:
            differences.append(means[1] - means[0])
    return np.quantile(differences, [0.025, 0.975]) if differences else None


@settings(max_examples=40)
@given(st.lists(st.tuples(VALUE_OR_REASON, VALUE_OR_REASON), min_size=1, max_size=10), st.randoms())
def test_paired_difference_equals_brute_force(pairs: list[Any], rng: random.Random) -> None:
    first = [Item(i, *pair[0]) for i, pair in enumerate(pairs)]
    second = [Item(i, *pair[1]) for i, pair in enumerate(pairs)]
    # Only what both could score is compared; what one could not is as good as unscored in both.
    both = [pair[0][0] is not None and pair[1][0] is not None for pair in pairs]
    paired = [
        [one if there else Item(one.question, None, "api_error") for one, there in zip(side, both, strict=True)]
        for side in (first, second)
    ]
    found = paired_difference(first, rng.sample(second, len(second)), resamples=60)
    expected = paired_brute_force(*paired, 60)
    means = [summarise(items, **FEW).value for items in paired]
    if None in means or expected is None:
        assert found is None
        return
    assert found is not None
    difference, interval, n = found
    assert n == sum(both)
    assert difference == pytest.approx(means[1] - means[0], abs=1e-12)
    assert interval == pytest.approx(expected, abs=1e-12)


def test_pairing_sees_what_two_intervals_hide() -> None:
    rng = np.random.RandomState(3)
    hard = rng.random_sample(200)
    first = ones(*(hard < 0.5).astype(float))
    second = ones(*(hard < 0.55).astype(float))
    apart = [summarise(items).interval for items in (first, second)]
    assert apart[0] is not None
    assert apart[1] is not None
    assert apart[1].low < apart[0].high, "the two intervals overlap"
    found = paired_difference(first, second)
    assert found is not None
    difference, interval, _ = found
    assert 0 < interval.low < difference < interval.high
    back = paired_difference(second, first)
    assert back is not None
    assert (back.difference, *back.interval) == pytest.approx((-difference, -interval.high, -interval.low))


def test_paired_difference_profiles_and_refusals() -> None:
    first, second = ones(1, 1, 0, 0), ones(1, None, 1, 1)
    official, corrected = paired_difference(first, second), paired_difference(first, second, profile="corrected")
    assert official is not None
    assert corrected is not None
    assert official.difference == pytest.approx(1 - 1 / 3), "the second question is scored in one run alone"
    assert corrected.difference == pytest.approx(0.75 - 0.5)
    assert (official.n, corrected.n) == (3, 4)
    same = paired_difference(first, first)
    assert same == (0.0, Interval(0.0, 0.0), 4)
    assert paired_difference(first, second[:3]) is None
    assert paired_difference(first, ones(1, 1, 1, 1, 1)) is None
    assert paired_difference([], []) is None
    assert paired_difference(first, ones(None, None, None, None)) is None


COLUMNS = st.lists(st.lists(VALUE_OR_REASON, min_size=3, max_size=3), min_size=1, max_size=12)


def columns_of(table: Sequence[Sequence[Any]]) -> list[list[Item]]:
    """Columns of one question a row."""
    return [[Item(i, *row[metric]) for i, row in enumerate(table)] for metric in range(len(table[0]))]


@settings(max_examples=30)
@given(COLUMNS, PROFILES, st.sampled_from([0.0, 1.0]))
def test_metrics_summarised_together_are_as_each_by_itself(table: Any, profile: str, worst: float) -> None:
    columns = columns_of(table)
    together = summarise_all(columns, profile=profile, worst=worst, **FEW)
    assert together == [summarise(items, profile=profile, worst=worst, **FEW) for items in columns]


def test_nothing_is_summarised_of_nothing() -> None:
    empty = Summary(None, None, None, 0, 0, 0, {})
    assert summarise_all([]) == [] and summarise_all([[], []]) == [empty, empty]
    for call in (lambda: summarise_all([], profile="both"), lambda: macro([], profile="both")):
        with pytest.raises(ValueError, match="profile is 'both'"):
            call()


def macro_brute_force(groups: Sequence[Sequence[Item]], profile: str, worst: float, resamples: int) -> Any:
    """One metric's mean over groups and its interval in plain Python: every group drawn from by itself."""

    def mean(items: Sequence[Item]) -> float | None:
        values = [item.value for item in items if item.value is not None]
        if profile == "corrected":
            values += [worst for item in items if item.value is None and item.reason != NOT_APPLICABLE]
        return sum(values) / len(values) if values else None

    def over(means: Sequence[float | None]) -> float | None:
        there = [value for value in means if value is not None]
        return sum(there) / len(there) if there else None

    drawn: list[list[float | None]] = []
    for at, items in enumerate(groups):
        rng = np.random.RandomState(SEED + at)
        drawn.append([mean([items[i] for i in rng.randint(0, len(items), len(items))]) for _ in range(resamples)])
    value = over([mean(items) for items in groups])
    means = [found for row in zip(*drawn, strict=True) if (found := over(row)) is not None]
    return value, None if value is None else tuple(np.quantile(means, [0.025, 0.975]))


@settings(max_examples=40)
@given(st.lists(COLUMNS, min_size=1, max_size=5), PROFILES, st.sampled_from([0.0, 1.0, -1.0]))
def test_macro_means_and_their_stratified_intervals_equal_brute_force(groups: Any, profile: str, worst: float) -> None:
    stacked = [columns_of(table) for table in groups]
    found = macro(stacked, profile=profile, worst=worst, resamples=60)
    assert len(found) == 3
    for metric, (value, interval) in enumerate(found):
        expected, bounds = macro_brute_force([columns[metric] for columns in stacked], profile, worst, 60)
        assert value == (None if expected is None else pytest.approx(expected, abs=1e-12))
        assert interval == (None if bounds is None else pytest.approx(bounds, abs=1e-11))


def test_groups_count_alike_whatever_their_size() -> None:
    large, small = ones(*[1] * 30), ones(0, 0)
    ((value, interval),) = macro([[large], [small]])
    assert (value, interval) == (0.5, Interval(0.5, 0.5)), "all values of a group are equal: no width"
    assert summarise([Item(i, item.value) for i, item in enumerate([*large, *small])]).value == pytest.approx(30 / 32)


def test_a_group_without_values_is_left_out_of_a_macro_mean() -> None:
    off = [Item(i, None, NOT_APPLICABLE) for i in range(4)]
    failed = ones(None, None)
    assert macro([[ones(1, 1)], [off]]) == [(1.0, Interval(1, 1))]
    assert macro([[ones(1, 1)], [off]], profile="corrected") == [(1.0, Interval(1, 1))]
    assert macro([[ones(1, 1)], [failed]]) == [(1.0, Interval(1, 1))], "official leaves out what has no value"
    assert macro([[ones(1, 1)], [failed]], profile="corrected") == [(0.5, Interval(0.5, 0.5))]
    assert macro([[ones(0, 0)], [failed]], profile="corrected", worst=1.0) == [(0.5, Interval(0.5, 0.5))]
    assert macro([[off], [off]]) == macro([[failed]]) == [(None, None)] and macro([]) == []


def test_groups_are_drawn_from_apart_and_not_in_step() -> None:
    """Two groups drawn alike would be as uncertain as one; drawn apart, their mean is less so by the root of two."""
    group = ones(*np.random.RandomState(5).random_sample(200))
    ((_, one),) = macro([[group]])
    ((_, two),) = macro([[group], [group]])
    assert one is not None
    assert two is not None
    assert one == summarise(group).interval
    assert (two.high - two.low) / (one.high - one.low) == pytest.approx(0.5**0.5, rel=0.1)


def test_a_stratified_interval_is_narrower_than_one_over_all_where_groups_differ() -> None:
    groups = [ones(*[float(level)] * 10) for level in range(5)]
    ((value, interval),) = macro([[group] for group in groups])
    pooled = summarise([Item((at, i), item.value) for at, group in enumerate(groups) for i, item in enumerate(group)])
    assert value == pooled.value == 2.0
    assert interval == Interval(2.0, 2.0) and pooled.interval is not None and pooled.interval.low < 1.7


@pytest.mark.parametrize("n", [254, 255, 256, 257])
def test_intervals_are_the_same_whether_draws_are_kept_or_not(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of up to 255 questions they are kept, in a byte each, since none is drawn more often."""
    off = (None, NOT_APPLICABLE)
    table = [[(float((i * 7) % 5), None), off if i % 3 else (1.0, None)] for i in range(n)]
    columns = columns_of(table)
    usual = summarise_all(columns, **FEW), macro([columns, columns], **FEW)
    assert usual[0][0].interval == pytest.approx(brute_force(columns[0], "official", 0.0, 200), abs=1e-12)
    for kept in (0, 10_000):
        if kept and n > 255:
            continue
        monkeypatch.setattr(resampling, "_KEPT", kept)
        assert (summarise_all(columns, **FEW), macro([columns, columns], **FEW)) == usual


def test_a_question_drawn_as_often_as_can_be_fits_into_a_byte() -> None:
    assert np.iinfo(resampling._draws(1, 5, SEED).dtype).max >= resampling._KEPT
    assert resampling._draws(1, 5, SEED).tolist() == [[1] * 5]
    assert resampling._draws(255, 50, SEED).sum(axis=0).tolist() == [255] * 50
