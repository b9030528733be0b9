"""Runs compared: differences, p and verdicts as one works them out by hand, and when there are none."""

import copy
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compared_runs import RGB_SPLITS, ROUGE, ask, fail, graded, lose, run, run_splits, together

import quadrag
from quadrag.baselines.judges.certificate import discredit
from quadrag.baselines.report.compared.comparison import (
    compare_two,
    tabulate_changes,
    tabulate_several,
)
from quadrag.baselines.report.compared.merged import merge_runs
from quadrag.baselines.report.compared.names import name_columns, tell_apart
from quadrag.baselines.report.compared.pairs import compare_each, doubt_verdicts, list_differences, pair_results
from quadrag.baselines.report.compared.said import write_pair
from quadrag.baselines.results.run import Result
from quadrag.baselines.runs.finished import read_runs
from quadrag.baselines.tables.grid import Alarm, Cell
from quadrag.stats import Interval, Pair

JUDGED = "ragquesteval.precision"
HIGH = {"metric": "rgb_accuracy", "key": "accuracy"}


def cells(first: Result, second: Result, **more: Any) -> dict[str, list[Cell]]:
    """The cells of a comparison of two runs, by the label of each line less its config."""
    return {one.label.partition(": ")[2]: one.cells for one in compare_two([("A", first), ("B", second)], **more).lines}


def texts(of: Mapping[str, Sequence[Cell]]) -> dict[str, list[str]]:
    return {label: [cell.text for cell in each] for label, each in of.items()}


def alarms(first: Result, second: Result) -> list[str]:
    return [note for note in compare_two([("A", first), ("B", second)]).notes if isinstance(note, Alarm)]


def test_the_paired_difference_worked_by_hand() -> None:
    first, second = run([1.0, 0.0, 0.0, 0.0] * 2, **HIGH), run([1.0, 1.0, 1.0, 0.0] * 2, **HIGH)
    found = cells(first, second)["test/accuracy"]
    # Four of eight questions gained 1: by chance in 1 of 8 cases, or 1 of 16 by mid-p. Bonett and Price: 5 and 1 of 10.
    assert [cell.text for cell in found] == ["25.0", "75.0", "+50.0", "not decided"] and found[3].sub == "p 0.062"
    error = ((5 / 10 + 1 / 10 - (4 / 10) ** 2) / 10) ** 0.5
    low, high = (f"{100 * (4 / 10 + side * 1.96 * error):.1f}" for side in (-1, 1))
    assert found[2].sub == f"{low} to {high}" == "-1.1 to 81.1"
    assert [cell.sub for cell in cells(first, second, counted=True)["test/accuracy"][:2]] == ["0 better", "4 better"]


@pytest.mark.parametrize(
    ("first", "second", "metric", "key", "told"),
    [
        ([0.0] * 20 + [1.0] * 2, [1.0] * 22, "rgb_accuracy", "accuracy", ["+90.9", "better"]),
        ([1.0] * 22, [0.0] * 20 + [1.0] * 2, "rgb_accuracy", "accuracy", ["-90.9", "worse"]),
        ([1.0] * 22, [1.0] * 22, "rgb_accuracy", "accuracy", ["0.0", "all equal"]),
        ([0.0] * 22, [1.0] * 22, "omnieval", "hal", ["+100.0", "worse"]),  # less is better
        ([4.0] * 22, [9.0] * 22, "crud_overlap", "length", ["+5.0", "–"]),  # neither end is
        ([0.0] * 4, [1.0] * 4, "rgb_accuracy", "accuracy", ["+100.0", "too few questions"]),
        ([0.0] * 6, [1.0] * 4 + [0.0] * 2, "rgb_accuracy", "accuracy", ["+66.7", "not decided"]),  # though 1.0 to 99.0
        ([0.0] * 12 + [1.0] * 4 + [0.0] * 30, [1.0] * 12 + [0.0] * 34, "rgb_accuracy", "accuracy", ["+17.4", "better"]),
        ([0.5] * 10, [0.5] * 8, "crud_overlap", "rouge_l", ["–", "–"]),  # other questions
        ([None] * 9 + [0.5], [0.5] * 9 + [None], "crud_overlap", "rouge_l", ["–", "–"]),  # none scored in both
    ],
)
def test_each_verdict(first: Any, second: Any, metric: str, key: str, told: list[str]) -> None:
    found = texts(cells(*(run(values, metric=metric, key=key) for values in (first, second))))
    assert found[f"test/{key}"][2:] == told


