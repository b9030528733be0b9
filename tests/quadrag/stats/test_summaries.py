"""Means and their intervals: worked by hand, resampled one by one, and beside SciPy's and statsmodels'."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, bootstrap
from scipy.stats import norm as normal
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint

from quadrag.stats import (
    NOT_APPLICABLE,
    RESAMPLES,
    SEED,
    SHARE,
    Group,
    Item,
    Mean,
    bca,
    choose_fill,
    counted,
    influences,
    known_interval,
    macro,
    make_group,
    number_units,
    summarise,
    summarise_all,
    wilson,
)

REASONS = ("api_error", "unparsable", "truncated", NOT_APPLICABLE)
VALUES = st.floats(-1, 1).map(lambda value: round(value, 3))
EIGHTHS = st.integers(-8, 8).map(lambda value: value / 8)  # whose sums are exact
VALUE_OR_REASON = st.tuples(VALUES, st.none()) | st.tuples(st.none(), st.sampled_from(REASONS))
ITEMS = st.lists(
    st.builds(lambda question, pair: Item(question, *pair), st.integers(0, 9), VALUE_OR_REASON), max_size=25
)
PROFILES = st.sampled_from(["official", "corrected"])


def ones(*values: float | None) -> list[Item]:
    """Items of one value a question; None is a failed call."""
    return [Item(i, value, "api_error" if value is None else None) for i, value in enumerate(values)]


def width(found: Mean) -> float:
    assert found.interval is not None
    return found.interval.high - found.interval.low


def test_worked_example() -> None:
    """Three right, one wrong, one failed call, one unreadable, one that the metric does not apply to."""
    items = ones(1, 1, 1, 0, None)
    items += [Item(5, None, "unparsable"), Item(6, None, NOT_APPLICABLE)]
    official, corrected = summarise(items), summarise(items, profile="corrected")
    assert official.value == official.over_scored == corrected.over_scored == 3 / 4
    assert corrected.value == 3 / 6
    # Truthfulness has -1 as its worst value: (3 + 0 - 1 - 1) / 6.
    assert summarise(items, profile="corrected", worst=-1.0).value == pytest.approx(1 / 6)


def in_order(items: Sequence[Item], profile: str, worst: float) -> list[Any]:
    """Questions as they are drawn: by how many values they have, then by the values' sum."""
    found: dict[Any, list[float]] = {item.question: [0, 0] for item in items}
    for item in items:
        if (value := counted(item, choose_fill(profile, worst))) is not None:
            found[item.question] = [found[item.question][0] + 1, found[item.question][1] + value]
    return sorted(found, key=found.__getitem__)


def drawn_means(items: Sequence[Item], profile: str, worst: float) -> list[float]:
    """The means over resamples of single questions, one by one, in plain Python."""
    values = {item.question: counted(item, choose_fill(profile, worst)) for item in items}
    questions = in_order(items, profile, worst)
    rng, n = np.random.RandomState(SEED), len(questions)
    means = []
    for _ in range(RESAMPLES):
        drawn = [values[questions[at]] for at in rng.randint(0, n, n, np.min_scalar_type(n))]
        there = [value for value in drawn if value is not None]
        if there:
            means.append(sum(there) / len(there))
    return means


@pytest.mark.filterwarnings("ignore")  # SciPy warns where it has no answer
@settings(max_examples=40)
@given(st.lists(EIGHTHS | st.none(), min_size=8, max_size=25), PROFILES, st.sampled_from([0.0, -1.0]))
def test_the_bootstrap_is_scipys_over_the_same_draws(values: list[float | None], profile: str, worst: float) -> None:
    items = ones(*values)
    found = summarise(items, profile=profile, worst=worst)
    known = [worst if value is None else value for value in values if profile == "corrected" or value is not None]
    assume(len(known) > 5)  # of fewer the level that SciPy is asked for is too near to 1
    if set(known) <= {0, 1}:
        assert found.method == "wilson"
        return
    assert found.method == "bca"
    means = drawn_means(items, profile, worst)
    if len(set(known)) == 1:
        assert found.interval == pytest.approx((known[0], known[0]), abs=1e-9)
        return
    # As few units as these vary too little in a resample: SciPy is asked for a level that makes up for it.
    n = len(known)
    reach = student.ppf(0.975, n - 1) * (n / (n - 1)) ** 0.5
    theirs = bootstrap(
        (known,),
        np.mean,
        method="BCa",
        n_resamples=0,
        bootstrap_result=SimpleNamespace(bootstrap_distribution=np.array(means)),
        confidence_level=float(1 - 2 * normal.sf(reach)),
    ).confidence_interval
    if np.isfinite(theirs.low + theirs.high):  # SciPy has no answer where the estimate is beyond all resamples
        assert found.interval == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@given(ITEMS, PROFILES)
