"""Lines of a table: our values with bounds, counts and the other profile; printed ones with doubt; units by metric."""

import io
from typing import Any

import pytest
from rich.cells import cell_len
from specs import record_of

from quadrag.reporting.notes import explain_profiles, note_units
from quadrag.reporting.published import printed_lines, read_published, read_table
from quadrag.reporting.table import Cell, Row, Table, difference_cell, our_lines, value_cell
from quadrag.reporting.tables import slice_tables
from quadrag.reporting.text import print_tables
from quadrag.results import Note, NoteCode, Run, Score
from quadrag.results.compare import Difference
from quadrag.stats import Interval

pytestmark = pytest.mark.plugins


def score(key: str, value: float | None, profile: str = "official", **more: Any) -> Score:
    row = {"config": "c", "split": "test", "metric": "crud_overlap", "key": key, "profile": profile, "value": value}
    interval = None if value is None else [value * 0.5, value]
    row |= {"interval": interval, "n_total": 8, "n_scored": 8, "n_not_applicable": 0, "unscored": {}, "signature": "s"}
    return Score.from_row({"benchmark": "crud_rag", "slice": "all"} | row | more)


def test_of_many_columns_no_number_is_cut(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    for count in (3, 8, 24):
        cells = [Cell(f"{at}.25", f"{at}.1–{at}.5") for at in range(count)]
        heads = [f"S{at}" for at in range(count)]
        printed = io.StringIO()
        lines = [Row("accuracy", cells), Row("recall of 非常长的名字-gpt-13.25-turbo (ours)", cells)]
        print_tables([Table("Many", "metric", heads, lines, [])], printed)
        text = printed.getvalue()
        assert max(map(cell_len, text.splitlines())) <= 80 and "…" not in text
        assert [text.count(f" {at}.25") for at in range(count)] == [2] * count
        assert text.split("\n\n")[0].startswith("\nMany") and text.count("metric") == text.count("accuracy")


def shown(lines: Any) -> list[tuple[str, list[str]]]:
    return [(line.label, [cell.text for cell in line.cells]) for line in lines]


def test_a_rate_is_in_percent_and_a_length_in_characters_as_the_metric_says():
    (line, count) = our_lines("ours", [score("bleu", 0.5), score("length", 88.25)], ["bleu", "length"], ["official"])
    assert [(cell.text, cell.sub) for cell in line.cells] == [("50.0", "25.0–50.0"), ("88.2", "44.1–88.2")]
    assert shown([count]) == [("  n", ["8", "8"])]
    assert "keys" not in note_units([score("bleu", 0.5)], "official").params
    assert note_units([score("bleu", 0.5), score("length", 1.0)], "official").params["keys"] == ["length"]


def test_a_quirk_is_named_where_it_moved_a_value_that_both_profiles_have():
    place = {"benchmark": "rgb", "metric": "rgb_accuracy", "signature": "rgb_accuracy|language:zh"}

    def told(of_scored: float) -> list[Note]:
        both = (("official", 31 / 32, 31 / 32), ("corrected", of_scored * 32 / 40, of_scored))
        rows = [
            score("accuracy", value, profile, n_total=40, n_scored=32, over_scored=scored, **place)
            for profile, value, scored in both
        ]
        return explain_profiles([Row("  corrected", [])], rows)

    assert told(31 / 32) == [], "eight calls failed, which another line says"
    assert [note.code for note in told(30 / 32)] == [NoteCode.PROFILE_DIFFERS]


def test_beside_a_minus_the_bounds_of_an_interval_have_a_word_between_them():
    low = score("bleu", -1.0, interval=[-1.0, -0.114])
    (cell,) = our_lines("ours", [low], ["bleu"], ["official"])[0].cells
    assert cell.sub == "-100.0 to -11.4"


def test_the_second_profile_stands_only_where_it_differs():
    profiles = ["official", "corrected"]
    same = [score("bleu", 0.5), score("bleu", 0.5, "corrected")]
    assert [label for label, _ in shown(our_lines("ours", same, ["bleu"], profiles))] == ["ours", "  n"]
    other = [score("bleu", 0.5), score("bleu", 0.25, "corrected")]
    assert shown(our_lines("ours", other, ["bleu"], profiles)) == [
        ("ours", ["50.0"]),
        ("  n", ["8"]),
        ("  corrected", ["25.0"]),
    ]
    assert shown(our_lines("ours", other, ["bleu"], ["corrected"])) == [("ours", ["25.0"]), ("  n", ["8"])]


def test_of_fewer_items_than_count_both_are_told_and_what_did_not_run_is_a_dash():
    less = {"n_scored": 6, "n_not_applicable": 1, "unscored": {"api_error": 1}}
    scores = [score("bleu", 0.5, **less), score("bertscore", None, not_run="no embedding")]
    lines = our_lines("ours", scores, ["bleu", "bertscore", "length"], ["official"])
    assert shown(lines) == [("ours", ["50.0", "–", "–"]), ("  n", ["6/7", "–", "–"])]


def test_printed_numbers_stand_by_name_with_a_mark_where_they_are_doubtful():
    rows = read_table("crud_rag", "3")
    (line, *_) = printed_lines(rows, ["length", "bleu", "nothing"], lambda row: row.model)
    assert line.kind == "published" and line.cells[2].text == "–" and float(line.cells[0].text) > 1
    doubtful = [row for row in read_published("rgb") if row.doubt]
    assert doubtful
    for row in doubtful:
        (line,) = printed_lines([row], [row.key])
        assert line.cells[0].text == f"{row.value * 100:.2f}?"


def test_decimals_and_intervals_are_those_that_the_number_of_items_has_earned():
    def cell(n: int) -> tuple[str, str]:
        shown = value_cell(score("bleu", 0.12345, n_total=n, n_scored=n))
        return shown.text, shown.sub

    assert cell(401) == ("12.35", "6.2–12.3") and cell(400) == ("12.3", "6.2–12.3")
    assert cell(5) == ("12.3", "6.2–12.3") and cell(4) == ("12.3", "")
    assert value_cell(score("bleu", -0.0004, n_total=9, n_scored=9)).text == "0.0", "no zero has a sign"

    def differ(n: int, p: float, metric: str = "bleu") -> Cell:
        place, lacking = ("c", "test", "crud_overlap", metric), (None, None)
        one = Difference(1, place, True, lacking, lacking, 0.12345, Interval(0.1, 0.2), n, p)
        return difference_cell(one)

    cells = [differ(4, 0.0), differ(5, 0.049), differ(401, 0.05)]
    assert [(one.text, one.sub) for one in cells] == [("+12.3", ""), ("+12.3", "10.0–20.0"), ("+12.35", "10.0–20.0")]
    adjusted = differ(5, 0.098, "length")
    assert [one.figure and one.figure.sure for one in (cells[1], adjusted)] == [True, False]
    assert (adjusted.text, adjusted.sub) == ("+0.1", "0.1–0.2")


def part(place: str, key: str = "accuracy", n: int = 5, **more: Any) -> Score:
    row = {"benchmark": "crag", "config": "c", "metric": "truthfulness", "slice": place}
    return score(key, 0.5, **row | {"n_total": n, "n_scored": n} | more)


def slices(*scores: Score) -> list[Table]:
    return slice_tables(Run(record_of("crag", "task_1_2", ["test"], "none", "m"), [*scores], []), "official")


def test_the_groups_of_a_grouping_stand_together_with_their_sizes():
    scores = [part("all", n=9), part("domain=open"), part("domain=music", n=4), part("question_type=set", n=8)]
    lacking = part("domain=open", key="truthfulness", not_run="no judge")
    apart = [part("cell=banking/retail/contrast_qa"), part("macro:topic", n_groups=2), part("language=en", n=9)]
    (grid,) = slices(*scores, lacking, *apart)
    assert grid.row_header == "slice" and grid.columns == ["n", "accuracy"]
    assert [(line.label, line.cells[0].text, line.rule) for line in grid.rows] == [
        ("domain", "", False),
        (" open", "5", False),
        (" music", "4", False),
        ("question type", "", True),
        (" set", "8", False),
    ], "the one language is the whole again"
    assert [line.cells[1].sub for line in grid.rows[1:3]] == ["25.0–50.0", ""], "none under five items"
    assert slices(lacking) == slices(*apart, part("all", n=9)) == slices(part("a=b", profile="corrected")) == []
    assert len(slices(part("a=b"), part("a=b", split="public"))) == 2
