"""What a rule decides is kept beside the verdicts, which are read from the items, and told of where they are odd."""

import pytest
from chat_server import asked_of
from score_rows import as_rows
from specs import record_of, spec_of

from quadrag.benchmark import load
from quadrag.records import Answer, Question
from quadrag.results.note import NoteCode, notes_of
from quadrag.results.score import Status
from quadrag.results.status import settle_scores
from quadrag.scoring.drive import ScoringInputs
from quadrag.scoring.judging import Judged, find_oddities

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
    by_key, given = {one.key: one for one in asked}, ScoringInputs(judges)
    judged = Judged(CRAG, by_key, answers, TASK, given)
    lines, scores = judged.score()
    calls = [judge.calls for judge in judges]
    odd = find_oddities(judged, lines)
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
        (note,) = notes_of(run, NoteCode.INVALID, NoteCode.FAILED_COUNTED)
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


def test_of_a_panel_each_judge_is_told_of_and_the_mean_is_marked_where_all_are_so():
    many = [(f"city {at}", ["gold"]) for at in range(6)]
    tells = Judge(lambda text: "city 1" in text, "tells")
    always, never = Judge(lambda text: 1, "always"), Judge(lambda text: 0, "never")
    (note,) = constant(measure(many, always, tells)[2])
    assert (note["judge"], note["keys"]) == ("always", [])
    assert [len(note["keys"]) for note in constant(measure(many, always, never)[2])] == [3, 3]


@pytest.mark.parametrize(
    ("n", "right", "contained", "doubt", "counts"),
    [
        (40, 39, 4, "far", (39, 40, 4)),
        (40, 1, 30, "refused", (29, 30)),
        (40, 1, 14, "refused", (13, 14)),
        (40, 39, 39, None, ()),  # the two agree
        (40, 39, 20, None, ()),  # or nearly so
        (40, 36, 4, "far", (36, 40, 4)),
        (40, 40, 4, None, ()),  # that is told otherwise
        (13, 12, 1, "far", (12, 13, 1)),
        (9, 8, 0, None, ()),
    ],
)
def test_verdicts_that_are_far_from_what_words_say_are_noted(n, right, contained, doubt, counts):
    pairs = [(f"city {at:02} {'gold' if at < contained else 'lead'}", ["gold"]) for at in range(n)]
    accepted = {f"city {at:02}" for at in range(right)}
    odd = measure(pairs, Judge(lambda text: int(any(one in text for one in accepted))))[2]
    assert bool(constant(odd)) == (right == n)
    found = doubtful(odd)
    assert [note["doubt"] for note in found] == [doubt] * (doubt is not None)
    for note in found:
        assert (note["judge"], note["score"]) == ("j", "truthfulness.accuracy")
        assert tuple(note[name] for name in ("n", "of", "right") if name in note) == counts
        assert note["keys"] == ALL_KEYS and note.get("words") in (None, WORDS)


WORDS = "rgb_accuracy.accuracy_bounded"


@pytest.mark.parametrize(
    ("contained", "refused", "doubt", "counts"),
    [
        (5, 5, "refused", (5, 5)),
        (3, 3, "refused", (3, 3)),
        (6, 3, "refused", (3, 6)),
        (7, 3, None, ()),
        (2, 2, "refused", (2, 2)),
        (2, 1, None, ()),
        (1, 1, None, ()),
    ],
)
def test_verdicts_against_what_words_alone_find_right_are_noted(contained, refused, doubt, counts):
    pairs = [(f"city {at:02} {'gold' if at < contained else 'lead'}", ["gold"]) for at in range(contained + 3)]
    odd = measure(pairs, Judge(lambda text: int(not any(f"city {at:02}" in text for at in range(refused)))))[2]
    found = doubtful(odd)
    assert [note["doubt"] for note in found] == [doubt] * (doubt is not None)
    for note in found:
        assert tuple(note[name] for name in ("n", "of")) == counts
        assert note["keys"] == ALL_KEYS, "which discredits the values"


def test_verdicts_against_a_phrase_are_noted():
    rgb, task = load("rgb"), spec_of("rgb", "counterfactual_robustness_en")
    asked = [Question("rgb", task.config, "test", str(at), f"question {at}", ["gold"], "en") for at in range(8)]
    phrase = "There are factual errors in the provided documents."
    answers = [Answer("rgb", *one.key, 0, phrase if at < 5 else "lead", "ok") for at, one in enumerate(asked)]

    def inverted(batch):
        return ["No, the model has not." if phrase in str(chat) else "Yes, the model has." for chat in batch]

    def lenient(batch):
        return ["Yes, the model has identified the factual errors."] * len(batch)

    by_key = {one.key: one for one in asked}
    for judge, noted in ((inverted, True), (lenient, False)):
        judged = Judged(rgb, by_key, answers, task, ScoringInputs([judge]))
        found = doubtful(find_oddities(judged, judged.score()[0]))
        assert [(note["score"], note["doubt"], note["n"], note["of"]) for note in found] == [
            ("error_detection.error_detection_judged", "refused", 5, 5)
        ] * noted