@pytest.mark.parametrize(
    ("p", "p_holm", "told"),
    [
        (0.008, 0.07, "p 0.008, by Holm 0.070: not decided"),
        (0.00001, 0.0001, "p < 0.001: worse"),
        (0.0001, 0.002, "p < 0.001, by Holm 0.002: worse"),
        (0.2, None, "p 0.200: not decided"),
    ],
)
def test_the_line_of_a_difference_has_both_p(p: float, p_holm: float, told: str) -> None:
    pair = Pair(-0.746, Interval(-0.875, -0.453), 8, p, "flips", 0.2, p_holm)
    assert write_pair(ROUGE, pair) == f"rouge_l -74.6 points (95% -87.5 to -45.3), n 8, {told}"


def test_holms_rule_counts_what_mirrors_once_and_neither_ties_nor_lengths() -> None:
    wrong = [-1] * 20

    def families(first: Result, *others: Result) -> set[tuple[int, float]]:
        places = [("qa_1doc", "test", "truthfulness", key) for key in ("accuracy", "hallucination", "truthfulness")]
        compared = compare_each(first, others, places)
        return {(one.family, round(one.pair.decisive / one.pair.p)) for each in compared for one in each.values()}

    assert families(graded(wrong), graded([1] * 6 + wrong[6:])) == {(1, 1)}, "one question asked thrice"
    assert {family for family, _ in families(graded(wrong), graded([1] * 6 + [0] * 6 + wrong[12:]))} == {3}
    assert families(graded(wrong), graded([1] * 6 + wrong[6:]), graded([-1] * 13 + [1] * 7)) == {(2, 2), (2, 1)}
    low = np.linspace(0.1, 0.6, 40)
    both = [together(run(low + gain), run(gain * (100 + np.arange(40)), key="length")) for gain in (0.0, 0.1)]
    found = cells(*both)
    assert {label: each[2:] for label, each in texts(found).items()} == {
        "test/rouge_l": ["+10.0", "better"],
        "test/length": ["+11.9", "–"],
    }
    assert [label for label, one in found.items() if one[2].figure] == ["test/rouge_l"], "alone in a chart"


def test_p_of_one_headline_is_raised_by_another() -> None:
    rng = np.random.RandomState(3)
    base = rng.random_sample(60)
    noise = rng.normal(0, 1, 60)
    shift = noise - noise.mean() + 2.1 / 60**0.5 * noise.std()
    alone = pair_results(run(base), run(base + shift), ROUGE)
    assert alone is not None and 0.025 < alone.p < 0.05
    assert texts(cells(run(base), run(base + shift)))["test/rouge_l"][3] == "better"
    both = [together(run(values), run(values[::-1], key="bleu")) for values in (base, base + shift)]
    both[1].items[0]["crud_overlap.bleu"] = {"official": 0.1, "corrected": 0.1}
    assert texts(cells(*both))["test/rouge_l"][3] == "not decided"


def test_over_all_splits_a_question_counts_once() -> None:
    first, second = [0.0] * 10, [1.0] * 6 + [0.0] * 4
    found = cells(run_splits(dict.fromkeys(RGB_SPLITS, first)), run_splits(dict.fromkeys(RGB_SPLITS, second)))
    overall, one = found["all 3 splits/accuracy"], found["noise_0/accuracy"]
    assert [cell.text for cell in overall] == ["0.0", "60.0", "+60.0", "better"] and overall[3].sub == "p 0.016"
    assert overall[2].figure and one[2].figure and overall[2].figure.n == 10
    assert overall[2].figure.interval == one[2].figure.interval, "as sure as in one"
    low = {split: [0.0] * 12 for split in RGB_SPLITS}
    high = {split: [float(at % 3 == place) for at in range(12)] for place, split in enumerate(RGB_SPLITS)}
    verdicts = [each[3] for each in texts(cells(run_splits(low), run_splits(high))).values()]
    assert verdicts == ["better", *["not decided"] * 3], "decided by all together"
    lacking = run_splits({**low, "noise_0": [None, *low["noise_0"][1:]]})
    figure = cells(lacking, run_splits(high))["all 3 splits/accuracy"][2].figure
    assert figure and figure.value == pytest.approx(100 * (11 / 3 + 0) / 12)
    alone = {"noise_0": [0.0, 1.0] * 4}
    assert not any("all " in label for label in cells(run_splits(alone), run_splits(alone)))


