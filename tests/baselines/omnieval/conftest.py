"""What OmniEval's runs share: a folder with a server, the sample's questions, one run that is judged."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from chat_server import ChatServer
from omnieval_runs import AUTO, House, Ran, scripted

from quadrag.data.builders import open_builder, rows


@pytest.fixture(scope="session")
def house(tmp_path_factory: Any) -> Iterator[House]:
    with ChatServer(models=["m", "j"], text=scripted) as server:
        yield House(tmp_path_factory.mktemp("omnieval"), server)


@pytest.fixture(scope="session")
def table() -> dict[str, Any]:
    builder, _ = open_builder("omnieval", "all", "sample", None, "auto")
    return {row["id"]: row for row in rows(builder, "auto")}


class Judged(NamedTuple):
    ran: Ran
    answers: list[dict[str, Any]]  # requests
    verdicts: list[dict[str, Any]]


@pytest.fixture(scope="session")
def judged(house: House) -> Judged:
    """The sample with the scripted model and judge."""
    house.server.bodies.clear()
    ran = house.run(*AUTO, *house.models(), "--out", "judged", "-v")
    bodies = list(house.server.bodies)
    return Judged(ran, *([body for body in bodies if (body["model"] == "j") is asked] for asked in (False, True)))
