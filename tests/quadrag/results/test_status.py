"""Whether scores may be used, and what a run keeps of their items, as values: codes with numbers."""

from pathlib import Path

import pytest
import yaml
from score_rows import as_rows
from specs import record_of

from quadrag.benchmark import MetricUse, load
from quadrag.records import Question
from quadrag.results import Note, NoteCode, Score, Status
from quadrag.results.check import settle_scores
from quadrag.scoring.drive import Measured, score_split

pytestmark = pytest.mark.plugins

CONFIG, SPLIT = "task_1_2", "public"
OK, INVALID = Status.OK, Status.INVALID
RIGHT, WRONG = {"official": 1.0, "corrected": 1.0}, {"official": 0.0, "corrected": 0.0}
BOTH = ("official", "corrected")


def lost(why, official=None, *profiles):
    """An item that failed: of which official makes a value, or none."""
    return {"official": official, "corrected": None, "reason": dict.fromkeys(profiles or BOTH, why)}


# By their names in `failures.yaml`.
ENTRIES = {
    **{why: lost(why) for why in ("api_error", "null", "raised", "unparsable", "not_applicable")},
    "right": RIGHT,
    "wrong": WRONG,
    "right by rule": RIGHT | {"ruled": [*BOTH]},
    "unparsable, official 0": lost("unparsable", 0.0, "corrected"),
    "truncated, corrected by rule": lost("truncated", None, "official") | {"corrected": 0.0, "ruled": ["corrected"]},
}


def run_of(entries, metric="rgb_accuracy", key="accuracy", **facts):
    """The rows of a run whose items of one score are given, as people are shown them, and the run."""
    asked = [Question("crag", CONFIG, SPLIT, str(at), "q", ["a"], "en") for at in range(len(entries))]
    lines = [{"config": CONFIG, "split": SPLIT, "id": str(at)} | {f"{metric}.{key}": e} for at, e in enumerate(entries)]
    use = MetricUse(metric, (key,))
    measured = [Measured(use, profile, "s", {key: None}, {}) for profile in BOTH]
    rows = score_split(load("crag"), CONFIG, SPLIT, lines, asked, measured)
    run = record_of("crag", CONFIG, [SPLIT], **facts)
    return as_rows(settle_scores(rows, run, lines)), run


@pytest.mark.parametrize("case", yaml.safe_load((Path(__file__).parent / "failures.yaml").read_text("utf-8")))
def test_what_failed_decides_the_status_and_is_kept_with_its_numbers(case):
    rows, run = run_of([ENTRIES[name] for name, n in case["items"].items() for _ in range(n)], **case.get("run", {}))
    statuses = {row["profile"]: row["status"] for row in rows if row["slice"] == "all"}
    assert statuses == dict(zip(BOTH, case["status"], strict=True))
    for row in rows:
        assert (row["value"] is None) == (row["status"] is INVALID)
    assert [note.code for note in run.notes] == ([case["code"]] if "code" in case else [])
    for note in run.notes:
        assert (note.params["config"], note.params["split"]) == (CONFIG, SPLIT)
        assert note.params["keys"] == ["rgb_accuracy.accuracy"] and note.params.items() >= case["params"].items()


@pytest.mark.parametrize(
    ("facts", "cause", "said"),
    [
        ({"judge": "j", "unread_judge": "j", "verdict": "hm"}, "judge_unread", "hm"),
        (
            {"judge": "j", "dead_judge": True, "stopped": {"code": "judge_dead", "params": {"said": "no reply"}}},
            "judge_dead",
            "no reply",
        ),
    ],
)
def test_where_nothing_is_to_be_had_of_the_judge_what_asks_it_has_no_value(facts, cause, said):
    rows, run = run_of([RIGHT] * 4, "truthfulness", **facts)
    assert {(row["status"], row["reason"], row["value"], row["n_scored"]) for row in rows} == {
        (INVALID, cause, None, 0)
    }
    (note,) = run.find_notes(NoteCode.INVALID)
    assert (note.params["cause"], note.params["said"], note.params["judge"]) == (cause, said, "j")
    assert {row["status"] for row in run_of([RIGHT] * 4, **facts)[0]} == {OK}, "words ask nobody"


@pytest.mark.parametrize(("ruled", "status"), [(0, Status.UNTRUSTED_JUDGE), (4, OK)])
def test_what_rests_on_verdicts_that_say_nothing_is_not_trusted(ruled, status):
    notes = [Note(NoteCode.JUDGE_CONSTANT, {"keys": ["truthfulness.accuracy"]})]
    entries = [RIGHT | {"ruled": [*BOTH]} if at < ruled else RIGHT for at in range(4)]
    rows, run = run_of(entries, "truthfulness", judge="j", notes=notes)
    assert {row["status"] for row in rows} == {status} and run.notes == notes


def test_a_row_is_read_and_written_as_it_is():
    rows, _ = run_of([lost("null")] * 2 + [WRONG] * 8)
    marks = ("status", "reason")
    for row in rows:
        assert Score.from_row(row).as_row() == {name: value for name, value in row.items() if name not in marks}
