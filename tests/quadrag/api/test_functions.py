"""One's own function: what it is asked, what may come of it, when it is stopped, and what is asked again."""

import asyncio
import json
import multiprocessing
import os
import signal
import threading
from pathlib import Path

import pytest
from chat_server import ChatServer
from own_system import SUMMARY, measure, slowly

import quadrag

RGB = ("rgb", "noise_robustness_en")
CRAG = ("crag", "task_1_2")
STAGES = ("retrieved.jsonl", "answers.jsonl", "items.jsonl", "scores.json")
READABLE = '{"score": 1}'
pytestmark = [pytest.mark.filterwarnings("ignore:INVALID"), pytest.mark.plugins]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRAG_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def judge():
    with ChatServer(models=["j"], any_model=True, text=READABLE) as found:
        yield found


class System:
    """Answers with the query, but fails on some questions; knows what it was asked."""

    __name__ = "mine"

    def __init__(self, *failing):
        self.failing, self.asked = failing, []

    def __call__(self, question):
        self.asked.append(question.id)
        if question.id in self.failing:
            raise ValueError("no luck")
        return question.query, [{"id": "d", "text": question.query}]


def parts(result):
    """All that is known of scores: where two have no value, they are equal in this alone."""
    return {name: vars(score) for name, score in result.items()}


# What is asked.


@pytest.mark.parametrize(
    ("place", "passages"),
    [(SUMMARY, 0), (RGB, 5), (CRAG, 5), (("crag", "qa"), 0), (("omnieval", "conversational_qa"), 0)],
)
def test_a_function_is_asked_what_questions_returns_and_sees_no_gold(place, passages):
    system = System()
    asked = []
    measure(lambda question: asked.append(question) or system(question), *place, limit=4, name="seen")
    assert asked == quadrag.questions(*place, data_dir="sample", limit=4)
    for one in asked:
        assert one.query and len(one.passages) == passages
        assert not {"references", "relevant", "slots", "slices"} & set(dir(one))


def test_a_corpus_is_read_as_often_as_it_is_gone_through():
    corpus = quadrag.corpus("crud_rag", data_dir="sample", gold="test")
    found = list(corpus)
    assert list(corpus) == found and len(corpus) == len(found) == 130


class Batches:
    def __init__(self):
        self.sizes = []

    def __call__(self, questions):
        self.sizes.append(len(questions))
        return [question.query for question in questions]


def test_functions_of_every_kind_have_the_same_scores():
    plain = measure(lambda question: question.query, name="plain")
    assert parts(measure(slowly)) == parts(plain)
    batches = Batches()
    assert parts(measure(batches, batch_size=3)) == parts(plain) and batches.sizes == [3, 3, 2]

    async def notebook():
        return measure(slowly, name="in a loop")

    assert parts(asyncio.run(notebook())) == parts(plain)
    found = [{"id": "d", "text": "t"}]
    pair = measure(lambda question: (question.query, found), out="pair")
    measure(lambda question: {"answer": question.query, "passages": found}, out="both")
    for name in STAGES:
        assert Path("both", name).read_bytes() == Path("pair", name).read_bytes()
    for bare in (lambda one: {"answer": one.query}, lambda one: (one.query, None)):
        assert measure(bare, name="bare")["rouge_l"] == plain["rouge_l"] == pair["rouge_l"]


# What comes of it.


@pytest.mark.parametrize(
    ("returned", "state"),
    [
        (None, "unparsable"),
        (7, "unparsable"),
        ({"answer": None}, "unparsable"),
        ({"text": "x"}, "unparsable"),
        ((["x"], []), "unparsable"),
        (("a", "b", "c"), "unparsable"),
        (("x", "y"), "unparsable"),
        (("x", ["d", {"txt": "y"}]), "unparsable"),
        (ValueError("no\nluck\x1b[31m"), "raised"),
        (asyncio.CancelledError(), "raised"),
        ("", "ok"),
    ],
)
@pytest.mark.parametrize("waits", [False, True])
def test_what_is_raised_or_returned_wrong_is_unscored_for_its_question_alone(returned, state, waits):
    def answer(question):
        if question.id != "3":
            return question.query
        if isinstance(returned, BaseException):
            raise returned
        return returned

    async def later(question):
        await asyncio.sleep(0.001)
        return answer(question)

    found = measure(later if waits else answer, *RGB, split="noise_0", out="r")
    assert found["accuracy"].unscored == ({} if state == "ok" else {state: 1}) and found.valid
    told = json.loads(Path("r/run.json").read_text())["failures"]
    assert [*told] == ["noise_robustness_en/noise_0/3/0"] * (state != "ok")
    assert all("\n" not in line and "\x1b" not in line for line in told.values())
    assert found.to_pandas(texts=False)["unscored"].notna().sum() == len(told)


