"""Whether scores may be used, and what a run keeps of their items, as values: codes with numbers."""

import pytest
from score_rows import as_rows
from specs import record_of

from quadrag.benchmark import MetricUse, load
from quadrag.records import Question
from quadrag.results.check import settle_scores
from quadrag.results.note import Note, NoteCode
from quadrag.results.run import Score, Status
from quadrag.scoring.drive import Measured, score_split

pytestmark = pytest.mark.plugins

CONFIG, SPLIT = "task_1_2", "public"
OK, INVALID, UNRELIABLE = Status.OK, Status.INVALID, Status.UNRELIABLE
RIGHT, WRONG = {"official": 1.0, "corrected": 1.0}, {"official": 0.0, "corrected": 0.0}
BOTH = ("official", "corrected")


def lost(why, official=None, *profiles):
    """An item that failed: of which official makes a value, or none."""
    return {"official": official, "corrected": None, "reason": dict.fromkeys(profiles or BOTH, why)}


def run_of(entries, metric="rgb_accuracy", key="accuracy", **facts):
    """The rows of a run whose items of one score are given, as people are shown them, and the run."""
    asked = [Question("crag", CONFIG, SPLIT, str(at), "q", ["a"], "en") for at in range(len(entries))]
    lines = [{"config": CONFIG, "split": SPLIT, "id": str(at)} | {f"{metric}.{key}": e} for at, e in enumerate(entries)]
    use = MetricUse(metric, (key,))
    measured = [Measured(use, profile, "s", {key: None}, {}) for profile in BOTH]
    rows = score_split(load("crag"), CONFIG, SPLIT, lines, asked, measured)
    run = record_of("crag", CONFIG, [SPLIT], **facts)
    return as_rows(settle_scores(rows, run, lines)), run


@pytest.mark.parametrize(
    ("entries", "facts", "statuses", "code", "params"),
    [
        ([RIGHT] * 10, {}, (OK, OK), None, {}),
        (
            [lost("api_error")] * 3 + [RIGHT] * 7,
            {"failures": {"x": "HTTP 500"}},
            (INVALID, INVALID),
            "invalid",
            {"cause": "api_error", "said": "HTTP 500", "failed": 3, "total": 10, "reasons": {"api_error": 3}},
        ),
        (
            [lost("null")] * 2 + [WRONG] * 8,
            {},
            (OK, OK),
            "failed_counted",
            {"cause": "null", "failed": 2, "profile": ""},
        ),
        (
            [lost("raised")] * 5 + [RIGHT] * 5,
            {"max_failed": 0.5},
            (UNRELIABLE, UNRELIABLE),
            "unreliable",
            {"failed": 5, "total": 10, "limit": 0.5},
        ),
        (  # corrected alone says that a verdict could not be read
            [lost("unparsable", 0.0, "corrected")] * 2 + [lost("unparsable")] + [RIGHT] * 17,
            {"judge": "j", "verdict": "hm"},
            (OK, OK),
            "failed_counted",
            {"failed": 3, "total": 20, "reasons": {"unparsable": 3}},
        ),
        (  # what a rule decided could not fail
            [lost("api_error")] * 2 + [RIGHT | {"ruled": [*BOTH]}] * 6 + [RIGHT] * 2,
            {},
            (INVALID, INVALID),
            "invalid",
            {"failed": 2, "total": 4},
        ),
        (  # corrected decides by rule what official has judged
            [lost("truncated", None, "official") | {"corrected": 0.0, "ruled": ["corrected"]}] * 6 + [RIGHT] * 4,
            {"judge": "j"},
            (INVALID, OK),
            "invalid",
            {"profile": "official", "cause": "truncated"},
        ),
        (
            [WRONG] * 10,
            {"short": {f"{CONFIG}/{SPLIT}/{at}/0": "cut" for at in range(3)}},
            (INVALID, INVALID),
            "invalid",
            {"cause": "cut reply"},
        ),
        (
            [{"official": None, "corrected": None, "reason": dict.fromkeys(BOTH, "not_applicable")}] * 9 + [RIGHT],
            {},
            (OK, OK),
            None,
            {},
        ),
    ],
)
def test_what_failed_decides_the_status_and_is_kept_with_its_numbers(entries, facts, statuses, code, params):
    rows, run = run_of(entries, **facts)
    assert tuple(row["status"] for row in rows if row["slice"] == "all") == statuses
    for row in rows:
        assert (row["value"] is None) == (row["status"] is INVALID)
    assert [note.code for note in run.notes] == ([code] if code else [])
    for note in run.notes:
        assert (note.params["config"], note.params["split"]) == (CONFIG, SPLIT)
        assert note.params["keys"] == ["rgb_accuracy.accuracy"] and note.params.items() >= params.items()


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
