"""Places where work is done: the same results in the same order here and in processes."""

import os
import re
import sys

import pytest
from parallel_parts import Opened, end, square

from quadrag import parallel
from quadrag.errors import QuadragError

pytestmark = pytest.mark.pure


def test_two_processes_give_what_one_does():
    with parallel.use("1"):
        alone = [made for made, _ in parallel.each(square, range(12))]
        assert parallel.workers() == 1
    with parallel.use("2"):
        made = list(parallel.each(square, range(12)))
        assert parallel.workers() == 2
        assert os.getpid() not in {worker for _, worker in made}
    assert [one for one, _ in made] == alone == [n * n for n in range(12)]


@pytest.mark.parametrize("place", ["1", "2"])
def test_an_error_is_raised_at_its_turn(place):
    found = []
    with parallel.use(place), pytest.raises(QuadragError, match=r"^thirteen$"):
        found.extend(made for made, _ in parallel.each(square, range(20)))
    assert found == [n * n for n in range(13)]


@pytest.mark.parametrize("place", ["1", "2"])
def test_parts_are_taken_as_they_are_needed(place):
    taken = 0

    def parts():
        nonlocal taken
        for number in range(1000):
            taken += 1
            yield number % 7

    with parallel.use(place):
        made = parallel.each(square, parts())
        for _ in range(10):
            next(made)
        assert taken <= 10 + 4
        if place == "2":
            made.close()


def test_a_killed_worker_is_one_line():
    with pytest.raises(QuadragError, match="one of 2 processes was killed"), parallel.use("2"):
        list(parallel.each(end, range(12)))


def test_a_worker_opens_what_travels_once():
    mine = Opened("m")
    with parallel.use("2"):
        for _ in range(2):
            made = list(parallel.each(mine.ask, range(8)))
            assert [found[:3] for found in made] == [("m", part, "of the worker") for part in range(8)]
            assert {opened for *_, opened in made} == {1}


@pytest.mark.parametrize("place", ["0", "-1", "two", "rays", "99999", "", "torchrun"])
def test_no_place(place):
    with pytest.raises(QuadragError, match=re.escape(repr(place))), parallel.use(place):
        pass


def test_ray_is_named_where_it_is_lacking(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(QuadragError, match=r"pip install '\.\[ray\]'"):
        parallel.use("ray").__enter__()
