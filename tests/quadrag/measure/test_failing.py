"""One's own function that always fails is called eight times; one that cannot take a question, never."""

import asyncio
import functools
import json
import re
import traceback
import warnings
from pathlib import Path

import pytest
from own_system import measure

import quadrag
from quadrag.baselines.tables.language import speak_line

RGB = ("rgb", "noise_robustness_en")


def test_what_a_summary_begins_with_is_named_first_where_scores_are_invalid():
    count = iter(range(9))
    with pytest.warns(UserWarning, match=r"^INVALID, rouge_l, bleu, length, .* and 4 more: 4 of 8 items failed"):
        found = measure(lambda question: question.query if next(count) % 2 else 1 / 0)
    assert "), more than max_failed=0.2: rouge_l, bleu, length and 5 more; " in found.invalid[0]
    assert '; correct the function and run again with retry="failed", or allow' in found.invalid[0]


def test_what_is_invalid_is_warned_of_in_one_line_without_the_source_of_the_call(monkeypatch):
    said = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", lambda *what: said.append(warnings.formatwarning(*what[:4])))
        measure(lambda question: 1 / 0 if question.id in "0123" else "x", *RGB, split="noise_0")
    (line,) = said
    assert re.search(r"own_system\.py:\d+: UserWarning: INVALID, accuracy", line) and line.count("\n") == 1


def test_a_time_limit_without_a_judge_is_refused():
    with pytest.raises(quadrag.QuadragError, match=r"^timeout is of calls to a judge, and judge= "):
        measure(lambda question: "x", *RGB, split="noise_0", timeout=2)


def test_an_answer_may_be_a_dictionary_as_over_http():
    found = [{"id": "d", "text": "t"}]
    pair = measure(lambda question: (question.query, found), out="pair")
    assert measure(lambda question: {"answer": question.query, "passages": found}, out="both").valid
    for name in ("answers.jsonl", "retrieved.jsonl", "items.jsonl", "scores.json"):
        assert Path("both", name).read_bytes() == Path("pair", name).read_bytes()
    bare = [lambda question: {"answer": question.query}, lambda question: {"answer": question.query, "passages": None}]
    many = [*bare, lambda question: (question.query, None)]
    assert {measure(one, name="bare")["rouge_l"].value for one in many} == {pair["rouge_l"].value}
    batches = measure(lambda several: [{"answer": one.query} for one in several], batch_size=3, name="batches")
    assert batches["rouge_l"] == measure(bare[0])["rouge_l"]


@pytest.mark.parametrize(
    ("returned", "what"),
    [
        (None, "returned None;"),
        (7, "returned an int (7);"),
        ({"answer": None}, "returned a dict whose answer is None;"),
        ({"text": "x", "reply": "y"}, "returned a dict with the keys text, reply;"),
        ({}, "returned a dict without keys;"),
        ((["x"], []), "returned a tuple whose answer is a list;"),
        ({"answer": "x", "passages": "y"}, "passages are a str; expected a list"),
        (("x", ["d", {"txt": "y"}]), "passage 2 has the keys txt; expected an id, a text, or both"),
    ],
)
def test_a_function_that_returns_no_answers_is_stopped(returned, what):
    asked = []

    def mine(question):
        asked.append(question.id)
        return returned

    for times in (1, 2):
        with pytest.raises(quadrag.QuadragError, match="first 8 calls of the function all failed") as told:
            measure(mine, *RGB)
        assert what in str(told.value) and "\n" not in str(told.value)
        assert len(asked) == 8 * times
    assert [path.name for path in Path("runs").iterdir()] == ["rgb-noise_robustness_en-mine"]


def helper(question):
    raise ValueError(f"no luck with\n{question.id}")


def raising(question):
    return json.loads(helper(question))


async def slowly(question):
    await asyncio.sleep(0.001)
    helper(question)


def late(question):
    return "x", (helper(question) for _ in range(2))


