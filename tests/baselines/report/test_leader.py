"""Three runs at a glance: the one that leads, and what is decided against it."""

from __future__ import annotations

import copy

import pytest

from quadrag.baselines.charts.bar import draw_bars
from quadrag.baselines.page.page import write_page
from quadrag.baselines.report.compared.glance.leader import glance_several
from quadrag.baselines.runs.finished import read_runs
from quadrag.baselines.tables.grid import Verdict

METRIC = "rgb_accuracy.accuracy"


@pytest.fixture
def make(cli):
    """A function that makes named runs of RGB's sample, each with so many of twelve questions right in every split."""
    assert cli("run", "rgb", "noise_robustness_en", "--data-dir", "sample", "--out", "r").code == 0
    [(_, [result])] = read_runs(["r"])

    def runs(**right):
        made = []
        for name, count in right.items():
            one = copy.deepcopy(result)
            ids = list(dict.fromkeys(line["id"] for line in one.items))
            for line in one.items:
                value = float(ids.index(line["id"]) < count)
                line[METRIC] = {"official": value, "corrected": value}
            made.append((f"runs/{name}", one))
        return made

    return runs


def told(grid):
    return [note for note in grid.notes if isinstance(note, Verdict)]


def test_the_best_run_stands_first_and_p_counts_every_pair_of_runs(make):
    grid = glance_several(make(one=0, two=7, three=12))
    assert [line.label for line in grid.lines] == ["three", "two", "one"]
    assert [line.cells[0].text for line in grid.lines] == ["100.0", "58.3", "0.0"]
    # By mid-p five questions lost have 0.031, which times three pairs of runs decides nothing.
    assert [line.cells[3].text for line in grid.lines] == ["leads", "not decided", "worse than three"]
    assert told(grid) == [
        "three leads on accuracy with 100.0 over all 5 splits: better than one (p 0.001); not decided against two."
    ]
    looked = "For the run that leads, picked by its value, p is multiplied by 3, the number of pairs of runs: it is "
    assert grid.notes[-1] == f"Better or worse: p below 0.05. {looked}another p than that of a table."
    assert [bar.count("<circle") for bar in draw_bars(grid)] == [1, 1, 1]


def test_nobody_is_called_the_best_by_chance_alone_and_one_who_is_better_than_all_is(make):
    [chance] = told(glance_several(make(a=5, b=6, c=6)))
    assert chance == (
        "Not decided which run is best: b and c lead on accuracy with 50.0 over all 5 splits; not decided against a."
    )
    [best] = told(glance_several(make(a=12, b=0, c=1)))
    assert best == "a is best on accuracy with 100.0 over all 5 splits: better than b, c (p 0.001 at most)."


def test_runs_that_differ_in_nothing_have_no_leader(make):
    grid = glance_several(make(a=5, b=5, c=5))
    assert told(grid) == ["No run is better on accuracy with 41.7 over all 5 splits: equal on all questions."]
    assert not any("For the run that leads" in note for note in grid.notes)


def test_a_later_metric_by_which_runs_differ_says_which_leads(cli):
    assert cli("run", "rgb", "counterfactual_robustness_en", "--data-dir", "sample", "--out", "r").code == 0
    [(_, [result])] = read_runs(["r"])
    runs = [(f"runs/{name}", copy.deepcopy(result)) for name in "abc"]
    for line in runs[1][1].items:
        line["error_detection.error_detection"] = {"official": 1.0, "corrected": 1.0}
    for row in runs[1][1].scores:
        row |= {"value": 1.0} if row["key"] == "error_detection" else {}
    [best] = told(glance_several(runs))
    assert best.startswith("b is best on error_detection with")


def test_runs_that_have_no_valid_metric_in_common_have_no_leader(make):
    runs = make(a=1, b=2, c=3)
    for _, one in runs:
        for row in one.scores:
            row |= {"invalid": True, "value": None}
    assert glance_several(runs) is None


def test_an_invalid_run_is_called_so_in_its_row_and_spares_the_title(make, tmp_path):
    runs = make(a=1, b=12, broken=3)
    broken = runs[2][1]
    broken.run.invalid = ["noise_robustness_en noise_0: 9 of 12 items failed: accuracy"]
    for row in broken.scores:
        row |= {"invalid": True, "value": None}
    assert [(line.label, line.cells[0].text) for line in glance_several(runs).lines][-1] == ("broken", "INVALID")
    pages = []
    for shown in (runs, [("broken", broken)]):
        write_page(tmp_path / "page.html", [(name, [one]) for name, one in shown], [])
        pages.append((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert ["<title>INVALID: " in page for page in pages] == [False, True]
    assert ['class="alarm loud"' in page for page in pages] == [False, True]
