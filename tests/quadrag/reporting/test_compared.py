"""Runs compared: differences, p and verdicts as one works them out by hand, when there are none, and the gate."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from compared_runs import RGB_SPLITS, ask, fail, graded, lose, run, run_splits, together

import quadrag
from quadrag.errors import GateFailed, QuadragError
from quadrag.reporting.comparison import check_gate, tabulate_comparison
from quadrag.reporting.table import name_runs
from quadrag.reporting.tables import merge_runs
from quadrag.results import Note, NoteCode, Run, Status
from quadrag.results.certificates import discredit
from quadrag.results.compare import Difference, Reason, compare, list_gains
from quadrag.stats import Interval

pytestmark = pytest.mark.plugins

HIGH = {"metric": "rgb_accuracy", "key": "accuracy"}
CASES = yaml.safe_load(Path(__file__).with_name("compared.yaml").read_text(encoding="utf-8"))


def spread(text: str) -> list[float | None]:
    """The values of questions, as the cases write them."""
    parts = (part.split("*") for part in text.split())
    return [None if value == "-" else float(value) for value, count in parts for _ in range(int(count))]


def differences(*runs: Run, **more: Any) -> dict[str, Difference]:
    """The differences of a second run by split and key."""
    found = compare(runs[0], runs[1:], **more).differences
    return {f"{one.place[1]}/{one.place[3]}": one for one in found}


def notes(*runs: Run) -> dict[NoteCode, Note]:
    named = [(name, one) for name, one in zip("ABC", runs, strict=False)]
    return {note.code: note for note in tabulate_comparison(named).notes if isinstance(note, Note)}


def test_the_paired_difference_worked_by_hand() -> None:
    first, second = run([1.0, 0.0, 0.0, 0.0] * 2, **HIGH), run([1.0, 1.0, 1.0, 0.0] * 2, **HIGH)
    found = differences(first, second)["test/accuracy"]
    # Four of eight questions gained 1: by chance in 1 of 8 cases, or 1 of 16 by mid-p. Bonett and Price: 5 and 1 of 10.
    error = ((5 / 10 + 1 / 10 - (4 / 10) ** 2) / 10) ** 0.5
    assert found.values == (0.25, 0.75) and found.verdict == "not decided" and found.changes == (4, 0, 4)
    assert found.p == 0.0625 and found.delta == 0.5
    assert found.interval == pytest.approx((0.4 - 1.96 * error, 0.4 + 1.96 * error), abs=1e-4)
    (line,) = tabulate_comparison([("A", first), ("B", second)]).rows
    assert [cell.text for cell in line.cells] == ["25.0", "75.0", "+50.0", "8", "not decided"]


@pytest.mark.parametrize(("first", "second", "metric", "key", "wanted"), CASES["verdicts"])
def test_each_verdict(first: str, second: str, metric: str, key: str, wanted: Any) -> None:
    found = differences(*(run(spread(values), metric=metric, key=key) for values in (first, second)))[f"test/{key}"]
    assert (found.reason or [round(100 * (found.delta or 0), 1), found.verdict]) == wanted


def test_over_all_splits_a_question_counts_once() -> None:
    first, second = [0.0] * 10, [1.0] * 6 + [0.0] * 4
    found = differences(*(run_splits(dict.fromkeys(RGB_SPLITS, values)) for values in (first, second)))
    overall, one = found["all 3 splits/accuracy"], found["noise_0/accuracy"]
    assert overall.values == (0.0, 0.6) and overall.verdict == "better" and round(overall.p, 3) == 0.016
    assert overall.n == 10 and overall.interval == one.interval, "as sure as in one"
    low = {split: [0.0] * 12 for split in RGB_SPLITS}
    high = {split: [float(at % 3 == place) for at in range(12)] for place, split in enumerate(RGB_SPLITS)}
    verdicts = [one.verdict for one in differences(run_splits(low), run_splits(high)).values()]
    assert verdicts == ["better", *["not decided"] * 3], "decided by all together"
    lacking = run_splits({**low, "noise_0": [None, *low["noise_0"][1:]]})
    whole = differences(lacking, run_splits(high))["all 3 splits/accuracy"]
    assert whole.delta == pytest.approx((11 / 3 + 0) / 12)
    alone = {"noise_0": [0.0, 1.0] * 4}
    assert [*differences(run_splits(alone), run_splits(alone))] == ["noise_0/accuracy"]


def test_the_same_gain_on_every_question_has_a_width() -> None:
    """Wilson of 10 of 10 leaves 3.841459 / 13.841459 = 0.277533 open; these may gain nothing, or the whole."""
    none = dict.fromkeys(RGB_SPLITS, [0.0] * 10)
    found = differences(run_splits(none), run_splits(none | {"noise_40": [1.0] * 10}))["all 3 splits/accuracy"]
    assert found.interval == pytest.approx((0.722467 / 3, 0.722467 / 3 + 0.277533), abs=1e-5)


def test_a_weighted_mean_is_paired_as_such() -> None:
    rng = np.random.RandomState(2)
    asked = ask(60, ["finance", "music", "music"], {"finance": 3.0, "music": 1.0})
    first = rng.random_sample(60)
    second = first + np.where(np.arange(60) % 3 == 0, 0.3, -0.1) + rng.normal(0, 0.01, 60)
    gaps = [(second - first)[np.arange(60) % 3 == 0].mean(), (second - first)[np.arange(60) % 3 != 0].mean()]

    def weigh(asked: Any) -> Difference:
        parts = ("accuracy", "accuracy_weighted")
        both = [
            together(*(run(values, metric="truthfulness", key=key, asked=asked) for key in parts))
            for values in (first, second)
        ]
        return differences(*(replace(one, asked=asked) for one in both))["test/accuracy_weighted"]

    assert weigh(asked).delta == pytest.approx((3 * gaps[0] + gaps[1]) / 4)
    assert weigh(ask(60, ["finance"])).delta is None, "without strata none"


def test_questions_that_hang_together_are_swapped_together_and_other_gold_is_no_pair() -> None:
    asked = ask(30, ["x"])
    tied = {key: one._replace(unit=str(int(key[2]) // 10)) for key, one in asked.items()}
    first, second = [0.0] * 30, [1.0] * 30
    apart, bound = (differences(run(first, asked=one), run(second, asked=one))["test/rouge_l"] for one in (asked, tied))
    assert apart.p < 1e-6 and bound.p == 0.25
    merged = [merge_runs([run(values, asked=tied)]) for values in (first, second)]
    again = differences(*merged)["test/rouge_l"]
    assert (again.delta, again.interval, again.p) == (bound.delta, bound.interval, bound.p), "merged they are as kept"
    other = {key: one._replace(sha256="other") if key[2] != "3" else one for key, one in asked.items()}
    found = differences(run([0.5] * 30, asked=asked), run([0.7] * 30, asked=other))
    assert found["test/rouge_l"].n == 1


def test_questions_won_are_counted_by_the_metrics_direction_and_the_profile() -> None:
    missing: dict[str, Any] = {"metric": "truthfulness", "key": "missing"}
    first, second = run([0.0, 1.0, 1.0, None], **missing), run([1.0, 0.0, 0.0, 0.0], **missing)
    place = ("qa_1doc", "test", "truthfulness", "missing")
    assert {key[2]: gain for key, gain in list_gains(first, second, place).items()} == {"0": -1, "1": 1, "2": 1}
    assert list_gains(first, second, place, "corrected")["qa_1doc", "test", "3"] == 0
    assert differences(first, second)["test/missing"].changes == (2, 1, 0)


def test_each_profile_compares_the_questions_that_it_counts() -> None:
    asked: Any = {"asked": ask(100, ["x"]), **HIGH, "corrected": 0.5}
    first, second = run([0.0] * 30 + [1.0] * 70, **asked), fail(run([1.0] * 72 + [None] * 28, **asked))
    both = [differences(first, second, profile=profile)["test/accuracy"] for profile in ("official", "corrected")]
    assert [(one.n, round(100 * (one.delta or 0), 1)) for one in both] == [(72, 41.7), (100, 2.0)]


@pytest.mark.parametrize(("lengths", "values", "key", "times"), CASES["lengths"])
def test_much_longer_answers_are_noted_where_a_metric_rises_with_them(lengths, values, key, times):
    metric = "rgb_accuracy" if key == "accuracy" else "crud_overlap"
    runs = [run([float(value)] * 20, metric=metric, key=key) for value in values]
    for one, length in zip(runs, lengths, strict=True):
        one.texts = {(("qa_1doc", "test", str(n)), 0): "x" * length for n in range(20)}
    runs[1].texts |= dict.fromkeys([*runs[1].texts][:12])  # what failed has no length
    found = notes(*runs).get(NoteCode.LONGER_ANSWERS)
    assert (found and found.params["times"]) == times


def judged(
    value: float, text: str = "A", judge: str | None = "m", service: str | None = None, prompt: str | None = None
) -> Run:
    """A run whose 40 answers all have one value of a judged metric, and of one without a judge."""
    metrics = (run([value] * 40, metric="ragquesteval", key="precision", text=text), run([value] * 40))
    found = together(*metrics)
    judging = {"judges": [{"model": judge, "service": service, "parameters": {}}], "prompt": prompt} if judge else {}
    found.record = replace(found.record, judge=judge, judging=judging)
    return found


HERE, THERE = "http://a/v1", "http://b/v1"


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (judged(0.9, "B"), None),
        (judged(0.9, "B", None), None),
        (judged(0.9, "B", "m2"), Reason.DIFFERENT_JUDGES),
        (judged(0.9, "B", service=THERE), Reason.DIFFERENT_JUDGES),
        (judged(0.9, "B", prompt="12ab"), Reason.DIFFERENT_JUDGES),
        (judged(0.9), Reason.SAME_ANSWERS),
        (judged(0.1), None),
    ],
)
def test_verdicts_that_do_not_tell_which_answers_are_better(second: Run, why: Reason | None) -> None:
    found = differences(judged(0.1, service=HERE), second)
    assert found["test/precision"].reason == why and bool(found["test/precision"].n) == (why is None)
    same = second.items == judged(0.1).items
    assert found["test/rouge_l"].verdict == ("all equal" if same else "better")


def test_what_rests_on_a_phrase_is_not_compared_with_what_a_judge_found() -> None:
    keys = ("error_detection", "error_correction", "error_detection_judged")
    by_judge, by_phrase = (together(*(run([0.5] * 9, metric="error_detection", key=key) for key in keys)) for _ in "ab")
    nothing = {"status": Status.NOT_RUN, "value": None, "interval": None}
    by_phrase.scores = [
        replace(one, **nothing) if one.key.key == keys[2] else one  # no judge was asked
        for one in by_phrase.scores
    ]
    found = differences(by_judge, by_phrase, every=True)
    values = [(one.values, one.n, one.reason) for one in (found[f"test/{key}"] for key in keys[:2])]
    assert values == [((0.5, 0.5), 9, None), ((0.5, None), 0, Reason.ONLY_ONE)]


def test_what_was_discredited_is_marked() -> None:
    one = judged(0.9, "B")
    one.scores = [*map(discredit, one.scores)]
    lines = {line.label: line.cells for line in tabulate_comparison([("A", one), ("B", one)]).rows}
    assert [cell.text for cell in lines["rouge_l"][:2]] == ["90.0!", "90.0!"]


def test_of_three_runs_each_is_compared_with_the_first() -> None:
    poor, good = run([0.2] * 20), run([0.2] * 12 + [0.6] * 8)
    lost = lose(run([0.1] * 20), "test", "rouge_l")
    grid = tabulate_comparison([("poor", poor), ("lost", lost), ("good", good)])
    wanted = [("good", "36.0", "+16.0", "better"), ("lost", "INVALID", "–", "not compared")]
    lines = [(line.label.strip(), *(line.cells[at].text for at in (1, 2, 4))) for line in grid.rows[1:]]
    assert grid.columns[0] == "poor" and lines == wanted


def test_of_several_runs_p_is_adjusted_for_all_and_the_best_stands_first() -> None:
    grades = [[-1] * 20, [1] * 6 + [-1] * 14, [1] * 12 + [-1] * 8]
    grid = tabulate_comparison(list(zip("xyz", map(graded, grades), strict=True)))
    assert [line.label.strip() for line in grid.rows if line.cells[1].text] == ["z", "y"] * 3
    pairs = [one for one in compare(graded(grades[0]), [*map(graded, grades[1:])]).differences if one.run == 2]
    assert len(pairs) == 3 and all(one.p_holm == 2 * one.p for one in pairs)
    few = tabulate_comparison([(values, run(spread(values), **HIGH)) for values in ("0*20", "1*20", "1*4 -*16")])
    assert [note.params["name"] for note in few.notes if note.code is NoteCode.VERDICT] == ["1*20"]
    same = [run([0.5] * 10, text=text) for text in "xyx"]
    assert notes(*same)[NoteCode.SAME_ANSWERS].runs == ("C",)


def test_verdicts_go_by_one_p_adjusted_by_holms_rule() -> None:
    # Of twelve questions nine are won in one split and six in another; elsewhere one is won and one lost.
    won = {"noise_60": 9, "noise_80": 6}  # by mid-p 0.002 and 0.016, times 5 and 4 by Holm
    splits = [f"noise_{noise}" for noise in (0, 20, 40, 60, 80)]
    first = run_splits({one: [0.0 if one in won else float(at == 0) for at in range(12)] for one in splits})
    second = run_splits({one: [float(at < won[one] if one in won else at == 1) for at in range(12)] for one in splits})
    found = {label.split("/")[0]: one for label, one in differences(first, second).items()}
    assert found["all 5 splits"].verdict == "better" and found["all 5 splits"].delta == pytest.approx(0.25)
    decisive = {split: (found[split].verdict, round(found[split].decisive, 3)) for split in won}
    assert decisive == {"noise_60": ("better", 0.01), "noise_80": ("not decided", 0.062)}
    lines = {line.label: line.cells for line in tabulate_comparison([("a", first), ("b", second)]).rows}
    sure = [label for label, each in lines.items() if each[2].figure and each[2].figure.sure]
    assert sure == ["all 5 splits/accuracy", "noise_60/accuracy"]


@pytest.mark.parametrize(("names", "wanted"), CASES["names"])
def test_runs_are_called_by_what_they_do_not_share(names, wanted):
    assert name_runs(names) == wanted


@pytest.mark.parametrize(("runs", "worse", "least", "code", "said"), CASES["gate"])
def test_the_gate(runs: Any, worse: bool, least: Any, code: int, said: Any) -> None:
    made = [run(spread(values or "1*22"), **HIGH) for values in runs]
    made = [one if values else lose(one, "test", "accuracy") for one, values in zip(made, runs, strict=True)]
    for one in made:
        interval = Interval(0.307, 0.693)
        one.scores = [replace(score, interval=interval) if score.value == 0.5 else score for score in one.scores]
    compared = [compare(made[0], made[1:])] if worse else []
    try:
        check_gate(compared, [*"ABC"][: len(made)], [made[-1]], least, "official")
        found, line = 0, ""
    except GateFailed as error:
        found, line = error.code, str(error)
    except QuadragError as error:
        found, line = 2, str(error)
    assert found == code and all(part in line for part in said), line


def test_the_command_line_exits_as_the_gate_says(cli: Any) -> None:
    for name, more in (("a", ()), ("b.html", ("--retriever", "none"))):
        place = ("rgb", "noise_robustness_en", "--split", "noise_0", "--data-dir", "sample")
        assert cli("run", *place, "--out", name, *more).code == 0
    Path("p.html").write_text("")
    worse = cli("report", "a", "b.html", "p.html", "--fail-if", "worse")
    assert worse.code == 4 and "b.html is worse on noise_0/accuracy" in worse.err and worse.err.count("\n") == 1
    assert cli("report", "b.html", "a", "--fail-if", "worse", "--fail-below", "accuracy=0.5").code == 0
    below = cli("report", "b.html", "--json", "--fail-below", "accuracy=0.5")
    assert below.code == 4 and json.loads(below.out) and "below 0.5" in below.err
    for wrong in ("a --fail-if worse", "a --fail-below accuracy", "a --fail-below hal=0.5", "a a/run.json", "p.html"):
        assert cli("report", *wrong.split()).code == 2
    with pytest.raises(GateFailed) as failed:
        quadrag.compare("a", "b.html").check()
    assert failed.value.code == 4 and str(failed.value) in worse.err
