"""Questions that hang together, and strata of weighted means, down to the rows of scores.json."""

import pytest
from score_rows import as_rows
from specs import spec_of

from quadrag.benchmark import MetricUse, Stratum, load
from quadrag.records import Question
from quadrag.results.items import stratify
from quadrag.scoring.drive import Measured, find_units, score_split
from quadrag.stats import Item, summarise

pytestmark = pytest.mark.plugins


def question(name: str, documents: str = "", talk: str = "", split: str = "auto", **slices: str) -> Question:
    place = ("omnieval", "all", split, name)
    return Question(*place, "q", ["a"], "zh", relevant=tuple(documents), talk=talk, slices=slices)


def test_questions_hang_together_by_document_or_conversation_however_far_around() -> None:
    asked = [
        question("1", "ab"),
        question("2", "c"),
        question("3", "bd"),
        question("4", "", talk="t"),
        question("5", "d", talk="t"),
        question("6"),
        question("1", "b", split="human"),
    ]
    found = find_units(asked)
    assert found == {("all", "auto", name): "1" for name in "1345"}, "2 and 6 stand alone, and so does another split"


def test_rounds_of_omnieval_name_their_conversation() -> None:
    from quadrag.loading import load_questions

    benchmark = load("omnieval")
    task = spec_of("omnieval", "conversational_qa", None, "sample", "none", benchmark.retrieval, {})
    asked, _ = load_questions(task, benchmark)
    assert {one.talk for one in asked} == {one.id.rpartition(".")[0] for one in asked} and "" not in {asked[0].talk}
    assert len({one.talk for one in asked}) < len(asked)


def test_strata_weigh_types_within_domains_and_domains_alike() -> None:
    items = [Item(name, float(at)) for at, name in enumerate("abcd")] + [Item("e", None, "api_error")]
    rows = [("x", "p", 3.0), ("x", "q", 1.0), ("y", "p", 0.5), ("z", "p", 0.0), ("y", "r", 9.0)]
    strata = {item.question: Stratum(*row) for item, row in zip(items, rows, strict=True)}
    groups, weights = stratify(items, strata, "official")
    assert [[item.question for item in group] for group in groups] == [["a"], ["b"], ["c"], ["d"]]
    assert weights == [0.375, 0.125, 0.5, 0.0], "y has one type that counts, z no weight"
    groups, weights = stratify(items, strata, "corrected")
    assert len(groups) == 5 and sum(weights) == pytest.approx(1) and weights[3] == pytest.approx(9 / 9.5 / 2)


def test_the_score_split_a_split_are_by_units_and_name_their_method() -> None:
    asked = [question(str(i), "abcdefgh"[i // 4], topic="t") for i in range(32)]
    metric = MetricUse("omnieval_overlap", ("em", "f1"))
    values = {"em": [float(i % 3 == 0) for i in range(32)], "f1": [(i * 7 % 10) / 10 for i in range(32)]}
    lines = [
        {"config": "all", "split": "auto", "id": str(i)}
        | {f"omnieval_overlap.{key}": {"official": of[i]} for key, of in values.items()}
        for i in range(32)
    ]
    measured = Measured(metric, "official", "s", {"em": None, "f1": None}, {"em": 0.5, "f1": 0.25})
    rows = as_rows(score_split(load("omnieval"), "all", "auto", lines, asked, [measured]))
    found = {(row["slice"], row["key"]): row for row in rows}
    for key, of in values.items():
        tied = summarise([Item(i, value, unit=i // 4) for i, value in enumerate(of)])
        row = found["all", key]
        assert (
            row["interval"] == pytest.approx(tied.interval)
            and row["interval"] != summarise([Item(i, value) for i, value in enumerate(of)]).interval
        )
        assert row["method"] == {"em": "logit", "f1": "bca"}[key] == found["macro:topic", key]["method"]
        assert row["value"] == {"em": 0.5, "f1": 0.25}[key], "the module's own"


def test_where_every_answer_is_a_hallucination_truthfulness_has_an_interval() -> None:
    """By Wilson at most 0.203883 of all answers are no hallucination: 2 * 0.203883 - 1, were those all right."""
    asked = [question(str(i), topic="t") for i in range(15)]
    place = {"config": "all", "split": "auto", "truthfulness.truthfulness": {"official": -1.0}}
    metric = MetricUse("truthfulness", ("truthfulness", "truthfulness_weighted"))
    values = dict.fromkeys(metric.keys, -1.0)
    measured = Measured(metric, "official", "s", dict.fromkeys(metric.keys), values)
    strata = {one.key: Stratum("d", "k", 1.0) for one in asked}
    lines = [{**place, "id": one.id} for one in asked]
    rows = as_rows(score_split(load("omnieval"), "all", "auto", lines, asked, [measured], strata))
    assert {(row["slice"], row["key"]) for row in rows} >= {("all", key) for key in metric.keys} | {
        ("macro:topic", "truthfulness")
    }
    for row in rows:
        assert row["interval"] == pytest.approx([-1, -0.592233], abs=1e-6) and row["method"] == "wilson"
