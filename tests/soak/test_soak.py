"""The soak in short: some rounds of it find nothing, and what is planted is found."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from attacks import Attack, kill
from hostile import injections
from jobs import JOBS, Job
from plants import PLANTS
from soak import RECORDS, Finding, run_round, tell
from world import World

# Attacks of another kind each, of which `make test` has the first ones; the whole soak has all.
NAMES = ["kill", "kept files", "two at once", "disk full", *RECORDS]
# What finds a fault, on which job, by which seed (one kill, where a file changes), and in which words. CI has all.
FOUND = [
    ("lost answer", kill, JOBS["run rgb"], "lost answer 39", "answers were lost"),
    ("injected verdict", injections, RECORDS["injections"].jobs[0], "any", "turned the verdict"),
    pytest.param(
        "double call", kill, JOBS["run rgb"], "double call 61", "calls were made twice", marks=pytest.mark.slow
    ),
    pytest.param("torn file", kill, JOBS["run rgb"], "torn file 80", "half-written", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("soak") / "world") as world:
        yield world


@pytest.mark.slow(1, 16, 200)
@pytest.mark.timeout(3600)
def test_some_rounds_find_nothing(world: World, rounds: int) -> None:
    came = [run_round(world, "tests", NAMES[at % len(NAMES)], at // len(NAMES)) for at in range(rounds)]
    assert [one for one in came if one[-1]] == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "attack", "job", "seed", "said"), FOUND)
def test_what_is_planted_is_found(world: World, name: str, attack: Attack, job: Job, seed: str, said: str) -> None:
    world.plant = PLANTS[name]
    try:
        found = list(attack(world, job, random.Random(seed)))
        assert any(said in finding for finding in found), found
    finally:
        world.plant = ""


def test_the_table_counts_rounds_and_findings() -> None:
    said = tell(Counter({"kill": 3}), [Finding("kill", "run rgb", 2, "out/scores.json is gone")])
    assert [line.split()[:3] for line in said.splitlines()[1:]] == [["kill", "3", "1"], ["all", "3", "1"]]
