"""What a rule decides is kept beside the verdicts, which are read from the items, and told of where they are odd."""

import pytest
from chat_server import asked_of

from quadrag.baselines.core.benchmark import load
from quadrag.baselines.core.task import Task
from quadrag.baselines.scoring.modules import ScoringInputs
from quadrag.baselines.scoring.score import score
from quadrag.baselines.scoring.validity import mark_invalid
from quadrag.baselines.scoring.verdicts import Judged, find_oddities
from quadrag.records import Answer, Question
from quadrag.run_record import RunRecord

CRAG, TASK = load("crag"), Task("crag", "task_1_2")


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
    lines, rows = score(CRAG, by_key, answers, TASK.conditions, given)
    calls = [judge.calls for judge in judges]
    odd = find_oddities(Judged(CRAG, by_key, answers, lines, TASK, given))
    if len(judges) == 1:
        assert [judge.calls for judge in judges] == calls, "nobody is asked again"
    return lines, rows, odd


def whole(rows, key, profile="official"):
    return next(row for row in rows if (row["key"], row["profile"], row["slice"]) == (key, profile, "all"))


RULED = [
    ("Paris", ["paris"]),  # equal
    ("I don't know", ["Rome"]),
    ("Bern", ["invalid question"]),
    ("It is Oslo", ["Oslo", "Kristiania"]),
    ("It is Lisbon", ["Lisbon"]),
]


def test_what_a_rule_decides_is_counted_apart():
    judge = Judge(lambda text: 1)
    lines, rows, _ = measure(RULED, judge)
    assert judge.calls == 3, "one for each accepted answer"
    both = ["official", "corrected"]
    assert [line["truthfulness.accuracy"].get("ruled") for line in lines] == [both, both, both, None, None]
    assert "ruled" not in lines[0]["rgb_accuracy.accuracy_bounded"]
    assert [whole(rows, key).get("n_ruled") for key in ("accuracy", "accuracy_bounded")] == [3, None]
    assert {row["slice"]: row["n_ruled"] for row in rows if row["key"] == "accuracy" and "n_ruled" in row} == {
        "all": 3,
        "domain=d0": 2,
        "domain=d1": 1,
    }
    assert whole(rows, "truthfulness")["value"] == 2 / 5


def test_the_share_that_may_fail_is_of_what_a_rule_did_not_decide():
    # Two of ten verdicts are a fifth; with five answers that rules decide they would be less.
    pairs = [("Paris", ["paris"])] * 5 + [(f"city {at}", ["gold"]) for at in range(10)]
    run = RunRecord(
        Inputs(quadrag="0", benchmark="crag", config="task_1_2", splits=["public"], retriever="none", llm="m")
    )
    for unread, invalid in ((2, False), (3, True)):
        _, rows, _ = measure(
            pairs, Judge(lambda text, n=unread: None if any(f"city {at}" in text for at in range(n)) else 1)
        )
        row = whole(mark_invalid(rows, run, []), "accuracy")
        assert ("invalid" in row) == invalid == any("3 of 10 items failed" in line for line in run.invalid)
        assert not invalid or row["n_scored"] == 12


FEW = (
    "The 2 verdicts of the judge j are the same, truthfulness 1, accuracy 1, hallucination 0: too few to tell whether "
)


def test_what_is_all_the_same_is_told_of_by_how_many_there_are():
    assert [*measure(RULED, Judge(lambda text: 1))[2].constant] == [f"{FEW}it says so of any answer"]
    assert measure(RULED[:4], Judge(lambda text: 1))[2].constant == {}, "one verdict is no more than one"
    many = [(f"city {at}", ["gold"]) for at in range(5)]
    ((line, names),) = measure(many, Judge(lambda text: 0))[2].constant.items()
    assert line.startswith("All 5 verdicts of the judge j are the same, truthfulness -1, accuracy 0, hallucination 1:")
    assert names == [f"truthfulness.{key}" for key in ("truthfulness", "accuracy", "hallucination")]


def test_of_a_panel_each_judge_is_told_of_and_the_mean_is_marked_where_all_are_so():
    many = [(f"city {at}", ["gold"]) for at in range(6)]
    tells = Judge(lambda text: "city 1" in text, "tells")
    always, never = Judge(lambda text: 1, "always"), Judge(lambda text: 0, "never")
    ((line, names),) = measure(many, always, tells)[2].constant.items()
    assert "the judge always are the same" in line and names == []
    assert [len(names) for names in measure(many, always, never)[2].constant.values()] == [3, 3]


