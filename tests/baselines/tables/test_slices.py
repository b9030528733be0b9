"""The table of slices: what stands in it, and what stands elsewhere."""

from typing import Any

from quadrag.baselines.results.score import Score
from quadrag.baselines.scoring.rows import slices_of
from quadrag.baselines.tables.slices import select_whole, slice_grids
from quadrag.records import Question


def score(place: str | None, key: str = "accuracy", value: float = 0.5, n: int = 3, **more: Any) -> Score:
    row = {"config": "c", "split": "test", "metric": "truthfulness", "key": key, "profile": "official", "value": value}
    row |= {"interval": [value, value], "n_total": n, "n_scored": n, "n_not_applicable": 0, "unscored": {}}
    return Score.from_row({"benchmark": "crag", "slice": place or "all", "signature": "s"} | row | more)


def test_the_groups_of_a_grouping_stand_together_with_their_sizes():
    scores = [score("all", n=9), score("domain=open", n=5), score("domain=music", n=4)]
    scores += [score("question_type=set", n=8), score("language=en", n=9)]
    (grid,) = slice_grids(scores, "run", "official")
    assert grid.title == "run, test: slices" and grid.columns == ["n", "accuracy"]
    assert [(line.label, line.cells[0].text, line.rule) for line in grid.lines] == [
        ("domain", "", False),
        (" open", "5", False),
        (" music", "4", False),
        ("question type", "", True),
        (" set", "8", False),
    ], "the one language is the whole again"
    assert [cell.text for cell in grid.lines[1].cells] == ["5", "50.0"]
    assert [line.cells[1].sub for line in grid.lines[1:3]] == ["50.0–50.0", ""], "none under five items"


def test_cells_and_means_over_groups_stand_in_a_matrix_instead():
    scores = [score("all", n=9), score("cell=banking/retail/contrast_qa"), score("macro:topic", n_groups=2)]
    assert slice_grids(scores, "run", "official") == []
    (grid,) = slice_grids([*scores, score("topic=banking/retail")], "run", "official")
    assert [line.label for line in grid.lines] == ["topic", " banking/retail"]


def test_what_was_not_run_has_no_column_and_nothing_run_no_table():
    lacking = score("domain=open", key="truthfulness", not_run="no judge")
    (grid,) = slice_grids([score("domain=open"), lacking], "run", "official")
    assert grid.columns == ["n", "accuracy"]
    assert slice_grids([lacking], "run", "official") == []
    assert slice_grids([score("domain=open")], "run", "corrected") == []


def test_lengths_are_named_beside_percent():
    (grid,) = slice_grids([score("domain=open")], "run", "official")
    assert "keys" not in grid.notes[0].params
    length = score("domain=open", key="length", value=40.0, metric="crud_overlap")
    (grid,) = slice_grids([score("domain=open"), length], "run", "official")
    assert grid.notes[0].params["keys"] == ["length"]


def test_each_split_has_a_table_of_its_own():
    grids = slice_grids([score("a=b"), score("a=b", split="public")], "run", "official")
    assert [grid.title for grid in grids] == ["run, test: slices", "run, public: slices"]


def test_rows_without_a_slice_are_over_all_items():
    """As in scores.json of runs made before there were slices."""
    old, new, part = score(None), score("all"), score("domain=open")
    assert select_whole([old, new, part, score("macro:topic")]) == [old, new]


def asked(**slices: str) -> Question:
    return Question("b", "c", "test", str(slices), "q", None, "en", slices=slices)


def test_a_question_is_in_one_slice_of_every_grouping_in_the_order_of_the_groupings():
    found = slices_of([asked(topic="b", task="y"), asked(topic="a", task="y"), asked(topic="b", task="x")])
    assert found == {"all": [0, 1, 2], "topic=a": [1], "topic=b": [0, 2], "task=x": [2], "task=y": [0, 1]}
    assert list(found) == ["all", "topic=a", "topic=b", "task=x", "task=y"]
    assert slices_of([]) == {"all": []} and slices_of([asked()]) == {"all": [0]}