def test_the_same_gain_on_every_question_has_a_width() -> None:
    """Wilson of 10 of 10 leaves 3.841459 / 13.841459 = 0.277533 open; these may gain nothing, or the whole."""
    none = dict.fromkeys(RGB_SPLITS, [0.0] * 10)
    figure = cells(run_splits(none), run_splits(none | {"noise_40": [1.0] * 10}))["all 3 splits/accuracy"][2].figure
    assert figure and figure.interval == pytest.approx((72.2467 / 3, 72.2467 / 3 + 27.7533), abs=1e-3)


def test_a_mean_over_groups_and_a_weighted_one_are_paired_as_such() -> None:
    rng = np.random.RandomState(2)
    asked = ask(60, ["finance", "music", "music"], {"finance": 3.0, "music": 1.0})
    first = rng.random_sample(60)
    second = first + np.where(np.arange(60) % 3 == 0, 0.3, -0.1) + rng.normal(0, 0.01, 60)
    gaps = [(second - first)[np.arange(60) % 3 == 0].mean(), (second - first)[np.arange(60) % 3 != 0].mean()]
    runs = run(first, asked=asked), run(second, asked=asked)
    macro = pair_results(*runs, ROUGE, grouping="domain")
    assert macro is not None and macro.difference == pytest.approx(sum(gaps) / 2)
    assert texts(cells(*runs, every=True))["test/rouge_l, macro over domain"][2] == f"{50 * sum(gaps):+.1f}"
    assert [*cells(*runs)] == ["test/rouge_l"]
    accuracy: dict[str, Any] = {"metric": "truthfulness", "key": "accuracy", "asked": asked}
    place = ("qa_1doc", "test", "truthfulness", "accuracy_weighted")
    weighted = pair_results(run(first, **accuracy), run(second, **accuracy), place)
    assert weighted is not None and weighted.difference == pytest.approx((3 * gaps[0] + gaps[1]) / 4)
    accuracy["asked"] = ask(60, ["finance"])
    assert pair_results(run(first, **accuracy), run(second, **accuracy), place) is None, "without strata none"


