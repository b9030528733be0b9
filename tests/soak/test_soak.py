"""The soak in short: some rounds of it find nothing, and what is planted is found."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from attacks import kill
from jobs import JOBS
from soak import RECORDS, run_round
from world import World

NAMES = [*RECORDS]
LOST_ANSWER = """
from quadrag.chat import ledger
put = ledger.Ledger.put_many
def put_many(self, rows, *more, **named):
    return put(self, [row for row in rows if row[0][0] % 4], *more, **named)
ledger.Ledger.put_many = put_many
"""
# In place of a move, a part of the file, and a hundred moments later the rest.
TORN_FILE = """
import os, pathlib
move = pathlib.Path.replace
def replace(self, target):
    if self.is_dir() or not str(target).endswith(".jsonl"):
        return move(self, target)
    content = self.read_bytes()
    part = len(content) // 3 + 1
    with open(target, "wb", buffering=0) as file:
        file.write(content[:part])
        for _ in range(100):
            open(os.devnull, "wb").close()
        file.write(content[part:])
    self.unlink()
    return pathlib.Path(target)
pathlib.Path.replace = replace
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("soak") / "world") as world:
        yield world


@pytest.mark.slow(0, len(NAMES), 200)
@pytest.mark.timeout(3600)
def test_some_rounds_find_nothing(world: World, rounds: int) -> None:
    came = [run_round(world, "tests", NAMES[at % len(NAMES)], at // len(NAMES)) for at in range(rounds)]
    assert [found for found in came if found] == []


@pytest.mark.slow
@pytest.mark.parametrize(("plant", "said"), [(LOST_ANSWER, "answers were lost"), (TORN_FILE, "half-written")])
def test_what_is_planted_is_found(world: World, plant: str, said: str) -> None:
    world.plant = plant
    try:
        tries = (kill(world, JOBS["run rgb"], random.Random(seed)) for seed in range(30))
        assert any(said in finding for found in tries for finding in found)
    finally:
        world.plant = ""
