"""The soak in short: some rounds of it find nothing."""

from collections.abc import Iterator

import pytest
from soak import RECORDS, run_round
from world import World

NAMES = [*RECORDS]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("soak") / "world") as world:
        yield world


@pytest.mark.slow(0, len(NAMES), 200)
@pytest.mark.timeout(3600)
def test_some_rounds_find_nothing(world: World, rounds: int) -> None:
    came = [run_round(world, "tests", NAMES[at % len(NAMES)], at // len(NAMES)) for at in range(rounds)]
    assert [found for found in came if found] == []