def elsewhere(question):
    return json.loads("no JSON")


@pytest.mark.parametrize(
    ("system", "place"),
    [
        (raising, r"no luck with \w+ \(helper, test_failing\.py:\d+\)"),
        (slowly, r"no luck with \w+ \(helper, test_failing\.py:\d+\)"),
        (late, r"no luck with \w+ \(helper, test_failing\.py:\d+\)"),
        (elsewhere, r"JSONDecodeError: .* \(elsewhere, test_failing\.py:\d+\)"),
    ],
)
def test_a_function_that_always_raises_is_stopped_and_the_first_exception_is_shown_with_its_line(system, place):
    with pytest.raises(quadrag.QuadragError, match=place):
        measure(system, *RGB, concurrency=2)


def test_an_error_of_the_user_shows_no_frames_but_the_call_and_the_entrance():
    for use in (
        lambda: measure(raising, *RGB),
        lambda: quadrag.questions("rgb", "nothing"),
        lambda: quadrag.compare("a", "b"),
    ):
        with pytest.raises(quadrag.QuadragError) as told:
            use()
        frames = [frame.name for frame in traceback.extract_tb(told.value.__traceback__)]
        assert frames[-1] == "call" and len(frames) <= 4 and frames.count("call") == 1
        assert told.value.__cause__ is None and told.value.__suppress_context__


def test_of_a_coroutine_function_eight_calls_are_made_too_and_then_all_at_once():
    asked, running = [], []

    async def mine(question):
        asked.append(question.id)
        running.append(len(asked))
        await asyncio.sleep(0.02)
        running.append(len(asked))
        return answer

    answer = None
    with pytest.raises(quadrag.QuadragError, match="returned None;"):
        measure(mine, *RGB)
    assert len(asked) == 8
    asked, running, answer = [], [], "x"
    assert measure(mine, *RGB, concurrency=30).valid
    assert len(asked) == 60 and running.count(38) > 1


@pytest.mark.parametrize("waits", [False, True])
def test_eight_questions_that_failed_stop_however_few_the_calls(waits):
    sizes = []

    def mine(question):
        sizes.append(len(question))
        return question.passages

    async def later(question):
        return mine(question)

    told = r"first 2 calls .* 'passages' \(mine, .*\); correct"
    with pytest.raises(quadrag.QuadragError, match=told):
        measure(later if waits else mine, *RGB, batch_size=4)
    assert sizes == [4] * 2


@pytest.mark.parametrize("waits", [False, True])
def test_a_list_of_other_length_stops_at_once_and_what_was_answered_is_kept(waits, capsys):
    asked, wrong = [], True

    def answer(questions):
        asked.append([one.id for one in questions])
        return ["x"] * (len(questions) - (wrong and len(asked) > 1))

    async def later(questions):
        return answer(questions)

    told = r"^the function returned a list of 2 results; expected a list of 3, a result for each question; no more are"
    with pytest.raises(quadrag.QuadragError, match=told):
        measure(later if waits else answer, batch_size=3, concurrency=1, name="mine")
    assert len(asked) == 2 or waits
    asked, wrong = [], False
    assert measure(later if waits else answer, batch_size=3, concurrency=1, name="mine").valid
    assert "3 of 8 answers are kept from the earlier run" in capsys.readouterr().err
    with pytest.raises(quadrag.QuadragError, match="the function returned a str of 1 results; expected a list of 3"):
        measure(lambda questions: "x", batch_size=3, name="text")


def test_single_failures_stop_nothing_and_fewer_than_eight_questions_do_not():
    count = iter(range(100))

    def mine(question):
        if next(count) != 7:
            raise ValueError("no luck")
        return "x"

    assert measure(mine, *RGB)["noise_0/accuracy"].unscored == {"raised": 11}
    assert measure(raising, limit=7)["rouge_l"].unscored == {"raised": 7}