def test_value_and_interval_hold(items: list[Item], profile: str) -> None:
    found = summarise(items, profile=profile)
    reasons = [item.reason for item in items if item.value is None]
    failed = len(reasons) - reasons.count(NOT_APPLICABLE)
    assert (found.value is None) == (found.interval is None)
    if found.value is not None and found.interval is not None:
        low, high = found.interval
        assert low <= high
        worst = [0.0] if profile == "corrected" and failed else []
        bounds = [item.value for item in items if item.value is not None] + worst
        if found.method == "bca":
            assert min(bounds) - 1e-9 <= low
            assert high <= max(bounds) + 1e-9
        else:
            assert 0 <= low <= high <= 1
        assert min(bounds) - 1e-9 <= found.value <= max(bounds) + 1e-9
    if profile == "official":
        assert found.value == pytest.approx(found.over_scored)
    elif found.value is not None:
        n_scored = len(items) - len(reasons)
        assert found.value == pytest.approx((found.over_scored or 0) * n_scored / (n_scored + failed))


@given(st.integers(1, 40), VALUES.filter(lambda value: value not in (0, 1)))
def test_equal_values_have_the_width_that_unseen_ones_at_an_end_would_give(n: int, value: float) -> None:
    known = wilson(n, n).low
    for ends in ((-1, 1), (-2, 3)):
        found = summarise(ones(*[value] * n), ends=ends)
        assert found.value == pytest.approx(value) and found.method == "wilson"
        assert found.interval == pytest.approx([known * value + (1 - known) * end for end in ends])
    for ends in ((None, None), (0, None), (2, 3)):
        assert summarise(ones(*[value] * n), ends=ends).interval == pytest.approx((value, value))
    assert summarise(ones(*[1] * n)).interval == pytest.approx(wilson(n, n))