def helper(question):
    raise ValueError(f"no luck with\n{question.id}")


def test_of_an_exception_the_line_of_the_users_function_is_kept():
    def raising(question):
        return json.loads(helper(question))

    (why, *_) = measure(raising, limit=7).result.record.failures.values()
    assert why.startswith("ValueError: no luck with ") and " (helper, test_functions.py:" in why


def test_too_many_failures_make_a_metric_invalid():
    left = iter(range(8))
    found = measure(lambda question: None if next(left) < 3 else question.query, out="r")
    score = found["rouge_l"]
    assert (score.value, score.valid, score.n, score.n_total) == (None, False, 5, 8)
    assert not found.valid and len(found.invalid) == 1
    with pytest.warns(UserWarning, match="INVALID"):
        measure(System(*(one.id for one in quadrag.questions(*SUMMARY, data_dir="sample", limit=3))))
    assert measure(lambda question: question.query, out="r", max_failed=0.5, retry="failed").valid


@pytest.mark.parametrize(("batch", "calls"), [(None, 8), (4, 2), (16, 1)])
@pytest.mark.parametrize("waits", [False, True])
def test_a_function_whose_first_eight_answers_all_fail_is_stopped_and_leaves_no_run(batch, calls, waits):
    asked = []

    def mine(question):
        asked.append(question)
        return [None] * batch if batch else None

    async def later(question):
        return mine(question)

    for times in (1, 2):
        with pytest.raises(quadrag.QuadragError, match="returned None"):
            measure(later if waits else mine, *RGB, batch_size=batch)
        assert len(asked) == calls * times or (waits and len(asked) > calls), "some more may be under way"
    assert not list(Path("runs").rglob("scores.json"))


def test_single_failures_and_fewer_than_eight_questions_stop_nothing():
    count = iter(range(100))

    def mine(question):
        if next(count) != 7:
            raise ValueError("no luck")
        return "x"

    assert measure(mine, *RGB)["noise_0/accuracy"].unscored == {"raised": 11}
    assert measure(helper, limit=7)["rouge_l"].unscored == {"raised": 7}


@pytest.mark.parametrize("waits", [False, True])
def test_a_list_of_other_length_stops_at_once_and_what_was_answered_is_kept(waits):
    asked, wrong = [], True

    def answer(questions):
        asked.append(len(questions))
        return ["x"] * (len(questions) - (wrong and len(asked) > 1))

    async def later(questions):
        return answer(questions)

    with pytest.raises(quadrag.QuadragError, match="a list of 2 results"):
        measure(later if waits else answer, batch_size=3, concurrency=1, name="mine")
    asked, wrong = [], False
    assert measure(later if waits else answer, batch_size=3, concurrency=1, name="mine").valid and sum(asked) == 5


# Coroutine functions share one loop for the life of the process.


def sharing(gate):
    """A system that waits at a gate, which is bound to the loop at the first wait."""

    async def system(question):
        async with gate:
            await asyncio.sleep(0.001)
            return question.query

    return system


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit, signal.SIGINT])
def test_a_call_that_ends_all_leaves_the_loop_usable_and_no_other_call_behind(ending):
    system, left = sharing(asyncio.Semaphore(1)), []
    before = measure(system)

    async def stopping(question):
        try:
            await asyncio.sleep(0.01 if not left else 60)
            if ending is signal.SIGINT:
                os.kill(os.getpid(), ending)
                await asyncio.sleep(60)
            raise ending
        finally:
            left.append(question.id)

    with pytest.raises((KeyboardInterrupt, SystemExit)):
        measure(stopping, name="stopping")
    assert measure(system)["rouge_l"] == before["rouge_l"] and len(left) == 8
    assert len([one for one in threading.enumerate() if one.name == "quadrag-functions"]) == 1


def test_several_use_the_loop_at_once():
    system, found = sharing(asyncio.Semaphore(3)), {}

    def run(which):
        found[which] = measure(system, name=which)["rouge_l"].value

    users = [threading.Thread(target=run, args=(which,)) for which in "abc"]
    for user in users:
        user.start()
    for user in users:
        user.join(60)
    assert found == dict.fromkeys("abc", measure(slowly)["rouge_l"].value)


def in_child(said):
    said.put(measure(slowly, name="child")["rouge_l"].value)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_child_has_a_loop_of_its_own():
    measure(sharing(asyncio.Semaphore(1)))
    forking = multiprocessing.get_context("fork")
    said = forking.Queue()
    child = forking.Process(target=in_child, args=(said,))
    child.start()
    assert said.get(timeout=60) == measure(slowly)["rouge_l"].value
    child.join(30)
    assert child.exitcode == 0


# Stopped, killed, finished: what was answered counts unless it is asked anew.


