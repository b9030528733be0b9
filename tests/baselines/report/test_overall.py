"""Two runs over all splits of a config together: a question that recurs in each counts once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from quadrag.baselines.core.result import Asked, Result
from quadrag.baselines.report.compared.comparison import compare_runs
from quadrag.baselines.report.plain import describe_results
from quadrag.baselines.report.run import tabulate_scores
from quadrag.baselines.report.summary import pick_headlines, pool_lines, summarise_run
from quadrag.run_record import Inputs, RunRecord

SPLITS = ["noise_0", "noise_20", "noise_40"]


def run(values: Mapping[str, Sequence[float | None]]) -> Result:
    """A run of RGB whose splits hold the same questions, with these values."""
    inputs = Inputs(
        quadrag="0", benchmark="rgb", config="noise_robustness_en", splits=[*values], retriever="bm25", llm="m"
    )
    items, rows, asked = [], [], {}
    for split, here in values.items():
        place = {"benchmark": "rgb", "config": "noise_robustness_en", "split": split}
        for at, value in enumerate(here):
            entry = {"official": value, "corrected": value or 0.0}
            items.append(place | {"id": str(at), "sample": 0, "rgb_accuracy.accuracy": entry})
            asked["noise_robustness_en", split, str(at)] = Asked(f"text {at}")
        rows += [
            place
            | {"slice": "all", "metric": "rgb_accuracy", "key": "accuracy", "profile": profile, "interval": None}
            | {"value": 0.5, "n_total": len(here), "n_scored": len(here), "unscored": {}, "signature": "s"}
            for profile in ("official", "corrected")
        ]
    return Result(RunRecord(inputs), rows, items, asked=asked)


def test_the_same_in_every_split_is_as_sure_as_in_one() -> None:
    first, second = [0.0] * 10, [1.0] * 6 + [0.0] * 4
    grid = compare_runs([("A", run(dict.fromkeys(SPLITS, first))), ("B", run(dict.fromkeys(SPLITS, second)))])
    overall, one, *_ = grid.lines
    assert overall.label == "noise_robustness_en: all 3 splits/accuracy"
    assert [cell.text for cell in overall.cells] == ["0.0", "60.0", "+60.0", "better"]
    assert overall.cells[2].figure and one.cells[2].figure and overall.cells[2].figure.n == 10
    assert overall.cells[2].figure.interval == one.cells[2].figure.interval
    assert grid.notes[0].startswith("B is better on accuracy: +60.0 points over all 3 splits (95% ")
    assert overall.cells[3].sub == "p 0.016"


def test_the_same_on_every_question_is_as_unsure_over_all_as_in_one() -> None:
    uneven = {split: [float(at % 3 == place) for at in range(12)] for place, split in enumerate(SPLITS)}
    overall, one, *_ = compare_runs([("A", run(uneven)), ("B", run(uneven))]).lines
    assert [cell.text for cell in overall.cells] == ["33.3", "33.3", "0.0", "all equal"]
    assert overall.cells[2].sub == one.cells[2].sub != "0.0 to 0.0"


def test_a_part_of_all_splits_that_is_gained_by_every_question_is_no_certainty() -> None:
    """Wilson of 10 of 10 leaves 3.841459 / 13.841459 = 0.277533 open; these may gain nothing, or the whole."""
    none, one = dict.fromkeys(SPLITS, [0.0] * 10), dict.fromkeys(SPLITS[:2], [0.0] * 10) | {SPLITS[2]: [1.0] * 10}
    overall = compare_runs([("A", run(none)), ("B", run(one))]).lines[0].cells[2].figure
    assert overall and overall.interval == pytest.approx((72.2467 / 3, 72.2467 / 3 + 27.7533), abs=1e-3)


def test_gains_that_no_split_decides_are_decided_by_all_and_what_one_run_lacks_is_left_out() -> None:
    low = {split: [0.0] * 12 for split in SPLITS}
    high = {split: [float(at % 3 == place) for at in range(12)] for place, split in enumerate(SPLITS)}
    grid = compare_runs([("A", run(low)), ("B", run(high))])
    assert [line.cells[-1].text for line in grid.lines] == ["better", *["not decided"] * 3]
    lacking: dict[str, Sequence[float | None]] = {**low, "noise_0": [None, *low["noise_0"][1:]]}
    (overall, *_) = compare_runs([("A", run(lacking)), ("B", run(high))]).lines
    assert overall.cells[2].figure and overall.cells[2].figure.value == pytest.approx(100 * (11 / 3 + 0) / 12)


def test_one_split_and_splits_that_only_one_run_has_have_no_row_over_all() -> None:
    all_, one = {split: [0.0, 1.0] * 4 for split in SPLITS}, {"noise_0": [0.0, 1.0] * 4}
    for first, second in ((one, one), (all_, one)):
        grid = compare_runs([("A", run(first)), ("B", run(second))])
        assert not any(" all " in line.label for line in grid.lines)


def test_one_run_has_the_same_row_over_all_splits() -> None:
    low = {split: [float(at % 3 == place) for at in range(12)] for place, split in enumerate(SPLITS)}
    lacking = {**low, "noise_0": [None, *low["noise_0"][1:]]}
    (overall, *_) = compare_runs([("A", run(lacking)), ("B", run(lacking))]).lines
    first, *others = summarise_run(run(lacking), "official").lines
    assert [line.label.partition("/")[0] for line in (first, *others)] == ["all 3 splits", *SPLITS]
    assert first.cells[0].text == overall.cells[0].text and first.cells[2].text == "12 of 12"
    assert summarise_run(run(low), "official").lines[0].cells[2].text == "12 × 3 splits", "where none failed"
    one = run({"noise_0": [0.0, 1.0] * 4})
    assert pool_lines(one, pick_headlines(one.scores, "official"), "official") == []


def test_all_tables_and_files_for_programs_hold_the_row_over_all_splits() -> None:
    one = run({split: [float(at % 3 == place) for at in range(12)] for place, split in enumerate(SPLITS)})
    whole = summarise_run(one, "official").lines[0].cells[0].text
    assert whole == "33.3"
    (grid,) = tabulate_scores(one, ["official", "corrected"])
    assert grid.columns == ["all 3 splits", *SPLITS] and grid.lines[0].cells[0].text == whole
    rows = describe_results([one], ["official", "corrected"], None)["rows"]
    pooled = [row for row in rows if row["split"] == "all 3 splits"]
    assert [row["profile"] for row in pooled] == ["official", "corrected"]
    assert all(row["value"] == pytest.approx(1 / 3) and row["n"] == row["n_total"] == 12 for row in pooled)