def test_shares_in_clusters_are_as_sure_as_their_clusters() -> None:
    once = ones(*[float(i % 3 == 0) for i in range(60)])
    often = [item for item in once for _ in range(10)]
    single, clustered = summarise(once), summarise(often)
    assert (single.method, clustered.method) == ("wilson", "logit")
    assert width(clustered) / width(single) == pytest.approx(1, rel=0.05)
    mixed = [Item(i // 10, float(i % 3 == 0)) for i in range(600)]
    assert width(summarise(mixed)) < width(clustered) / 3, "clusters that are alike"
    alike = [Item(i // 2, float(i % 2)) for i in range(60)]
    assert summarise(alike).interval == pytest.approx(wilson(15, 30)), (
        "all clusters are the same: each counts as one item"
    )


COLUMNS = st.lists(st.lists(VALUE_OR_REASON, min_size=3, max_size=3), min_size=1, max_size=12)


def columns_of(table: Sequence[Sequence[Any]]) -> list[list[Item]]:
    """Columns of one question a row."""
    return [[Item(i, *row[metric]) for i, row in enumerate(table)] for metric in range(len(table[0]))]


@settings(max_examples=30)
@given(COLUMNS, PROFILES, st.sampled_from([0.0, 1.0]))
def test_metrics_summarised_together_are_as_each_by_itself(table: Any, profile: str, worst: float) -> None:
    columns = columns_of(table)
    together = summarise_all(columns, profile=profile, worst=worst)
    assert together == [summarise(items, profile=profile, worst=worst) for items in columns]


def macro_brute_force(
    groups: Sequence[Sequence[Item]], weights: Sequence[float], profile: str, worst: float
) -> tuple[float | None, list[float]]:
    """One metric's mean over groups and its resamples in plain Python: every group drawn from by itself."""

    def mean(items: Sequence[Item]) -> float | None:
        values = [item.value for item in items if item.value is not None]
        if profile == "corrected":
            values += [worst for item in items if item.value is None and item.reason != NOT_APPLICABLE]
        return sum(values) / len(values) if values else None

    def over(means: Sequence[float | None]) -> float | None:
        there = [(value, weight) for value, weight in zip(means, weights, strict=True) if value is not None and weight]
        total = sum(weight for _, weight in there)
        return sum(value * weight for value, weight in there) / total if total else None

    drawn: list[list[float | None]] = []
    for at, items in enumerate(groups):
        rng, n = np.random.RandomState(SEED + at), len(items)
        questions = in_order(items, profile, worst)
        drawn.append(
            [mean([items[questions[i]] for i in rng.randint(0, n, n, np.min_scalar_type(n))]) for _ in range(RESAMPLES)]
        )
    means = [found for row in zip(*drawn, strict=True) if (found := over(row)) is not None]
    return over([mean(items) for items in groups]), means


@settings(max_examples=20)
@given(
    st.lists(st.tuples(COLUMNS, st.sampled_from([0.0, 0.5, 1.0, 3.0])), min_size=1, max_size=5),
    PROFILES,
    st.sampled_from([0.0, 1.0, -1.0]),
)
def test_means_over_groups_are_drawn_as_by_brute_force(groups: Any, profile: str, worst: float) -> None:
    stacked = [columns_of(table) for table, _ in groups]
    weights = [weight for _, weight in groups]
    found = macro(stacked, weights=weights, profile=profile, worst=worst)
    assert len(found) == 3
    for metric, (value, interval, method, _) in enumerate(found):
        members = [columns[metric] for columns in stacked]
        expected, means = macro_brute_force(members, weights, profile, worst)
        assert value == (None if expected is None else pytest.approx(expected, abs=1e-12))
        if method != "bca":
            assert method in (None, "wilson") and (method is None) == (interval is None) == (value is None)
            continue
        fill = choose_fill(profile, worst)
        made = [
            make_group(items, number_units(items), fill, weight) for items, weight in zip(members, weights, strict=True)
        ]
        counting = [group for group in made if group.weight and group.sums[1].any()]
        influence = influences(counting)
        again = bca(np.array(means), expected or 0.0, influence)
        assert interval == pytest.approx(again, abs=1e-11)


def test_a_group_without_values_is_left_out_of_a_macro_mean() -> None:
    off = [Item(i, None, NOT_APPLICABLE) for i in range(4)]
    failed = ones(None, None)
    alone = Mean(1.0, summarise(ones(1, 1)).interval, "wilson")
    assert macro([[ones(1, 1)], [off]]) == macro([[ones(1, 1)], [off]], profile="corrected") == [alone]
    assert macro([[ones(1, 1)], [failed]]) == [alone], "official leaves out what has no value"
    assert macro([[ones(1, 1)], [ones(0)]], weights=[2, 0]) == [alone], "what has no weight has no say"
    for worst in (0.0, 1.0):
        ((value, interval, *_),) = macro([[ones(1 - worst, 1 - worst)], [failed]], profile="corrected", worst=worst)
        assert value == 0.5 and interval is not None and interval.low < 0.5 < interval.high
    nothing = [Mean(None, None, None)]
    assert macro([[off], [off]]) == macro([[failed]]) == macro([[ones(1)]], weights=[0]) == nothing
    assert macro([]) == []


def test_shares_of_groups_are_surer_than_of_all_where_groups_differ() -> None:
    groups = [ones(*[1.0 if i < right else 0.0 for i in range(40)]) for right in (2, 20, 38)]
    (mean,) = macro([[group] for group in groups])
    pooled = summarise([Item((at, i), item.value) for at, group in enumerate(groups) for i, item in enumerate(group)])
    assert mean.value == pytest.approx(pooled.value)
    assert (mean.method, pooled.method) == ("wilson", "wilson") and width(mean) < 0.85 * width(pooled)
    (same,) = macro([[group] for group in groups[:1]])
    assert same.interval == pytest.approx(wilson(2, 40)), "of one group it is Wilson's own"


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
