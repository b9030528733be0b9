"""Of a finished run in Python a part may be asked again: verdicts alone, or what the function failed on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from chat_server import ChatServer, Rule

import quadrag

CRAG = ("crag", "task_1_2")
READABLE = '{"score": 1}'
STAGES = ("retrieved.jsonl", "answers.jsonl", "items.jsonl", "scores.json")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def judge():
    with ChatServer(models=["j"], any_model=True, text="lorem") as found:
        yield found


class System:
    """Answers, but not on some questions; knows what it was asked."""

    __name__ = "mine"

    def __init__(self, *failing):
        self.failing, self.asked = failing, []

    def __call__(self, question):
        self.asked.append(question.id)
        if question.id in self.failing:
            raise ValueError("no luck")
        return question.query, [{"id": "d", "text": question.query}]


def evaluate(system, *place, **more):
    return quadrag.evaluate(*(place or CRAG), system, data_dir="sample", **more)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:INVALID")
@pytest.mark.parametrize(  # all verdicts are asked for, or the first twelve alone
    ("limit", "out", "before"), [(6, "r", {}), (None, None, {}), (6, None, {"max_failed": 1.0})]
)
def test_a_judge_is_asked_again_and_the_function_is_not(judge, limit, out, before):
    system = System()
    call = {"judge": f"{judge.url}#j", "limit": limit, "out": out}
    first = evaluate(system, **call, **before)
    asked, calls = list(system.asked), judge.requests
    same = evaluate(system, **call)
    assert same.folder == first.folder and not same.valid and "Nothing was asked" in repr(same)
    assert judge.requests == calls
    kept = (
        f"All {calls} verdicts are kept ones, from 20[-\\d]+ [:\\d]+ UTC on\\. "
        'retry="unreadable" asks those again that could'
    )
    assert re.search(kept, " ".join(repr(same).split())) and "--retry" not in repr(same)
    shown = evaluate(system, **call, max_failed=1.0)
    assert shown.valid and "NOT RELIABLE" in repr(shown) and (limit is None or judge.requests == calls)
    judge.state.text = READABLE
    again = evaluate(system, **call, retry="unreadable")
    assert again.valid and again.folder == first.folder and again["accuracy"].value > 0.8
    assert "those again that could" not in repr(again) and system.asked == asked
    if out:
        with pytest.raises(quadrag.QuadragError, match="holds a finished run"):
            evaluate(system, **call)
    else:
        assert evaluate(system, **call).folder != first.folder


@pytest.mark.filterwarnings("ignore:INVALID")
@pytest.mark.parametrize("change", [{"judge": "#k", "judge_served_as": "j"}, {"judge_format": "json"}])
def test_another_judge_or_another_form_of_verdicts_takes_the_place_of_one_that_could_not_be_read(judge, change):
    system = System()
    call = {"judge": f"{judge.url}#j", "limit": 6, "out": "r"}
    assert not evaluate(system, **call).valid
    judge.state.text = READABLE
    changed = {name: value.replace("#", f"{judge.url}#") for name, value in change.items()}
    assert evaluate(system, **{**call, **changed}).valid and len(system.asked) == 6


def test_a_good_run_with_a_few_unreadable_verdicts_is_asked_again_only_when_that_is_said(judge):
    judge.state.text = READABLE
    system, call = System(), {"judge": f"{judge.url}#j", "out": "r"}
    one = quadrag.questions(*CRAG, data_dir="sample")[3]
    judge.rules.append(Rule("reply", match=one.query, times=2, message={"content": "lorem"}))
    first = evaluate(system, **call)
    assert first.valid and first["accuracy"].unscored in ({"unparsable": 1}, {})
    with pytest.raises(quadrag.QuadragError, match=r'; retry="unreadable" asks the judge again about the 1 answers'):
        evaluate(system, **call)
    asked, calls = list(system.asked), judge.requests
    again = evaluate(system, **call, retry="unreadable")
    assert system.asked == asked and 0 < judge.requests - calls <= 2 and "could not be read" not in repr(again)


def test_verdicts_that_are_kept_ones_are_told_where_the_same_answers_are_judged_again(judge):
    judge.state.text = READABLE
    call = {"judge": f"{judge.url}#j", "limit": 2}
    first = evaluate(System(), **call, name="one")
    asked = judge.requests
    assert "kept ones" not in repr(first)
    same = evaluate(System(), **call, name="two")
    kept = rf"All {asked} verdicts are kept ones, from 20[-\d]+ [:\d]+ UTC on; fresh=True asks anew\."
    assert judge.requests == asked and re.search(kept, " ".join(repr(same).split()))
    with_labels = quadrag.result(same.folder, labels="zh")
    assert f"全部 {asked} 个判断都是已存的" in repr(with_labels)


@pytest.mark.slow
@pytest.mark.parametrize("place", [("rgb", "noise_robustness_en"), ("crud_rag", "summary")])
def test_the_questions_on_which_a_function_failed_are_asked_alone_again(place):
    part = {"limit": 8}
    ids = [one.id for one in quadrag.questions(*place, data_dir="sample", **part)]
    failing = ids[1], ids[4]
    count = sum(one in failing for one in ids)
    system = System(*failing)
    first = evaluate(system, *place, **part, name="mine", out="r", max_failed=0.3)
    assert f"Answers that failed: {count} (" in repr(first) and 'retry="failed" asks those again.' in repr(first)
    with pytest.raises(quadrag.QuadragError, match=rf'; retry="failed" asks it again about the {count} questions'):
        evaluate(system, *place, **part, name="mine", out="r")
    system.asked, system.failing = [], failing[:1]
    evaluate(system, *place, **part, name="mine", out="r", retry="failed")
    assert system.asked == [one for one in ids if one in failing]
    system.asked, system.failing = [], ()
    again = evaluate(system, *place, **part, name="mine", out="r", retry=["failed"])
    assert again.valid and system.asked == [one for one in ids if one == failing[0]]
    whole = evaluate(System(), *place, **part, name="mine", out="whole")
    for stage in STAGES:
        assert Path("r", stage).read_bytes() == Path("whole", stage).read_bytes(), stage
    assert whole.scores == again.scores and "answers are kept ones" in repr(again)
    system.asked = []
    evaluate(system, *place, **part, name="mine", out="r", retry="failed")
    assert not system.asked, "nothing failed"


def test_only_what_failed_needs_no_judge():
    evaluate(System(), limit=1, out="r")
    with pytest.raises(quadrag.QuadragError, match="retry= is for models that are asked, and there is none"):
        evaluate(System(), limit=1, out="r", retry=["failed", "unreadable"])
