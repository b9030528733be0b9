"""The soak in short: some rounds of it find nothing, and what is planted is found."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacks import Attack, kill
from hostile import injections
from jobs import JOBS, Job
from plants import PLANTS
from soak import END, RECORDS, START, Finding, describe, run_round, tell, write_page
from world import World

# Attacks of another kind each, of which CI has each once.
NAMES = [*dict.fromkeys(("kill", "kept files", "two at once", "disk full", *RECORDS))]
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


@pytest.mark.slow(0, len(NAMES), 200)
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


def test_the_table_is_put_between_the_marks_of_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"a {END} b\n{START}\n0.0 s\n{END}\nc {END}", encoding="utf-8")
    write_page(page, describe(Counter({"kill": 3}), [Finding("kill", "run rgb", 2, "gone")], "7"))
    said = page.read_text(encoding="utf-8")
    assert said.startswith(f"a {END} b\n{START}\n\n| attack |") and said.endswith(f"\n\n{END}\nc {END}")
    assert "| kill | Kill -9, one to three times | " in said and " | 3 | 1 | " in said and "Seed 7; " in said
    assert "0.0 s" not in said
