"""Scores and differences as users take them: by name, as numbers, as rows of pandas; of one run, of two, of more."""

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pandas
import pytest

import quadrag
from quadrag.cli import main

RGB = ("rgb", "noise_robustness_en")
pytestmark = [pytest.mark.filterwarnings("ignore:INVALID"), pytest.mark.plugins]


def measure(system, name, *place, **more):
    given = {"data_dir": "sample", "name": name, "split": "noise_60"} | ({"split": None} if place else {})
    return quadrag.evaluate(*(place or RGB), system, **given | more)


def first(question):
    return question.passages[0].text


def every(question):
    return " ".join(one.text for one in question.passages)


def odd(question):
    return every(question) if int(question.id) % 2 else "I do not know"


def failing(question):
    if question.id == "3":
        raise ValueError("no luck")
    return every(question)


# Names.


def test_a_score_is_found_with_and_without_metric_and_split():
    found, other = (measure(one, one.__name__) for one in (first, every))
    for result in (found, quadrag.compare(found, other)):
        wanted = result["accuracy"]
        for name in ("rgb_accuracy.accuracy", "noise_60/accuracy", "noise_60/rgb_accuracy.accuracy"):
            assert result[name] == wanted and name in result
        assert list(result) == ["accuracy", "accuracy_bounded"] and len(result) == 2
        for name in ("noise_20/accuracy", "acuracy"):
            with pytest.raises(KeyError, match=f"{name}'; nearest: accuracy"):
                result[name]
            assert name not in result and result.get(name) is None
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert [vars(one) for one in again.values()] == [vars(one) for one in found.values()]


# Numbers.


def test_scores_and_differences_are_computed_with_and_taken_by_numpy():
    before, after = measure(first, "first"), measure(every, "every")
    mine, other, gain = before["accuracy"], after["accuracy"], quadrag.compare(before, after)["accuracy"]
    assert (mine.value, other.value, gain.difference, float(mine), round(mine, 1)) == (0.75, 1, 0.25, 0.75, 0.8)
    assert (mine * 100, 100 * mine, mine + other, other - mine, 1 - mine) == (75, 75, 1.75, 0.25, 0.25)
    assert (mine / other, 3 / mine, -gain, abs(gain), sum([mine, other])) == (0.75, 4, -0.25, 0.25, 1.75)
    assert (f"{mine:.3f}", f"{mine}") == ("0.750", str(mine))
    assert 0.1 < mine < other > 0.5 and mine == 0.75 == gain + 0.5 and np.float64(0.75) == mine != other
    assert np.mean([mine, other]) == 0.875 and np.array([mine, gain]).dtype == float
    assert pandas.Series([mine, other]).mean() == 0.875 and json.dumps([mine.value]) == "[0.75]"


@pytest.mark.parametrize(
    ("place", "key", "line"),
    [
        (RGB, "accuracy", "accuracy 75.0% (95% 46.8–91.1), n 12 of 12"),
        (("crud_rag", "summary"), "length", "length 52.6 characters (95% 49.4–55.8), n 8 of 8"),
        (("crag", "task_1_2"), "truthfulness", "truthfulness –, n 0 of 15; no judge"),
    ],
)
def test_a_score_is_printed_as_tables_write_it(place, key, line):
    given = {"split": "noise_60"} if place == RGB else {}
    found = quadrag.evaluate(*place, lambda one: first(one) if one.passages else one.query, data_dir="sample", **given)
    assert str(found[key]) == repr(found[key]) == line


# One run.


def test_of_several_splits_there_is_a_score_over_all_of_them():
    before, after = (measure(one, one.__name__, split=None) for one in (first, every))
    name = "all 5 splits/accuracy"
    score = before[name]
    assert before["accuracy"] is before["rgb_accuracy.accuracy"] is score and next(iter(before)) == name
    assert (score.value, score.n, before["noise_40/accuracy"].n_total) == (pytest.approx(0.6), 12, 12)
    both = quadrag.compare(before, after)
    pair = both["accuracy"]
    assert pair == both[name] and next(iter(both)) == name and (pair.difference, pair.n) == (pytest.approx(0.4), 12)
    gained = both.to_pandas(texts=False).groupby("id")["accuracy_difference"].mean()
    assert [pair.better, pair.worse, pair.equal] == [(gained > 0).sum(), (gained < 0).sum(), (gained == 0).sum()]


def test_scores_are_rows_of_pandas():
    before = measure(first, "v1")
    rows = pandas.DataFrame(map(vars, before.values()), index=[*before])
    row = rows.loc["accuracy"]
    assert (row["value"], row["n"], row["n_total"], row["valid"], row["split"]) == (0.75, 12, 12, True, "noise_60")
    assert row["interval"] == pytest.approx((0.468, 0.911), abs=5e-4)
    lacking = measure(first, "c", "crag", "task_1_2", limit=2)
    assert {lacking[key].reason for key in ("truthfulness", "accuracy", "hallucination")} == {"no judge"}


def test_a_row_holds_a_question_of_a_run():
    found = measure(lambda question: question.query, "q", "crud_rag", "summary")
    frame = found.to_pandas()
    assert list(frame)[:8] == ["id", "split", "query", "answer", "gold", "rouge_l", "bleu", "length"]
    assert list(frame)[-3:] == ["unscored", "sample", "config"] and len(frame) == 8
    assert frame["rouge_l"].mean() == pytest.approx(found["rouge_l"].value)
    assert list(found.to_pandas(texts=False)) == [name for name in frame if name not in ("query", "answer", "gold")]


