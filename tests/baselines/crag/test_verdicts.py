"""What a rule decides is kept beside the verdicts, which are read from the items, and told of where they are odd."""

import pytest
from chat_server import asked_of
from score_rows import as_rows
from specs import record_of, spec_of

from quadrag.benchmark import load
from quadrag.records import Answer, Question
from quadrag.results import NoteCode, Status
from quadrag.results.check import settle_scores
from quadrag.scoring.drive import ScoringInputs, score
from quadrag.scoring.judging import find_oddities

CRAG, TASK = load("crag"), spec_of("crag", "task_1_2")


class Judge:
    """Says by the answer that it is shown whether it is right."""

    def __init__(self, accepts, model="j"):
        self.accepts, self.model, self.calls = accepts, model, 0

    def __call__(self, batch):
        self.calls += len(batch)
        said = [asked_of({"messages": chat}) for chat in batch]
        return ["hm" if self.accepts(text) is None else f'{{"score": {self.accepts(text):d}}}' for text in said]


def measure(pairs, *judges):
    """Score answers beside what is accepted; the lines of items, the rows, and what is odd of the verdicts."""
    asked = [
        Question("crag", "task_1_2", "public", str(at), f"question {at}", golds, "en", slices={"domain": f"d{at % 2}"})
        for at, (_, golds) in enumerate(pairs)
    ]
    answers = [Answer("crag", *one.key, 0, text, "ok") for one, (text, _) in zip(asked, pairs, strict=True)]
    inputs = ScoringInputs(CRAG, {one.key: one for one in asked}, TASK, judges)
    lines, scores = score(inputs, answers)
    calls = [judge.calls for judge in judges]
    odd = find_oddities(inputs, answers, lines)
    assert [judge.calls for judge in judges] == calls, "nobody is asked again"
    return lines, scores, odd


def whole(scores, key, profile="official"):
    return next(row for row in as_rows(scores) if (row["key"], row["profile"], row["slice"]) == (key, profile, "all"))


RULED = [
    ("Paris", ["paris"]),  # equal
    ("I don't know", ["Rome"]),
    ("Bern", ["invalid question"]),
    ("It is Oslo", ["Oslo", "Kristiania"]),
    ("It is Lisbon", ["Lisbon"]),
]


def test_what_a_rule_decides_is_counted_apart():
    judge = Judge(lambda text: 1)
    lines, scores, _ = measure(RULED, judge)
    assert judge.calls == 3, "one for each accepted answer"
    both = ["official", "corrected"]
    assert [line["truthfulness.accuracy"].get("ruled") for line in lines] == [both, both, both, None, None]
    assert "ruled" not in lines[0]["rgb_accuracy.accuracy_bounded"]
    assert [whole(scores, key).get("n_ruled") for key in ("accuracy", "accuracy_bounded")] == [3, None]
    assert {
        row["slice"]: row["n_ruled"] for row in as_rows(scores) if row["key"] == "accuracy" and "n_ruled" in row
    } == {
        "all": 3,
        "domain=d0": 2,
        "domain=d1": 1,
    }
    assert whole(scores, "truthfulness")["value"] == 2 / 5


def test_the_share_that_may_fail_is_of_what_a_rule_did_not_decide():
    # Two of ten verdicts are a fifth; with five answers that rules decide they would be less.
    pairs = [("Paris", ["paris"])] * 5 + [(f"city {at}", ["gold"]) for at in range(10)]
    run = record_of(benchmark="crag", config="task_1_2", splits=["public"], retriever="none", llm="m")
    for unread, status in ((2, Status.OK), (3, Status.INVALID)):
        lines, scores, _ = measure(
            pairs, Judge(lambda text, n=unread: None if any(f"city {at}" in text for at in range(n)) else 1)
        )
        row = whole(settle_scores(scores, run, lines), "accuracy")
        assert row["status"] is status and (status is Status.OK or row["n_scored"] == 12)
        (note,) = run.find_notes(NoteCode.INVALID, NoteCode.FAILED_COUNTED)
        assert note.params["total"] == 10 and "truthfulness.accuracy" in note.params["keys"]
        assert status is Status.OK or (note.params["failed"], note.params["cause"]) == (3, "unparsable")


def constant(notes):
    return [note.params for note in notes if note.code is NoteCode.JUDGE_CONSTANT]


def doubtful(notes):
    return [note.params for note in notes if note.code is NoteCode.JUDGE_DOUBTFUL]


ALL_KEYS = [f"truthfulness.{key}" for key in ("truthfulness", "accuracy", "hallucination")]


@pytest.mark.parametrize(
    ("pairs", "said", "count", "values"),
    [
        (RULED, 1, 2, [1, 1, 0]),
        (RULED[:4], 1, None, None),  # one verdict is no more than one
        ([(f"city {at}", ["gold"]) for at in range(5)], 0, 5, [-1, 0, 1]),
    ],
)
def test_what_is_all_the_same_is_noted_with_how_many_there_are(pairs, said, count, values):
    found = constant(measure(pairs, Judge(lambda text: said))[2])
    told = {"judge": "j", "count": count, "verdicts": dict(zip(ALL_KEYS, values or (), strict=False))}
    assert found == ([told | {"keys": ALL_KEYS}] if count else [])


def test_a_judge_on_a_panel_is_read_by_itself_and_marks_no_mean_that_varies():
    pairs = [(f"city {at}", ["gold"]) for at in range(5)]
    _, _, odd = measure(pairs, Judge(lambda text: "city 1" in text, "varies"), Judge(lambda text: 1, "same"))
    told = {"judge": "same", "count": 5, "verdicts": dict(zip(ALL_KEYS, (1, 1, 0), strict=True))}
    assert constant(odd) == [told | {"keys": []}]


@pytest.mark.parametrize(
    ("contained", "refused", "counts"),
    [
        (5, 5, (5, 5)),
        (3, 3, (3, 3)),
        (6, 3, (3, 6)),
        (7, 3, ()),
        (2, 2, (2, 2)),
        (2, 1, ()),
        (1, 1, ()),
    ],
)
def test_verdicts_against_what_words_alone_find_right_are_noted(contained, refused, counts):
    pairs = [(f"city {at:02} {'gold' if at < contained else 'lead'}", ["gold"]) for at in range(contained + 3)]
    odd = measure(pairs, Judge(lambda text: int(not any(f"city {at:02}" in text for at in range(refused)))))[2]
    found = doubtful(odd)
    assert bool(found) == bool(counts)
    for note in found:
        assert tuple(note[name] for name in ("n", "of")) == counts
        assert note["keys"] == ALL_KEYS, "which discredits the values"
