"""Coroutine functions are called in one loop for the life of the process, so that what they share goes on working."""

import asyncio
import multiprocessing
import os
import signal
import sys
import threading

import pytest
from own_system import measure

from quadrag.baselines.systems import beside
from quadrag.baselines.systems.beside import run_beside

RGB = ("rgb", "noise_robustness_en")


def sharing(gate):
    """Two systems that wait at one gate, which is bound to the loop at the first wait."""

    async def before(question):
        async with gate:
            await asyncio.sleep(0.001)
            return question.query

    async def after(question):
        return await before(question)

    return before, after


def threads():
    return [one for one in threading.enumerate() if one.name == "quadrag-functions"]


def test_two_systems_share_what_is_bound_to_a_loop():
    before, after = map(measure, sharing(asyncio.Semaphore(1)))
    assert before.valid and after.valid and before["rouge_l"] == after["rouge_l"] and len(threads()) == 1


def interrupted(question):
    raise KeyboardInterrupt


def leaving(question):
    sys.exit(3)


@pytest.mark.parametrize(("ending", "error"), [(interrupted, KeyboardInterrupt), (leaving, SystemExit)])
def test_a_call_that_ends_all_leaves_the_loop_usable_and_no_other_call_behind(ending, error):
    before, after = sharing(asyncio.Semaphore(1))
    measure(before)
    left = []

    async def stopping(question):
        try:
            await asyncio.sleep(0.01 if not left else 60)
            return ending(question)
        finally:
            left.append(question.id)

    with pytest.raises(error):
        measure(stopping)
    assert len(left) == 8
    assert measure(after).valid


def test_a_user_who_interrupts_leaves_the_loop_usable():
    before, after = sharing(asyncio.Semaphore(1))
    measure(before)

    async def endless(question):
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        measure(endless)
    assert measure(after).valid


def test_a_call_that_holds_the_loop_up_is_left_behind_in_it(monkeypatch):
    monkeypatch.setattr(beside, "_PATIENCE", 0.05)
    asked, freed = [], threading.Event()

    async def holding(question):
        asked.append(question.id)
        os.kill(os.getpid(), signal.SIGINT)
        freed.wait(60)

    try:
        with pytest.raises(KeyboardInterrupt):
            measure(holding)
        assert measure(sharing(asyncio.Semaphore(1))[0]).valid
    finally:
        freed.set()
    assert len(asked) == 1


def test_several_use_the_loop_at_once():
    gate, found = asyncio.Semaphore(3), {}

    async def call(batch):
        async with gate:
            await asyncio.sleep(0.001)
            return [batch]

    def run(which):
        found[which] = sorted(run_beside(call, [f"{which}{n}" for n in range(20)], 8, 4))

    users = [threading.Thread(target=run, args=(which,)) for which in "abc"]
    for user in users:
        user.start()
    for user in users:
        user.join(30)
    assert found == {which: sorted((f"{which}{n}", [f"{which}{n}"]) for n in range(20)) for which in "abc"}


def in_child(said):
    async def call(batch):
        await asyncio.sleep(0.001)
        return batch * 2

    said.put(sorted(run_beside(call, [1, 2, 3], 1, 2)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_child_has_a_loop_of_its_own():
    measure(sharing(asyncio.Semaphore(1))[0])
    forking = multiprocessing.get_context("fork")
    said = forking.Queue()
    child = forking.Process(target=in_child, args=(said,))
    child.start()
    assert said.get(timeout=30) == [(1, 2), (2, 4), (3, 6)]
    child.join(30)
    assert child.exitcode == 0


def test_a_call_that_cancels_itself_is_unscored_alone():
    def here(question):
        if question.id == "3":
            raise asyncio.CancelledError
        return question.query

    async def beside(question):
        if question.id == "3":
            asyncio.current_task().cancel()
            await asyncio.sleep(1)
        return question.query

    for system, at in ((here, "here"), (beside, "beside")):
        found = measure(system, *RGB, split="noise_0", name=at)
        assert found["accuracy"].unscored == {"raised": 1}
        (why,) = found.result.run.failures.values()
        assert why.startswith(f"CancelledError ({at}, test_async.py:")