def test_a_finished_folder_is_never_taken_for_a_new_system():
    measure(lambda question: "x", out="mine")
    with pytest.raises(quadrag.QuadragError, match="finished run"):
        measure(lambda question: "y", out="mine")
    anew = measure(lambda question: "y", out="mine", fresh=True)
    assert set(anew.to_pandas()["answer"]) == {"y"} and parts(anew) == parts(quadrag.result("mine"))
    first, second = (measure(slowly) for _ in range(2))
    assert first.folder != second.folder and first["rouge_l"] == second["rouge_l"]


@pytest.mark.parametrize(("more", "wanted"), [({}, {"old", "new"}), ({"fresh": True}, {"new"})])
def test_what_a_stopped_run_was_answered_counts_unless_it_is_asked_anew(more, wanted):
    def stopping(question):
        if Path("mine/answering.jsonl").exists():
            raise KeyboardInterrupt
        return "old"

    with pytest.raises(KeyboardInterrupt):
        measure(stopping, name="s", out="mine")
    done = measure(lambda question: "new", name="s", out="mine", **more)
    answers = done.to_pandas()["answer"].tolist()
    assert set(answers) == wanted and answers.count("old") == ("old" in wanted)
    assert any("1 of 8 answers are kept ones" in note for note in done.notes) == ("old" in wanted)


@pytest.mark.parametrize("place", [RGB, SUMMARY])
def test_the_questions_on_which_a_function_failed_are_asked_alone_again(place):
    part = {"limit": 8, "name": "mine"}
    ids = [one.id for one in quadrag.questions(*place, data_dir="sample", limit=8)]
    failing = ids[1], ids[4]
    system = System(*failing)
    measure(system, *place, **part, out="r", max_failed=0.3)
    for left in (failing[:1], ()):
        system.asked, system.failing, before = [], left, system.failing
        again = measure(system, *place, **part, out="r", retry=["failed"])
        assert system.asked == [one for one in ids if one in before]
    whole = measure(System(), *place, **part, out="whole")
    for stage in STAGES:
        assert Path("r", stage).read_bytes() == Path("whole", stage).read_bytes(), stage
    assert parts(whole) == parts(again)
    system.asked = []
    measure(system, *place, **part, out="r", retry="failed")
    assert not system.asked, "nothing failed"


# Judged.


@pytest.mark.parametrize(("limit", "out"), [(6, "r"), (None, None)])  # all verdicts are asked for, or the first twelve
def test_a_judge_is_asked_again_and_the_function_is_not(judge, limit, out):
    judge.state.text = "lorem"
    system = System()
    call = {"judge": f"{judge.url}#j", "limit": limit, "out": out}
    first = measure(system, *CRAG, **call)
    asked, calls = list(system.asked), judge.requests
    same = measure(system, *CRAG, **call)
    assert same.folder == first.folder and not same.valid and judge.requests == calls
    judge.state.text = READABLE
    again = measure(system, *CRAG, **call, retry="unreadable")
    assert again.valid and again.folder == first.folder and again["accuracy"].value > 0.8 and system.asked == asked


def test_a_judge_may_be_added_to_a_finished_run_and_the_function_is_not_asked(judge):
    ids = [one.id for one in quadrag.questions(*CRAG, data_dir="sample", split="public", limit=6)]
    mine, part = System(ids[1]), {"split": "public", "limit": 6, "out": "mine"}
    plain = measure(mine, *CRAG, **part)
    call = {"judge": f"{judge.url}#j"}
    for other in ({"limit": 8}, {"split": "validation"}, {"name": "other"}):
        with pytest.raises(quadrag.QuadragError):
            measure(mine, *CRAG, **{**part, **other, **call})
    assert parts(plain) == parts(quadrag.result("mine")) and not judge.bodies
    judged = measure(mine, *CRAG, **part, **call)
    assert mine.asked == ids and judged["truthfulness"].n == 6 and judged["truthfulness"].unscored == {"raised": 1}
    assert list(judged.to_pandas()["answer"]) == list(plain.to_pandas()["answer"])
    assert "judge:j" in judged["truthfulness"].signature
    with pytest.raises(quadrag.QuadragError, match="finished run"):
        measure(mine, *CRAG, **part, **call)


def test_answers_stand_while_the_judge_was_dead(judge):
    part = {"split": "public", "limit": 3, "out": "mine"}
    dead = measure(lambda question: "old", *CRAG, judge="http://127.0.0.1:9/v1#j", **part)
    assert not dead.valid and dead["truthfulness"].value is None
    call = {"judge": f"{judge.url}#j", "max_failed": 1}
    found = measure(lambda question: "new", *CRAG, **call, **part)
    assert set(found.to_pandas()["answer"]) == {"old"} and found["truthfulness"].n == 3
