"""Means of truthfulness: of human ratings, by weights, and by slices with intervals."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from truthfulness_judges import KEYS, NO, PROFILES, SHARES, YES, Says, column, material

from quadrag.stats import Draws, Item, summarise

ROOT = Path(__file__).parents[3]
# Human ratings


def test_ratings(metric: Any) -> None:
    ratings = ["perfect", "Acceptable", " missing", "INCORRECT", None]
    expected = [1.0, 0.5, 0.0, -1.0, None]
    official = metric.compute(ratings=ratings)
    assert column(official) == expected and official["unscored"] == {"unrated": 1}
    assert [official[key] for key in (*KEYS, "perfect", "acceptable")] == [0.125, 0.5, 0.25, 0.25, 0.25, 0.25]
    corrected = metric.compute(ratings=ratings, profile="corrected")
    assert column(corrected) == expected and corrected["unscored_share"] == 0.2
    assert [corrected[key] for key in (*KEYS, "perfect", "acceptable")] == pytest.approx([0.1, 0.4] + [0.2] * 4)
    assert corrected["truthfulness_over_scored"] == 0.125
    for extra in ({"predictions": ["a"] * 5}, {"predictions": ["a", None] * 2 + [""], "references": ["x"] * 5}):
        assert metric.compute(ratings=ratings, **extra) == official
    metric.add_batch(predictions=["a"] * 5, references=["x"] * 5)
    assert metric.compute(ratings=ratings) == official
    assert metric.compute(ratings=[])["perfect"] is None


def table_6() -> list[tuple[str, dict[str, float]]]:
    rows: dict[str, dict[str, float]] = {}
    with (ROOT / "baselines" / "crag" / "published.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["table"] == "6" and row["unit"] == "percent":
                rows.setdefault(row["setting"], {})[row["metric"]] = float(row["value"])
    return list(rows.items())


@pytest.mark.parametrize(("setting", "printed"), table_6())
def test_table_6_is_perfect_plus_half_acceptable_minus_hallucination(
    metric: Any, setting: str, printed: dict[str, float]
) -> None:
    names = {"perfect": "perfect", "acceptable": "acceptable", "missing": "missing", "hallucination": "incorrect"}
    ratings = [rating for key, rating in names.items() for _ in range(round(10 * printed[key]))]
    got = metric.compute(ratings=ratings)
    assert got["truthfulness"] == pytest.approx(got["perfect"] + got["acceptable"] / 2 - got["hallucination"])
    # Four printed numbers, each rounded to a tenth of a percent, and shares of what they add up to.
    total = sum(printed[key] for key in names)
    assert abs(got["truthfulness"] * total - printed["truthfulness"]) <= 0.05 * (1 + 1 + 0.5 + 1)


def test_the_table_has_ten_rows() -> None:
    assert len(table_6()) == 10


# Weights and slices


def test_weights_within_domains_then_the_mean_over_domains(metric: Any) -> None:
    ratings = ["perfect", "incorrect", "perfect", "missing", "perfect", "acceptable"]
    domains = ["finance"] * 4 + ["movie"] * 2
    types = ["simple", "simple", "set", "multi-hop", "simple", "simple"]
    kwargs = {"ratings": ratings, "domains": domains, "question_types": types}
    got = metric.compute(**kwargs, weights={"simple": 0.6, "set": 0.3, "multi-hop": 0.1, "unused": 5})
    # finance: .6 x 0 + .3 x 1 + .1 x 0 = .3; movie: .75
    assert got["truthfulness_weighted"] == pytest.approx(0.525)
    assert got["hallucination_weighted"] == pytest.approx((0.6 * 0.5 + 0.0) / 2)
    assert got["perfect_weighted"] == pytest.approx((0.6 * 0.5 + 0.3 + 0.5) / 2)
    assert got["truthfulness"] == metric.compute(ratings=ratings)["truthfulness"]
    by_domain = {"finance": {"simple": 3, "set": 0, "multi-hop": 1}, "movie": {"simple": 2}}
    got = metric.compute(**kwargs, weights=by_domain)
    assert got["truthfulness_weighted"] == pytest.approx((0.0 + 0.75) / 2)
    assert got["missing_weighted"] == pytest.approx((0.25 + 0.0) / 2)


def test_weights_and_items_without_a_value(score: Callable[..., Any]) -> None:
    more = {"weights": {"s": 1, "t": 3}, "domains": ["a", "a", "b", "b"], "question_types": ["s", "t", "s", "s"]}
    answers, golds = ["a", "b", "a", None], ["A", "x", "A", "y"]
    got = score(answers, golds, Says("?"), "corrected", **more)
    # a: (1 x 1 + 3 x 0) / 4 with the unscored as 0, else 1; b: 1 / 2, else 1
    assert got["accuracy_weighted"] == pytest.approx((0.25 + 0.5) / 2) and got["accuracy_weighted_over_scored"] == 1.0
    official = score(answers, golds, Says("?"), **more)
    assert official["truthfulness_weighted"] == pytest.approx(((1 - 3) / 4 + 0) / 2)
    excluded = score(answers, golds, Says("?"), judge_failure="excluded", **more)
    assert excluded["truthfulness_weighted"] == 1.0
    nothing = score(answers, golds, None, **more)
    assert nothing["truthfulness_weighted"] is None and nothing["missing_weighted"] == 0.0


@pytest.mark.pure
@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("st"), st.sampled_from([1, 0.5, 0, -1])), min_size=1))
def test_weights_that_are_counts_give_the_mean_over_domains(
    part: Callable[[str], ModuleType], rows: list[tuple[str, str, float]]
) -> None:
    domains, types, values = zip(*rows, strict=True)
    counts: dict[str, dict[str, int]] = {}
    for domain, kind, _ in rows:
        counts.setdefault(domain, {}).setdefault(kind, 0)
        counts[domain][kind] += 1
    got = part("weights").Weighing(counts, domains, types, len(rows)).mean(values)
    per_domain = {name: [value for domain, _, value in rows if domain == name] for name in counts}
    assert got == pytest.approx(sum(sum(x) / len(x) for x in per_domain.values()) / len(per_domain))


@pytest.mark.parametrize("profile", PROFILES)
def test_slices_and_intervals_come_from_the_rows(score: Callable[..., Any], profile: str) -> None:
    draw = random.Random(7)
    golds = [draw.choice(["yes", "no", "?"]) for _ in range(200)]
    answers = [draw.choice(["yes", "x", "I don't know", None]) for _ in golds]
    domains = [draw.choice(["finance", "movie"]) for _ in golds]

    def judge(requests: list[Any]) -> list[str]:
        return [{"yes": YES, "no": NO, "?": "?"}[material(request)["reference"]] for request in requests]

    got = score(answers, golds, judge, profile)
    assert got["unscored"]["unparsable"] > 10 and got["unscored"]["api_error"] > 10
    for key in KEYS:
        rows = [(i, row[key], row["reasons"].get(key)) for i, row in enumerate(got["per_item"])]
        whole = summarise([Item(*row) for row in rows], profile=profile, draws=Draws(resamples=200))
        assert whole.value == pytest.approx(got[key]) and whole.interval is not None
        assert whole.interval.low < got[key] < whole.interval.high
        for name in ("finance", "movie"):
            part_of = [i for i, domain in enumerate(domains) if domain == name]
            alone = score([answers[i] for i in part_of], [golds[i] for i in part_of], judge, profile)
            sliced = summarise([Item(*rows[i]) for i in part_of], profile=profile, draws=Draws(resamples=2))
            assert sliced.value == pytest.approx(alone[key])
    if profile == "corrected":
        assert sum(got[key] for key in SHARES) + got["unscored_share"] == pytest.approx(1)
    else:
        assert sum(got[key] for key in SHARES) == pytest.approx(1)


# The trim