def test_a_run_is_read_back():
    mine = measure(first, "mine", out="runs/mine")
    again = quadrag.result("runs/mine")
    assert again.scores == mine.scores and again.folder == mine.folder
    assert quadrag.result("runs/mine", profile="corrected").profile == "corrected"
    measure(every, "other", out="runs/other")
    for folder, profile, found in (("nowhere", None, "run.json"), ("runs", None, "2 runs"), ("runs/mine", "x", "'x'")):
        with pytest.raises(quadrag.QuadragError, match=found):
            quadrag.result(folder, profile)


# Two runs.


def test_a_row_holds_a_question_that_both_have_with_the_difference():
    before, after = measure(first, "v1"), measure(failing, "v2", limit=8)
    both = quadrag.compare(before, after)
    frame = both.to_pandas()
    assert list(frame)[:6] == ["id", "split", "query", "gold", "answer_before", "answer_after"]
    sides = [one.to_pandas().set_index("id") for one in (before, after)]
    assert list(frame["id"]) == list(sides[1].index)
    for row in frame.to_dict("records"):
        mine, theirs = (side.loc[row["id"]] for side in sides)
        assert (row["query"], row["gold"], row["answer_before"]) == (mine["query"], mine["gold"], mine["answer"])
        if row["id"] != "3":
            assert (row["answer_after"], row["accuracy_after"]) == (theirs["answer"], theirs["accuracy"])
    failed = frame[frame["id"] == "3"].iloc[0]
    assert failed["unscored_after"].startswith("raised: ValueError: no luck (failing, test_scores.py:")
    assert np.isnan(failed["accuracy_difference"])
    values = [row["rgb_accuracy.accuracy"]["official"] for row in before.result.items if row["id"] in "0124567"]
    assert both["accuracy"].n == 7
    assert both["accuracy"].difference == pytest.approx(1 - sum(values) / 7)
    assert both["accuracy"].difference == pytest.approx(frame["accuracy_difference"].mean())


def test_the_samples_of_a_question_are_one_row_with_their_means():
    lines = []
    for number, one in enumerate(quadrag.questions(*RGB, split="noise_60", data_dir="sample")):
        place = {"benchmark": "rgb", "config": one.config, "split": one.split, "id": one.id}
        lines += [place | {"sample": at, "answer": every(one) if at <= number % 3 else ""} for at in range(3)]
    Path("three.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert main(["score", "three.jsonl", "--data-dir", "sample", "--out", "three"]) == 0
    both = quadrag.compare(measure(first, "v1"), "three")
    frame = both.to_pandas(texts=False)
    assert len(frame) == 12 and list(frame["accuracy_after"][:3]) == pytest.approx([1 / 3, 2 / 3, 1])
    assert frame["accuracy_difference"].mean() == pytest.approx(both["accuracy"].difference)


def test_what_is_not_compared_has_a_reason():
    both = quadrag.compare(measure(first, "v1", split=None), measure(every, "v3", split="noise_0"))
    assert [*both] == ["noise_0/accuracy", "noise_0/accuracy_bounded"]
    for name in ("noise_20/accuracy", "all 5 splits/accuracy"):
        with pytest.raises(KeyError, match="only v1 has it"):
            both[name]


# Three runs and more.


@pytest.fixture
def three():
    return [measure(one, one.__name__, split="noise_80", out=one.__name__) for one in (first, odd, every)]


def test_each_run_is_compared_with_the_first(three):
    both = quadrag.compare(*three)
    found, questions = both["accuracy"], both.to_pandas(texts=False)
    assert [*both] == ["accuracy", "accuracy_bounded"] and [*found] == ["odd", "every"]
    for one in three[1:]:
        alone, pair = quadrag.compare(three[0], one), found[one.name]
        assert vars(pair) | {"p_holm": None} == vars(alone["accuracy"]) | {"p_holm": None}
        assert (pair.verdict, pair.n) == ("better", 12)
        own = questions[questions["system"] == one.name].drop(columns="system").reset_index(drop=True)
        assert own.equals(alone.to_pandas(texts=False))
    assert [one.difference for one in found.values()] == [0.5, 1.0]
    ps = [0.015625, 0.000244140625]
    assert [one.p for one in found.values()] == ps
    assert [one.p_holm for one in found.values()] == [ps[0], 2 * ps[1]], "the two are adjusted together"


def test_runs_of_one_name_are_told_apart(three):
    again = measure(odd, "odd", split="noise_80", out="again")
    assert list(quadrag.compare(*three, again)["accuracy"]) == ["odd", "every", "again"]
    runs = [measure(one, "rag", split="noise_80") for one in (first, odd, every)]
    assert list(quadrag.compare(*runs)["accuracy"]) == ["rag-2", "rag-3"]


def test_what_cannot_be_compared_is_refused(three):
    other = measure(first, "other", "rgb", "negative_rejection_en", out="other")
    crag = [measure(first, name, "crag", "task_1_2", out=name) for name in "xy"]
    for runs, said in (
        ([*three, "./first"], "first and ./first are the same"),
        ([three[0], "odd/../first/"], "first and odd/../first/ are the same"),
        ([*three[:2], "none"], "none holds no run"),
        ([other, *crag], "other is rgb negative_rejection_en .*; x is crag"),
        ([three[0], other], "first is rgb noise_robustness_en .*; other is rgb negative_rejection_en"),
        ([three], "compare\\(\\*runs\\)"),
        ([three[0]], "here is one"),
    ):
        with pytest.raises(quadrag.QuadragError, match=said) as told:
            quadrag.compare(*runs)
        assert "\n" not in str(told.value)
    with pytest.raises(quadrag.QuadragError):
        quadrag.compare(*three).show(worse=True)
    assert quadrag.compare(*three, profile="corrected").profile == "corrected"
    mixed = quadrag.compare(three[0], quadrag.result("every", "corrected"))
    assert {one.profile for one in mixed.runs} == {"official"}, "that of the first"