HELD = "answers that hold an accepted answer word for word"
RIGHT = "answers right that hold an accepted answer word for word"


@pytest.mark.parametrize(
    ("n", "right", "contained", "told"),
    [
        (40, 39, 4, "calls 39 of 40 answers right; 4 of 40 are right by words alone (accuracy_bounded)!"),
        (40, 39, 20, "calls 39 of 40 answers right; 20 of 40 are right by words alone (accuracy_bounded)"),
        (40, 1, 30, f"gives accuracy 0 to 29 of 30 {HELD}!"),
        (40, 1, 14, f"gives accuracy 0 to 13 of 14 {HELD}!"),
        (40, 39, 39, None),  # the two agree
        (40, 39, 28, None),  # or nearly so
        (40, 36, 4, "calls 36 of 40 answers right; 4 of 40 are right by words alone (accuracy_bounded)!"),
        (40, 36, 20, None),  # it tells answers apart
        (40, 40, 4, None),  # that is told otherwise
        (13, 12, 1, "calls 12 of 13 answers right; 1 of 13 are right by words alone (accuracy_bounded)!"),
        (18, 17, 12, None),
        (9, 8, 0, None),
    ],
)
def test_what_is_nearly_always_the_same_or_far_from_words_is_held_against_them(n, right, contained, told):
    pairs = [(f"city {at:02} {'gold' if at < contained else 'lead'}", ["gold"]) for at in range(n)]
    accepted = {f"city {at:02}" for at in range(right)}
    odd = measure(pairs, Judge(lambda text: int(any(one in text for one in accepted))))[2]
    assert bool(odd.constant) == (right == n)
    way = "see who is right with `quadrag label`, then `quadrag certify-judge`"
    marked = ["truthfulness.truthfulness", "truthfulness.accuracy", "truthfulness.hallucination"]
    against = marked if told and told.endswith("!") else []
    assert odd.doubtful == ({f"The judge j {told.rstrip('!')}: {way}": against} if told else {})


@pytest.mark.parametrize(
    ("contained", "refused", "told"),
    [
        (5, 5, f"gives accuracy 0 to 5 of 5 {HELD}"),
        (3, 3, f"gives accuracy 0 to 3 of 3 {HELD}"),
        (6, 3, f"gives accuracy 0 to 3 of 6 {HELD}"),
        (7, 3, f"calls 4 of 7 {RIGHT}, and 3 of 3 others"),
        (7, 1, None),
        (2, 2, f"gives accuracy 0 to 2 of 2 {HELD}"),
        (2, 1, None),
        (1, 1, None),
        (30, 14, f"calls 16 of 30 {RIGHT}, and 3 of 3 others"),
    ],
)
def test_verdicts_against_what_words_alone_find_right_are_told_of(contained, refused, told):
    pairs = [(f"city {at:02} {'gold' if at < contained else 'lead'}", ["gold"]) for at in range(contained + 3)]
    odd = measure(pairs, Judge(lambda text: int(not any(f"city {at:02}" in text for at in range(refused)))))[2]
    assert [line.partition(": see")[0] for line in odd.doubtful] == [f"The judge j {told}"] * (told is not None)
    assert all(odd.doubtful.values()), "which discredits the values"


def test_verdicts_against_a_phrase_are_told_of():
    rgb, task, asked = load("rgb"), Task("rgb", "counterfactual_robustness_en"), []
    asked = [Question("rgb", task.config, "test", str(at), f"question {at}", ["gold"], "en") for at in range(8)]
    phrase = "There are factual errors in the provided documents."
    answers = [Answer("rgb", *one.key, 0, phrase if at < 5 else "lead", "ok") for at, one in enumerate(asked)]

    def inverted(batch):
        return ["No, the model has not." if phrase in str(chat) else "Yes, the model has." for chat in batch]

    def lenient(batch):
        return ["Yes, the model has identified the factual errors."] * len(batch)

    by_key = {one.key: one for one in asked}
    for judge, told in ((inverted, True), (lenient, False)):
        given = ScoringInputs([judge])
        lines, _ = score(rgb, by_key, answers, task.conditions, given)
        found = find_oddities(Judged(rgb, by_key, answers, lines, task, given)).doubtful
        said = "gives error_detection_judged 0 to 5 of 5 answers that hold the phrase asked for: see who"
        assert [said in line for line in found] == [True] * told