def test_what_was_answered_before_is_kept_and_the_run_goes_on():
    def mine(question):
        if len(asked) >= limit:
            raise KeyboardInterrupt
        asked.append(question.id)
        return "x" if question.id in fine else helper(question)

    ids = [one.id for one in quadrag.questions(*RGB, data_dir="sample", split="noise_0")]
    asked, fine, limit = [], ids[9:], 11
    with pytest.raises(quadrag.QuadragError):
        measure(mine, *RGB, split="noise_0")
    asked, fine = [], ids[:1] + ids[9:]
    with pytest.raises(KeyboardInterrupt):
        measure(mine, *RGB, split="noise_0")
    assert asked == ids[:11]
    asked, limit = [], 100
    # The eight failures come first, and something was answered: the function works.
    assert measure(mine, *RGB, split="noise_0")["accuracy"].unscored == {"raised": 8}
    assert asked == [*ids[1:9], *ids[11:]]


class Mine:
    def __call__(self):
        """Take nothing."""


@pytest.mark.parametrize(
    ("system", "what"),
    [
        (lambda: "x", "<lambda>() cannot be called with one question alone"),
        (lambda question, k: "x", "<lambda>(question, k) cannot be called with one question alone"),
        (lambda *, question: "x", "<lambda>(*, question) cannot be called"),
        (Mine(), "Mine() cannot be called with one question alone"),
        (functools.partial(raising, "q"), "partial() cannot be called"),
    ],
)
def test_a_function_that_takes_no_single_question_is_refused_before_any_is_asked(system, what):
    with pytest.raises(quadrag.QuadragError, match=re.escape(what)):
        measure(system)
    assert not Path("runs").exists()
    with pytest.raises(quadrag.QuadragError, match="with a list of questions alone; expected one argument"):
        measure(system, batch_size=2)


def test_a_few_failures_are_told_with_the_first_and_with_what_shows_them(capsys):
    def mine(question):
        return helper(question) if question.id == "3" else "x"

    result = measure(mine, *RGB, split="noise_0")
    capsys.readouterr()
    result.show()
    told = (
        r"Answers that failed: 1 \(the first, noise_robustness_en/noise_0/3/0: ValueError: no luck with 3 "
        r"\(helper, test_failing\.py:\d+\)\); show\(unscored=True\) shows them, "
        r'retry="failed" asks those again\.'
    )
    for said in (repr(result), capsys.readouterr().out):
        assert re.search(told, " ".join(said.split()))
        assert "Official leaves unscored items out" not in said, "the line on the split says so"
    assert "Answers that failed" not in repr(measure(lambda question: "x", *RGB, split="noise_0"))


@pytest.mark.parametrize("use", [quadrag.evaluate, quadrag.questions])
def test_a_list_where_one_name_is_expected_is_one_line(use):
    system = [str] * (use is quadrag.evaluate)
    with pytest.raises(quadrag.QuadragError) as told:
        use(*RGB, *system, split=["noise_0", "noise_20"])
    line = "split is ['noise_0', 'noise_20'], a list; expected one name as a text, or None for all splits"
    assert str(told.value) == line and "（所有划分）" in speak_line(line, "zh")
    with pytest.raises(quadrag.QuadragError, match=r"^config is \['a'\], a list; expected one name as a text$"):
        use("rgb", ["a"], *system)


def test_a_metric_of_those_alone_that_another_one_found_is_as_valid_as_the_answers(tmp_path, monkeypatch):
    """None is found to be in error, so every one of the failed is among those that may have been."""
    monkeypatch.chdir(tmp_path)
    calls = []

    def system(question):
        calls.append(question.id)
        if len(calls) in (3, 9):
            raise TimeoutError("slow")
        return "It is so."

    result = quadrag.evaluate("rgb", "counterfactual_robustness_en", system, data_dir="sample", name="mine", out="r")
    assert len(calls) == 12 and result["error_correction"].unscored == {"raised": 2}
    assert result.valid
    assert "2 of 12" in str(result) and "2 of 2" not in str(result)
