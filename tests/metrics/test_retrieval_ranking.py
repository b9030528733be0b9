"""retrieval_ranking: worked examples, ir-measures on rankings of every kind, OmniEval's MAP."""

import json
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

CASES = json.loads(Path(__file__).with_name("retrieval_ranking_vectors.json").read_text(encoding="utf-8"))["rankings"]
PROFILES = ("official", "corrected")
K = (1, 3, 5, 10)
names = st.sampled_from("abcdefghij")
rankings = st.lists(names, max_size=14)
relevants = st.lists(names, min_size=1, max_size=6)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_vectors(metric: Any, case: dict[str, Any], profile: str) -> None:
    got = metric.compute(predictions=[case["ranking"]], references=[case["relevant"]], profile=profile)
    expected = [case[profile], case["mrr"], case["mrr_per_gold"]]
    assert [got["map"], got["mrr"], got["mrr_per_gold"]] == pytest.approx(expected, abs=1e-6)


def by_ir_measures(rankings: list[list[str]], relevants: list[list[str]]) -> list[dict[str, float]]:
    """The same measures by ir-measures, which knows no id twice: one met again becomes an id of its own."""
    measures = {"map": ir_measures.AP, "mrr": ir_measures.RR}
    for k in K:
        measures |= {
            f"recall@{k}": ir_measures.R @ k,
            f"ndcg@{k}": ir_measures.nDCG @ k,
            f"hit@{k}": ir_measures.Success @ k,
        }
    qrels = {str(q): dict.fromkeys(relevant, 1) for q, relevant in enumerate(relevants)}
    run = {
        str(q): {
            name if name not in ranking[:rank] else f"again-{rank}": float(len(ranking) - rank)
            for rank, name in enumerate(ranking)
        }
        for q, ranking in enumerate(rankings)
    }
    rows: list[dict[str, float]] = [{} for _ in rankings]
    keys = {str(measure): key for key, measure in measures.items()}
    for value in ir_measures.iter_calc(list(measures.values()), qrels, run):
        rows[int(value.query_id)][keys[str(value.measure)]] = value.value
    return rows


@settings(max_examples=60)
@given(st.lists(st.tuples(rankings, relevants), min_size=1, max_size=5))
def test_textbook_measures_are_ir_measures(metric: Any, items: list[tuple[list[str], list[str]]]) -> None:
    given_rankings, golds = [r for r, _ in items], [g for _, g in items]
    got = metric.compute(predictions=given_rankings, references=golds, k=list(K), profile="corrected")
    for row, expected in zip(got["per_item"], by_ir_measures(given_rankings, golds), strict=True):
        assert {key: row[key] for key in expected} == pytest.approx(expected, abs=1e-6)
        assert len(expected) == 2 + 3 * len(K)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("gold", [[], None])
@pytest.mark.parametrize("ranked", [["a"], [], None])
def test_an_item_with_nothing_to_find_is_not_applicable(metric: Any, profile: str, gold: Any, ranked: Any) -> None:
    got = metric.compute(predictions=[["a"], ranked], references=[["a"], gold], profile=profile)
    assert got["mrr"] == 1.0 and (got["n_scored"], got["unscored"]) == (2, {})
    row = got["per_item"][1]
    assert set(row["reasons"].values()) == {"not_applicable"} and row["map"] is None
    assert set(row["reasons"]) == set(row) - {"reasons"}