def test_questions_that_hang_together_are_swapped_together_and_other_gold_is_no_pair() -> None:
    asked = ask(30, ["x"])
    tied = {key: one._replace(unit=str(int(key[2]) // 10)) for key, one in asked.items()}
    first, second = [0.0] * 30, [1.0] * 30
    apart, bound = (pair_results(run(first, asked=one), run(second, asked=one), ROUGE) for one in (asked, tied))
    assert apart is not None and apart.p < 1e-6 and bound is not None and bound.p == 0.25
    merged = [merge_runs([run(values, asked=tied)]) for values in (first, second)]
    assert pair_results(*merged, ROUGE) == bound, "what is kept of questions outlives the merging"
    other = {key: one._replace(sha256="other") if key[2] != "3" else one for key, one in asked.items()}
    pair = pair_results(run([0.5] * 30, asked=asked), run([0.7] * 30, asked=other), ROUGE)
    assert pair is not None and pair.n == 1


def test_questions_won_are_counted_by_the_metrics_direction_and_the_profile() -> None:
    missing: dict[str, Any] = {"metric": "truthfulness", "key": "missing"}
    first, second = run([0.0, 1.0, 1.0, None], **missing), run([1.0, 0.0, 0.0, 0.0], **missing)
    place = ("qa_1doc", "test", "truthfulness", "missing")
    assert {key[2]: gain for key, gain in list_differences(first, second, place).items()} == {"0": -1, "1": 1, "2": 1}
    assert list_differences(first, second, place, "corrected")["qa_1doc", "test", "3"] == 0


def test_what_failed_is_counted_and_a_profile_that_decides_otherwise_is_an_alarm() -> None:
    asked: Any = {"asked": ask(100, ["x"]), **HIGH, "corrected": 0.5}
    first, second = run([0.0] * 30 + [1.0] * 70, **asked), fail(run([1.0] * 72 + [None] * 28, **asked))
    place = ("qa_1doc", "test", "rgb_accuracy", "accuracy")
    ((official,),) = (one.values() for one in compare_each(first, [second], [place]))
    assert (official.pair.n, official.asked, official.failed) == (72, 100, (0, 28)) and official.other
    assert [round(100 * one.difference, 1) for one in (official.pair, official.other)] == [41.7, 2.0]
    (told,) = [note for note in alarms(first, second) if "other profile" in note]
    assert "corrected" in told and "Not decided" in told and "+2.0" in told
    assert not any("other profile" in note for note in alarms(first, run([1.0] * 100, **asked))), "both decide"


@pytest.mark.parametrize(
    ("lengths", "values", "key", "times"),
    [
        ((5, 24), (0.0, 1.0), "accuracy", "4.8 times"),
        ((24, 5), (1.0, 0.0), "accuracy", "4.8 times"),
        ((24, 5), (0.0, 1.0), "accuracy", None),  # the shorter ones are better
        ((10, 15), (0.0, 1.0), "accuracy", None),
        ((0, 20), (0.0, 1.0), "accuracy", None),  # empty answers are told of by themselves
        ((5, 24), (0.0, 1.0), "rouge_l", None),
    ],
)
def test_much_longer_answers_are_told_of_where_a_metric_rises_with_them(lengths, values, key, times):
    metric = "rgb_accuracy" if key == "accuracy" else "crud_overlap"
    runs = [run([value] * 20, metric=metric, key=key) for value in values]
    for one, length in zip(runs, lengths, strict=True):
        one.texts = {(("qa_1doc", "test", str(n)), 0): "x" * length for n in range(20)}
    runs[1].texts |= dict.fromkeys([*runs[1].texts][:12])  # what failed has no length
    found = [note for note in alarms(*runs) if "times as long" in note]
    assert len(found) == bool(times) and all(times in note for note in found)


def judged(
    value: float, text: str = "A", judge: str | None = "m", service: str | None = None, prompt: str | None = None
) -> Result:
    """A run whose 40 answers all have one value of a judged metric, and of one without a judge."""
    metrics = (run([value] * 40, metric="ragquesteval", key="precision", text=text), run([value] * 40))
    found = together(*metrics)
    judging = {"judges": [{"model": judge, "service": service, "parameters": {}}], "prompt": prompt} if judge else {}
    found.run = replace(found.run, judge=judge, judging=judging)
    return found


HERE, THERE = "http://a/v1", "http://b/v1"


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (judged(0.9, "B"), ""),
        (judged(0.9, "B", None), ""),
        (judged(0.9, "B", "m2"), "the judges are not the same"),
        (judged(0.9, "B", service=THERE), "the judges are not the same"),
        (judged(0.9, "B", prompt="12ab"), "the judges are not the same"),
        (judged(0.9), "the answers are the same; only the verdicts differ"),
        (judged(0.1), ""),
    ],
)
def test_verdicts_that_do_not_tell_which_answers_are_better(second: Result, why: str) -> None:
    first = judged(0.1, service=HERE)
    assert doubt_verdicts(first, second, JUDGED) == why and doubt_verdicts(first, second, "crud_overlap.rouge_l") == ""
    found = texts(cells(first, second))
    assert (found["test/RAGQuestEval precision"][2] == "–") == bool(why)
    assert found["test/rouge_l"][2:] == (["0.0", "all equal"] if second.items == first.items else ["+80.0", "better"])


def odd(code: str, key: str) -> dict[str, Any]:
    params = {"judge": "j", "count": 40, "few": False, "verdicts": {key: 1.0}, "keys": [key]}
    return {"code": code, "params": params | {"score": key, "doubt": "refused", "verdict": 0.0, "n": 39, "of": 40}}


def test_a_judge_that_says_one_thing_or_errs_tells_nothing() -> None:
    constant, other = judged(0.9, "B"), judged(0.1)
    constant.run.notes = [odd("judge_constant", JUDGED)]
    assert doubt_verdicts(other, constant, JUDGED) == "the judge says the same of every answer"
    assert doubt_verdicts(constant, constant, JUDGED).startswith("the judge of each")
    other.items[0][JUDGED] = {"official": 0.9}
    assert doubt_verdicts(other, constant, JUDGED) == "", "a judge that says more than one thing may be right each time"
    other.items[0][JUDGED]["ruled"] = ["official"]
    assert doubt_verdicts(other, constant, JUDGED) != "", "a rule said so"
    constant.run.notes = [odd("judge_constant", "error_detection.error_detection_judged")]
    assert doubt_verdicts(constant, constant, "error_detection.error_correction"), "what there is to correct it said"
    assert doubt_verdicts(constant, constant, "error_detection.error_detection") == "", "that is by a phrase"
    doubtful = judged(0.9, "C")
    doubtful.run.notes = [odd("judge_doubtful", JUDGED)]
    assert doubt_verdicts(judged(0.1), doubtful, JUDGED) == "a judge's verdicts are far from what words say"


def test_what_was_discredited_is_marked() -> None:
    one = judged(0.9, "B")
    one.scores = [*map(discredit, one.scores)]
    assert texts(cells(one, one))["test/rouge_l"][:2] == ["90.0!", "90.0!"]


def test_python_says_why_a_metric_is_not_compared_and_no_door_names_a_winner(cli: Any, tmp_path: Path) -> None:
    from chat_server import ChatServer

    folders = []
    for name, model, share in (("a", "m1", 1), ("b", "m9", 9)):

        def say(body: Any, share: int = share) -> str:
            return f'{{"score": {int(zlib.crc32(str(body["messages"]).encode()) % 10 < share)}}}'

        with ChatServer(models=[model], text=say) as server:
            given = {"judge": f"{server.url}#{model}", "out": name, "ledger": "L", "data_dir": "sample", "name": name}
            quadrag.evaluate("crag", "task_1_2", lambda one, name=name: f"{name} {one.id}", **given)
        folders.append(name)
    with pytest.raises(KeyError, match="the judges are not the same"):
        quadrag.compare(*folders)["truthfulness"]
    for shown in (repr(quadrag.compare(*folders)), cli("report", *folders).out):
        assert "m1; m9" in shown and "b is better" not in shown
    page = quadrag.compare(*folders).report(tmp_path / "p.html").read_text(encoding="utf-8")
    assert page.index("m1; m9") < page.index("<table") and "is better on" not in page


def test_of_three_runs_each_is_compared_with_the_first_that_has_a_value() -> None:
    poor, good = run([0.2] * 20), run([0.2] * 12 + [0.6] * 8)
    lost = lose(run([0.1] * 20), "test", "rouge_l")
    runs = [("lost", lost), ("poor", poor), ("good", good)]
    (grid,) = tabulate_several(runs, every=False)
    assert grid.title.startswith("Differences from poor, ") and "p" in grid.columns
    told = [("good", "+16.0", "better"), ("poor", "–", "–"), ("lost", "–", "INVALID")]
    assert [(line.label, line.cells[1].text, line.cells[-1].text) for line in grid.lines] == told
    values, differences = tabulate_several(runs)
    assert len(values.columns) == len(values.lines[0].cells) == 3
    assert [line.cells[0].text for line in differences.lines] == ["good"]


def test_of_several_runs_p_is_adjusted_for_all_and_other_metrics_are_marked() -> None:
    grades = [[-1] * 20, [1] * 6 + [-1] * 14, [1] * 12 + [-1] * 8]
    runs = list(zip("xyz", map(graded, grades), strict=True))
    grid, values = tabulate_several(runs, every=False)
    assert [line.label for line in grid.lines] == [line.label for line in values.lines] == ["z", "y", "x"]
    assert grid.columns[-2] == "p (Holm)" and values.columns == ["hallucination", "truthfulness"]
    assert [[cell.text for cell in line.cells] for line in values.lines] == [
        ["40.0↑", "20.0↑"],
        ["70.0↑", "-40.0↑"],
        ["100.0", "-100.0"],
    ]
    same = [(name, run([0.5] * 10, text=text)) for name, text in zip("abc", "xyy", strict=True)]
    told = [note for note in tabulate_several(same, every=False)[0].notes if "same texts" in str(note)]
    assert [note.split(":")[0] for note in told] == ["b, c"]


@pytest.fixture(scope="module")
def omnieval(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    """Two runs of OmniEval's sample, the second of which is shown one passage."""
    from quadrag.cli import main

    root = tmp_path_factory.mktemp("runs")
    asked = ("run", "omnieval", "all", "--data-dir", "sample", "--limit", "60")
    for name, more in (("a", ()), ("b", ("--top-k", "1"))):
        assert main([*asked, *more, "--out", str(root / name)]) == 0
    return [parts[0] for _, parts in read_runs([root / "a", root / "b"])]


def test_the_difference_of_two_matrices_is_that_of_their_cells(omnieval: list[Result]) -> None:
    changes = tabulate_changes(list(zip("ab", omnieval, strict=True)))
    assert [grid.title.partition(": ")[2].split()[0] for grid in changes] == ["rouge_l", "f1", "em", "map", "mrr"]
    change = next(grid for grid in changes if "map by" in grid.title)
    rows = [{(row.slice, row.key.key): row for row in one.scores if row.profile == "official"} for one in omnieval]
    before, after = (found["topic=banking/retail", "map"].value for found in rows)
    cell = next(line for line in change.lines if line.label == " retail").cells[-1]
    assert cell.figure and cell.figure.value == pytest.approx(100 * (after - before)) != 0
    assert cell.text == f"{100 * (after - before):+.1f}" and change.form == "change"


def test_the_table_goes_by_one_p_adjusted_by_holms_rule() -> None:
    # Of twelve questions nine are won in one split and six in another; elsewhere one is won and one lost.
    won = {"noise_60": 9, "noise_80": 6}  # by mid-p 0.002 and 0.016, times 5 and 4 by Holm
    splits = [f"noise_{noise}" for noise in (0, 20, 40, 60, 80)]
    first = run_splits({one: [0.0 if one in won else float(at == 0) for at in range(12)] for one in splits})
    second = run_splits({one: [float(at < won[one] if one in won else at == 1) for at in range(12)] for one in splits})
    found = cells(first, second)
    told = {label.split("/")[0]: (each[3].text, each[3].sub) for label, each in found.items()}
    assert told["all 5 splits"][0] == "better" and found["all 5 splits/accuracy"][2].text == "+25.0"
    assert told["noise_60"] == ("better", "Holm 0.010") and told["noise_80"] == ("not decided", "Holm 0.062")
    assert [label for label, each in found.items() if each[2].figure and each[2].figure.sure][1:] == [
        "noise_60/accuracy"
    ]


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (("runs/a", "runs/b/"), ["a", "b"]),
        (("answers/no_instruction/gemma.jsonl", "answers/run_1/gemma.jsonl"), ["no_instruction", "run_1"]),
        (("runs/rgb-noise_robustness_en-v1", "runs/rgb-noise_robustness_en-v2"), ["v1", "v2"]),
        (("run-1", "run-2"), ["run-1", "run-2"]),
        (("rgb-noise_robustness_en-1", "rgb-noise_robustness_en-2"), ["1", "2"]),
        (("x/a/m", "x/b/m", "x/b/n"), ["a/m", "b/m", "b/n"]),
        (("a", "runs/a"), ["a", "runs/a"]),
        (("a-short-one", "of_two_words_that_are_long-one"), ["a-short", "…words_that_are_long"]),
        (
            ("x/bert_run_1/openai_oss-20b.jsonl", "x/bert_run_2/openai_oss-20b.jsonl", "x/none/qwen.jsonl"),
            ["…run_1/openai_oss-20b", "…run_2/openai_oss-20b", "none/qwen"],
        ),
    ],
)
def test_runs_are_called_by_what_they_do_not_share(names, wanted):
    assert tell_apart(names) == wanted == name_columns(names)


def test_names_that_are_alike_where_they_are_cut_stand_whole():
    names = ["one-" + "x" * 30, "two-" + "x" * 30]
    assert name_columns(["a", copy.copy("a")]) == ["a", "a"] and len({*name_columns(names)}) == 2
